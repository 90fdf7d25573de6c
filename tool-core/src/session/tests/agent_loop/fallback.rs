//! A model that answers where another one fails.

use crate::call::{ErrorKind, ToolError};
use crate::session::fallback::{FallbackModel, ModelSwitch};
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_info::ModelInfo;
use crate::session::model_step::ModelStep;
use crate::session::raw_turn::RawTurn;
use crate::session::reply::Reply;
use crate::session::tests::agent_loop::{bare, finished, say};
use crate::testing::scripted::ScriptedModel;
use crate::tool::provider::ProviderId;
use crate::trace::usage::TokenUsage;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A model with a name that plays a script.
struct Named {
    name: &'static str,
    script: ScriptedModel,
    shows: bool,
    failed: TokenUsage,
}

impl Named {
    fn new(name: &'static str, script: ScriptedModel) -> Self {
        Self {
            name,
            script,
            shows: false,
            failed: TokenUsage::default(),
        }
    }
}

impl Model for Named {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.script.step(request).await
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        std::mem::take(&mut self.failed)
    }

    fn has_shown_output(&self) -> bool {
        self.shows
    }

    fn about(&self) -> ModelInfo {
        ModelInfo {
            model: self.name.into(),
            provider: Some(format!("{}-company", self.name).into()),
        }
    }
}

fn busy() -> ToolError {
    ToolError::transient("busy")
}

fn failing(error: ToolError) -> Named {
    Named::new("first", ScriptedModel::new().fails(error))
}

fn spare() -> Named {
    Named::new("spare", ScriptedModel::new().says("from the spare"))
}

fn prompt(model: &mut impl Model) -> Reply {
    finished(bare().session.reply(model, &mut History::new(), "hello"))
}

#[test]
fn the_next_model_answers_after_a_busy_one() {
    for error in [
        busy(),
        ToolError::rate_limit("429"),
        ToolError::timeout("slow"),
    ] {
        let reply = prompt(&mut FallbackModel::new(failing(error), spare()));
        assert_eq!(reply.text.as_deref(), Some("from the spare"), "{reply:?}");
    }
}

#[test]
fn a_mistake_of_the_host_is_not_hidden() {
    for error in [
        ToolError::permanent("400"),
        ToolError::auth("401"),
        ToolError::cancelled("x"),
    ] {
        let mut models = FallbackModel::new(failing(error.clone()), spare());
        let reply = prompt(&mut models);
        let kind = reply.error.map(|error| error.kind);
        assert_eq!(kind, Some(error.kind()));
        assert_eq!(models.into_models().1.script.requests().len(), 0);
    }
}

#[test]
fn further_kinds_are_the_hosts_choice() {
    let models = FallbackModel::new(failing(ToolError::auth("401")), spare());
    let reply = prompt(&mut models.also_on([ErrorKind::Auth]));
    assert_eq!(reply.text.as_deref(), Some("from the spare"));
}

#[test]
fn a_cancelled_step_stays_cancelled() {
    let models = FallbackModel::new(failing(ToolError::cancelled("x")), spare());
    let reply = prompt(&mut models.also_on([ErrorKind::Cancelled]));
    assert_eq!(reply.text, None);
}

#[test]
fn an_answer_that_was_shown_is_not_begun_again() {
    let shown = || Named {
        shows: true,
        ..failing(busy())
    };
    let reply = prompt(&mut FallbackModel::new(shown(), spare()));
    assert_eq!(
        reply.error.map(|error| error.kind),
        Some(ErrorKind::Transient)
    );
    let reply = prompt(&mut FallbackModel::new(shown(), spare()).even_if_shown());
    assert_eq!(reply.text.as_deref(), Some("from the spare"));
}

#[test]
fn the_host_is_told_of_a_switch() {
    let seen = Arc::<Mutex<Vec<ModelSwitch>>>::default();
    let sink = Arc::clone(&seen);
    let mut models = FallbackModel::new(failing(busy()), spare())
        .on_switch(move |switch| sink.lock().expect("unpoisoned").push(switch.clone()));
    let _reply = prompt(&mut models);
    let seen = seen.lock().expect("unpoisoned");
    let [switch] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert_eq!(switch.failed.model, "first");
    assert_eq!(switch.next.model, "spare");
    assert_eq!(switch.error, busy());
}

#[test]
fn a_chain_asks_one_model_after_another() {
    let second = Named::new("second", ScriptedModel::new().fails(busy()));
    let models = FallbackModel::new(failing(busy()), second).or(spare());
    let reply = prompt(&mut { models });
    assert_eq!(reply.text.as_deref(), Some("from the spare"));
}

