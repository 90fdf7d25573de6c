//! The history after a reply.

use crate::call::response::ResultForm;
use crate::call::tool_call::ToolCall;
use crate::session::history::History;
use crate::session::length::keep::Keep;
use crate::session::message::Message;
use crate::session::model_step::ModelStep;
use crate::session::tests::agent_loop::{ECHO, ask, bare, called, results, say};
use crate::testing::scripted::ScriptedModel;

// L22
#[test]
fn each_call_has_one_result_in_the_order_of_the_calls() {
    let step = ModelStep {
        text: Some("let me see".into()),
        calls: vec![say("1", "a"), say("2", ""), say("3", "c")],
        ..ModelStep::default()
    };
    let mut model = ScriptedModel::new().then(step).says("done");
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        results(&history),
        [
            ("1", "a", false),
            ("2", "nothing to say", true),
            ("3", "c", false)
        ]
    );
    let ids = reply
        .responses
        .iter()
        .map(|response| response.meta().call_id())
        .collect::<Vec<_>>();
    assert_eq!(ids, [Some("1"), Some("2"), Some("3")]);
    assert_eq!(
        model.requests()[1].history,
        history.messages()[..5],
        "the model reads all results"
    );
    assert!(
        matches!(&history.messages()[1], Message::Assistant { text: Some(text), .. } if text == "let me see")
    );
}

// L22
#[test]
fn calls_without_an_id_get_unused_ids() {
    let script = ScriptedModel::new()
        .calls([say("", "a"), say("call_1", "b"), say("", "c")])
        .calls([say("", "d")]);
    let mut model = script.says("done");
    let mut history = History::new();
    let session = bare();
    _ = ask(&session, &mut model, &mut history);
    let ids = called(&history)
        .iter()
        .map(|call| call.id())
        .collect::<Vec<_>>();
    let distinct = ids.iter().collect::<std::collections::BTreeSet<_>>();
    assert!(distinct.len() == 4 && !ids.contains(&""), "{ids:?}");
    assert_eq!(
        results(&history)
            .iter()
            .map(|result| result.0)
            .collect::<Vec<_>>(),
        ids
    );
    assert_eq!(
        *session.asked.0.lock().expect("unpoisoned"),
        ids,
        "the session reads the same ids"
    );
}

// L22
#[test]
fn id_of_a_removed_call_is_not_given_again() {
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .calls([say("call_0", "a"), say("", "b")])
        .says("done");
    _ = ask(&bare(), &mut model, &mut history);
    let mut ids = called(&history)
        .iter()
        .map(|call| call.id().to_owned())
        .collect::<Vec<_>>();
    history.trim(&Keep::messages(1).without_first());
    assert!(called(&history).is_empty(), "{history:?}");

    // A server without ids of its own counts from the beginning after a failure.
    let mut model = ScriptedModel::new()
        .calls([say("call_0", "c"), say("", "d")])
        .says("done");
    _ = ask(&bare(), &mut model, &mut history);
    ids.extend(called(&history).iter().map(|call| call.id().to_owned()));
    let distinct = ids.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(distinct.len(), 4, "{ids:?}");
}

// L22
#[test]
fn repeated_id_in_a_step_is_one_call() {
    let mut model = ScriptedModel::new()
        .calls([say("1", "a"), say("1", "b")])
        .says("done");
    let mut history = History::new();
    _ = ask(&bare(), &mut model, &mut history);
    assert_eq!(called(&history).len(), 1);
    assert_eq!(results(&history), [("1", "a", false)]);
}

// L18
#[test]
fn results_have_the_form_of_the_history() {
    let mut history = History::new().result_form(ResultForm::Envelope);
    let mut model = ScriptedModel::new().calls([say("1", "a")]).says("done");
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        results(&history),
        [("1", &*reply.responses[0].to_json(), false)]
    );
}

// L29
#[test]
fn history_has_canonical_arguments_and_tools_the_sent_ones() {
    let call = ToolCall::new("1", ECHO, r#"{ "text": "\u0061" }"#);
    let mut model = ScriptedModel::new().calls([call]).says("done");
    let mut history = History::new();
    _ = ask(&bare(), &mut model, &mut history);
    assert_eq!(called(&history)[0].arguments(), r#"{"text":"a"}"#);
}

// L29
#[test]
fn invalid_calls_are_in_the_history_as_they_were_sent() {
    let calls = [
        ToolCall::new("1", ECHO, r#"{"txt":"a"}"#),
        ToolCall::new("2", "absent", "{"),
    ];
    let mut model = ScriptedModel::new().calls(calls.clone()).says("done");
    let mut history = History::new();
    _ = ask(&bare(), &mut model, &mut history);
    assert_eq!(called(&history), [&calls[0], &calls[1]]);
}
