//! Raw turns of providers in the history, and the usage of steps.

use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model_step::ModelStep;
use crate::session::raw_turn::RawTurn;
use crate::session::tests::agent_loop::{ask, bare, bare_with, called, results, say};
use crate::testing::scripted::ScriptedModel;
use crate::tool::provider::ProviderId;
use crate::trace::usage::TokenUsage;
use serde_json::json;

fn native(items: usize) -> RawTurn {
    RawTurn {
        provider: ProviderId::from_static("somebody"),
        items: vec![json!({"signed": "yes"}); items],
    }
}

fn natives(history: &History) -> Vec<bool> {
    let told = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { native, .. } => Some(native.is_some()),
            _ => None,
        });
    told.collect()
}

// L22
#[test]
fn step_keeps_its_raw_turn() {
    let step = ModelStep {
        native: Some(native(1)),
        ..ModelStep::calls([say("1", "a")])
    };
    let last = ModelStep {
        native: Some(native(1)),
        ..ModelStep::says("done")
    };
    let mut model = ScriptedModel::new().then(step).then(last);
    let mut history = History::new();
    _ = ask(&bare(), &mut model, &mut history);
    assert_eq!(natives(&history), [true, true]);
}

// L22
#[test]
fn step_without_text_keeps_its_raw_turn() {
    let silent = ModelStep {
        native: Some(native(1)),
        ..ModelStep::default()
    };
    let mut model = ScriptedModel::new().then(silent);
    let mut history = History::new();
    assert_eq!(ask(&bare(), &mut model, &mut history).text, None);
    assert_eq!(natives(&history), [true]);
}

// L22: the items would contain calls without a result.
#[test]
fn step_with_ignored_calls_loses_its_raw_turn() {
    let session = bare_with(0);
    let stubborn = ModelStep {
        text: Some("fine".into()),
        native: Some(native(2)),
        ..ModelStep::calls([say("1", "a")])
    };
    let mut model = ScriptedModel::new().then(stubborn);
    let mut history = History::new();
    _ = ask(&session, &mut model, &mut history);
    assert_eq!(natives(&history), [false]);
}

// L22: a raw turn has one item for each call.
#[test]
fn step_with_a_repeated_id_loses_its_raw_turn() {
    let step = ModelStep {
        native: Some(native(2)),
        ..ModelStep::calls([say("1", "a"), say("1", "b")])
    };
    let mut model = ScriptedModel::new().then(step).says("done");
    let mut history = History::new();
    _ = ask(&bare(), &mut model, &mut history);
    assert_eq!(natives(&history), [false, false]);
}

// L22
#[test]
fn id_of_an_earlier_step_is_replaced() {
    let script = ScriptedModel::new()
        .calls([say("1", "a")])
        .calls([say("1", "b"), say("2", "c")])
        .says("done");
    let mut model = script;
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    let ids = called(&history)
        .iter()
        .map(|call| call.id().to_owned())
        .collect::<Vec<_>>();
    assert_eq!((ids.len(), &*ids[0], &*ids[2]), (3, "1", "2"));
    assert!(!["1", "2"].contains(&&*ids[1]), "{ids:?}");
    assert_eq!(
        results(&history)
            .iter()
            .map(|result| result.0)
            .collect::<Vec<_>>(),
        ids
    );
    assert_eq!(reply.responses.len(), 3);
}

#[test]
fn sums_the_usage_of_all_steps() {
    let used = TokenUsage {
        input: 10,
        cached: 4,
        output: 3,
        reasoning: 1,
        ..TokenUsage::default()
    };
    let step = ModelStep {
        usage: used,
        ..ModelStep::calls([say("1", "a")])
    };
    let last = ModelStep {
        usage: used,
        ..ModelStep::says("done")
    };
    let mut model = ScriptedModel::new().then(step).then(last);
    let mut history = History::new();
    let usage = ask(&bare(), &mut model, &mut history).usage;
    assert_eq!(
        usage,
        TokenUsage {
            input: 20,
            cached: 8,
            output: 6,
            reasoning: 2,
            ..TokenUsage::default()
        }
    );
    assert_eq!(usage.total(), 26);
}