#[test]
fn an_answer_that_any_model_has_shown_is_shown() {
    let first = Named {
        shows: true,
        ..failing(busy())
    };
    let second = Named::new("second", ScriptedModel::new().fails(busy()));
    let models = FallbackModel::new(first, second).even_if_shown();
    let reply = prompt(&mut models.or(spare()));
    assert_eq!(reply.text, None, "the third model would begin again");
}

#[test]
fn the_error_names_every_model_that_failed() {
    let second = Named::new(
        "second",
        ScriptedModel::new().fails(ToolError::rate_limit("later")),
    );
    let reply = prompt(&mut FallbackModel::new(failing(busy()), second));
    let error = reply.error.expect("both failed");
    assert_eq!(error.kind, ErrorKind::RateLimit);
    assert_eq!(
        error.message,
        "later; before it first failed: TRANSIENT: busy"
    );
}

#[test]
fn the_tokens_of_both_models_count() {
    let used = |output| TokenUsage {
        output,
        ..TokenUsage::default()
    };
    let first = Named {
        failed: used(3),
        ..failing(busy())
    };
    let step = ModelStep {
        usage: used(4),
        ..ModelStep::says("done")
    };
    let second = Named {
        failed: used(5),
        ..Named::new("second", ScriptedModel::new().then(step))
    };
    assert_eq!(
        prompt(&mut FallbackModel::new(first, second)).usage,
        used(12)
    );
}

#[test]
fn the_step_names_the_model_that_answered() {
    let asked = |model: &mut FallbackModel<Named, Named>| {
        let request = ModelRequest {
            instructions: "",
            history: &[Message::User("hello".into())],
            tools: &[],
            searchable: &[],
            provider_tools: &[],
            events: None,
            tool_choice: ToolChoice::Auto,
        };
        finished(model.step(request)).expect("answers").answered_by
    };
    let mut models = FallbackModel::new(failing(busy()), spare());
    assert_eq!(asked(&mut models), Some(spare().about()));
    let fine = Named::new("first", ScriptedModel::new().says("fine"));
    assert_eq!(asked(&mut FallbackModel::new(fine, spare())), None);
}

/// A model that begins each history anew before a step.
struct Forgetful;

impl Model for Forgetful {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        Ok(ModelStep::says(request.history.len().to_string()))
    }

    async fn prepare(&mut self, history: &mut History) {
        history.take_messages();
    }
}

#[test]
fn a_model_in_a_chain_prepares_the_history() {
    let reply = prompt(&mut FallbackModel::new(Forgetful, spare()));
    assert_eq!(reply.text.as_deref(), Some("0"));
    let reply = prompt(&mut FallbackModel::new(spare(), Forgetful));
    assert_eq!(reply.text.as_deref(), Some("from the spare"));
}

#[test]
fn each_step_asks_the_first_model_again() {
    let first = ScriptedModel::new().fails(busy()).says("back");
    let second = ScriptedModel::new().calls([say("1", "a")]);
    let mut models = FallbackModel::new(Named::new("first", first), Named::new("second", second));
    assert_eq!(prompt(&mut models).text.as_deref(), Some("back"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_model_rests_as_long_as_the_host_says() {
    let bare = bare();
    let first = ScriptedModel::new().fails(busy()).says("back");
    let second = ScriptedModel::new().says("one").says("two");
    let mut models = FallbackModel::new(Named::new("first", first), Named::new("second", second))
        .rest_after_failure(Duration::from_secs(60));
    let mut history = History::new();
    let mut said = Vec::new();
    for _ in 0..3 {
        let reply = bare.session.reply(&mut models, &mut history, "hello").await;
        said.push(reply.text.unwrap_or_default());
        tokio::time::advance(Duration::from_secs(40)).await;
    }
    assert_eq!(said, ["one", "two", "back"]);
}

#[test]
fn each_step_keeps_the_form_of_its_own_model() {
    let step = |provider: &'static str, id: &str| ModelStep {
        native: Some(RawTurn {
            provider: ProviderId::from_static(provider),
            items: vec![json!({"from": provider})],
        }),
        ..ModelStep::calls([say(id, "a")])
    };
    let first = ScriptedModel::new()
        .then(step("one", "1"))
        .fails(busy())
        .says("done");
    let second = ScriptedModel::new().then(step("two", "2"));
    let mut models = FallbackModel::new(first, second);
    let mut history = History::new();
    let _reply = finished(bare().session.reply(&mut models, &mut history, "hello"));
    let natives = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { native, .. } => native.as_ref(),
            _ => None,
        });
    let providers = natives
        .map(|native| native.provider.as_str())
        .collect::<Vec<_>>();
    assert_eq!(providers, ["one", "two"]);
}
