//! A model that plays a script.

use crate::call::error::ToolError;
use crate::call::tool_call::ToolCall;
use crate::session::event_queue::EventSender;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_step::ModelStep;
use std::collections::VecDeque;

/// A model that plays a script, step by step, and records its requests. In a stream of events, its
/// texts come word by word.
///
/// ```
/// use serde_json::json;
/// use tool_core::ToolCall;
/// use tool_core::session::{Model, ModelRequest, ToolChoice};
/// use tool_core::testing::ScriptedModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::ToolError> {
/// let mut model =
///     ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("It is 3.");
/// let request = ModelRequest { instructions: "", history: &[], tools: &[], searchable: &[], provider_tools: &[], tool_choice: ToolChoice::Auto, events: None };
///
/// assert_eq!(model.step(request).await?.calls.len(), 1);
/// assert_eq!(model.step(request).await?.text.as_deref(), Some("It is 3."));
/// assert_eq!(model.requests()[1].tool_choice, ToolChoice::Auto);
/// model.assert_done();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel {
    script: VecDeque<Result<ModelStep, ToolError>>,
    requests: Vec<RecordedRequest>,
}

/// A request that a scripted model got.
///
/// ```
/// use tool_core::session::{History, Message};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let mut model = ScriptedModel::new().says("Hello");
/// let _reply = session.reply(&mut model, &mut History::new(), "Hi").await;
///
/// let request = &model.requests()[0];
/// assert_eq!(request.tools, ["add"]);
/// assert_eq!(request.history, [Message::user("Hi")]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The system instruction.
    pub instructions: String,
    /// The conversation before the step.
    pub history: Vec<Message>,
    /// The names of the tools in the request.
    pub tools: Vec<String>,
    /// The tool choice of the request.
    pub tool_choice: ToolChoice,
}

impl ScriptedModel {
    /// Creates a model with an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step that calls tools, all in one response.
    #[must_use]
    pub fn calls(self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.then(ModelStep::calls(calls))
    }

    /// Adds a step that responds with text and calls no tool.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Self {
        self.then(ModelStep::says(text))
    }

    /// Adds a step that fails, as when the model cannot be reached.
    #[must_use]
    pub fn fails(mut self, error: ToolError) -> Self {
        self.script.push_back(Err(error));
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: ModelStep) -> Self {
        self.script.push_back(Ok(step));
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> &[RecordedRequest] {
        &self.requests
    }

    /// Asserts that every step was played.
    ///
    /// # Panics
    ///
    /// Panics with the steps that are left.
    #[track_caller]
    pub fn assert_done(&self) {
        let asked = self.requests.len();
        let left = &self.script;
        let lines = left
            .iter()
            .map(|step| format!("  {}", describe(step)))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(
            left.is_empty(),
            "the model got {asked} requests, and its script has more steps:\n{lines}"
        );
    }
}

impl Model for ScriptedModel {
    /// Returns the next step of the script.
    ///
    /// # Panics
    ///
    /// Panics with the request if the script has ended.
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.requests.push(RecordedRequest {
            instructions: request.instructions.to_owned(),
            history: request.history.to_vec(),
            tools: request
                .tools
                .iter()
                .map(|tool| tool.name().to_owned())
                .collect(),
            tool_choice: request.tool_choice,
        });
        let Some(step) = self.script.pop_front() else {
            panic!("{}", over(&self.requests));
        };
        if let (Some(events), Ok(step)) = (request.events, &step) {
            show_words(events, step.text.as_deref().unwrap_or_default()).await;
        }
        step
    }
}

/// Shows a text word by word, as a model streams it.
async fn show_words(events: &EventSender, text: &str) {
    for word in text.split_inclusive(' ') {
        events.text(word);
        events.taken().await;
    }
}

fn over(requests: &[RecordedRequest]) -> String {
    let choice = requests
        .last()
        .map(|request| request.tool_choice)
        .unwrap_or_default();
    let last = requests.last().and_then(|request| request.history.last());
    let last = last.map_or_else(|| "nothing".to_owned(), |message| format!("{message:?}"));
    let scripted = requests.len().saturating_sub(1);
    format!(
        "the model got request {} with tool choice {choice:?}, and its script has {scripted} steps\nthe last message: {last}",
        requests.len(),
    )
}

fn describe(step: &Result<ModelStep, ToolError>) -> String {
    let step = match step {
        Ok(step) => step,
        Err(error) => return format!("fails: {error}"),
    };
    let says = step.text.iter().map(|text| format!("says {text:?}"));
    let calls = step
        .calls
        .iter()
        .map(|call| format!("calls {}({})", call.name(), call.arguments()));
    says.chain(calls).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    fn request(tool_choice: ToolChoice) -> ModelRequest<'static> {
        ModelRequest {
            instructions: "Be kind.",
            history: &[],
            tools: &[],
            searchable: &[],
            provider_tools: &[],
            tool_choice,
            events: None,
        }
    }

    fn ask(model: &mut ScriptedModel, tool_choice: ToolChoice) -> Result<ModelStep, ToolError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(model.step(request(tool_choice)))
    }

    fn message(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it has to panic");
        *panic.downcast::<String>().expect("a message")
    }

    #[test]
    fn script_is_played_in_order_and_requests_are_recorded() {
        let call = ToolCall::new("c", "add", "{}");
        let mut model = ScriptedModel::new()
            .calls([call.clone()])
            .fails(ToolError::transient("overloaded"))
            .says("done");
        assert_eq!(
            ask(&mut model, ToolChoice::Required),
            Ok(ModelStep::calls([call]))
        );
        assert_eq!(
            ask(&mut model, ToolChoice::Auto),
            Err(ToolError::transient("overloaded"))
        );
        assert_eq!(
            ask(&mut model, ToolChoice::None),
            Ok(ModelStep::says("done"))
        );
        let choices = model
            .requests()
            .iter()
            .map(|request| request.tool_choice)
            .collect::<Vec<_>>();
        assert_eq!(
            choices,
            [ToolChoice::Required, ToolChoice::Auto, ToolChoice::None]
        );
        assert_eq!(model.requests()[0].instructions, "Be kind.");
        model.assert_done();
    }

    #[test]
    fn request_after_the_end_of_the_script_panics() {
        let mut model = ScriptedModel::new().says("done");
        _ = ask(&mut model, ToolChoice::Auto);
        let text = message(|| _ = ask(&mut model, ToolChoice::None));
        assert!(
            text.contains("got request 2 with tool choice None, and its script has 1 steps"),
            "{text}"
        );
    }

    #[test]
    fn steps_that_are_left_are_listed() {
        let model = ScriptedModel::new()
            .calls([ToolCall::new("c", "add", r#"{"a":1}"#)])
            .says("done");
        let text = message(|| model.assert_done());
        assert!(
            text.contains("got 0 requests") && text.contains("add({\"a\":1})\n  says \"done\""),
            "{text}"
        );
    }
}
