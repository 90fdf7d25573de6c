//! Typed answers: the model gives its final answer as the arguments of a control tool, which decode into a type.

use crate::registry::ToolContext;
use crate::schema::parameter::AnswerType;
use crate::session::agent_loop::{Reply, with_fresh_ids};
use crate::session::inner::SessionInner;
use crate::session::model::{History, Message, ModelStep, RawTurn};
use crate::tool::typed_value::{Validator, ValueSlot, arguments_of, read, value_in};
use crate::tool::{FunctionTool, ToolDefinition};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;

/// The form of a model's final answer: a type, further checks, and the number of retries.
///
/// The model gets the schema of `T` as that of the control tool `final_answer`, and answers by calling it. The arguments
/// are decoded and checked as those of every tool. A wrong answer goes back to the model with every problem.
///
/// ```
/// use tool_core::session::{History, TypedAnswer};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool_type};
///
/// /// A booking.
/// #[tool_type]
/// #[derive(Debug, PartialEq)]
/// struct Booking {
///     guest: String,
///     seats: u8,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("s-1", Mode::Text).await?;
/// let call = |arguments| ToolCall::new("", "final_answer", arguments);
/// let mut model = ScriptedModel::new()
///     .calls([call(r#"{"answer": {"guest": "Ada", "seats": 12}}"#)])
///     .calls([call(r#"{"answer": {"guest": "Ada", "seats": 4}}"#)]);
///
/// let few = |booking: &Booking| if booking.seats <= 8 { Ok(()) } else { Err("expected at most 8 seats".to_owned()) };
/// let answer = TypedAnswer::new().validate(few);
/// let mut history = History::new();
/// let booked = session.reply_typed(&mut model, &mut history, "A table for Ada, 4 seats.", &answer).await?;
/// assert_eq!(booked.output, Booking { guest: "Ada".into(), seats: 4 });
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct TypedAnswer<T> {
    validators: Arc<Vec<Validator<T>>>,
    retries: u32,
}

impl<T> Default for TypedAnswer<T> {
    fn default() -> Self {
        Self { validators: Arc::default(), retries: 2 }
    }
}

impl<T> fmt::Debug for TypedAnswer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedAnswer").field("retries", &self.retries).finish_non_exhaustive()
    }
}

impl<T> TypedAnswer<T> {
    /// Creates the form of an answer of type `T`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of times that the model may correct a wrong answer. Defaults to 2.
    pub fn retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// Adds a check. It runs on answers that decode, and its error goes to the model, beside those of the other checks.
    pub fn validate(mut self, check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self {
        // A form is not cloned, so nothing else holds the checks.
        if let Some(validators) = Arc::get_mut(&mut self.validators) {
            validators.push(Box::new(check));
        }
        self
    }
}

/// A reply whose final answer is of type `T`.
///
/// ```
/// use tool_core::session::{History, TypedAnswer};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{ToolCall, tool_type};
///
/// /// A table.
/// #[tool_type]
/// struct Table {
///     seats: u8,
/// }
///
/// # use tool_core::{Mode, Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("s-1", Mode::Text).await?;
/// let mut model = ScriptedModel::new().calls([ToolCall::new("", "final_answer", r#"{"answer": {"seats": 4}}"#)]);
/// let form = TypedAnswer::<Table>::new();
/// let table = session.reply_typed(&mut model, &mut History::new(), "A table for four.", &form).await?;
/// assert_eq!(table.output.seats, 4);
/// assert!(table.reply.error.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TypedReply<T> {
    /// The answer.
    pub output: T,
    /// The reply that led to it. Its text is what the model said beside the answer.
    pub reply: Reply,
}

/// The reason why a model gave no answer of the wanted type.
///
/// ```
/// use tool_core::session::{History, TypedAnswer};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{ToolCall, tool_type};
///
/// /// A table.
/// #[tool_type]
/// #[derive(Debug)]
/// struct Table {
///     seats: u8,
/// }
///
/// # use tool_core::{Mode, Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("s-1", Mode::Text).await?;
/// let many = ToolCall::new("", "final_answer", r#"{"answer": {"seats": "many"}}"#);
/// let mut model = ScriptedModel::new().calls([many]);
/// let form = TypedAnswer::<Table>::new().retries(0);
/// let error = session.reply_typed(&mut model, &mut History::new(), "A table.", &form).await.unwrap_err();
/// assert_eq!(error.text.as_deref(), Some(r#"{"seats": "many"}"#));
/// assert!(error.problems[0].contains("/seats"), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TypedReplyError {
    /// The last answer of the model, as it was sent. `None` if it gave none.
    pub text: Option<String>,
    /// The problems of that answer.
    pub problems: Vec<String>,
    /// The reply. Its `error`, `interrupted` and `responses` say why it ended without an answer.
    pub reply: Box<Reply>,
}

impl From<Reply> for TypedReplyError {
    /// Creates the error of a reply that ended without an answer.
    fn from(reply: Reply) -> Self {
        Self { text: None, problems: Vec::new(), reply: Box::new(reply) }
    }
}

impl fmt::Display for TypedReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reply.error, self.problems.as_slice()) {
            (Some(error), _) => write!(f, "the model gave no answer: {error}"),
            (None, []) if self.reply.interrupted => f.write_str("the model gave no answer: the turn was interrupted"),
            (None, []) => f.write_str("the model gave no answer: a tool ended the reply"),
            (None, problems) => write!(f, "the model's answer is wrong: {}", problems.join("; ")),
        }
    }
}

impl std::error::Error for TypedReplyError {}

impl<T: AnswerType + Send + 'static> TypedAnswer<T> {
    /// Creates the control tool of a reply, and the slot that it fills.
    pub(crate) fn open(&self, session: &SessionInner) -> Result<(AnswerForm, Arc<ValueSlot<T>>), TypedReplyError> {
        let slot = ValueSlot::new(Arc::clone(&self.validators));
        match AnswerForm::new(&slot, session, self.retries) {
            Ok(form) => Ok((form, slot)),
            Err(problems) => Err(TypedReplyError { text: None, problems, reply: Box::default() }),
        }
    }
}

/// The control tool of a reply with a typed answer, and the last wrong answer.
pub(crate) struct AnswerForm {
    tool: FunctionTool,
    retries: u32,
    text: Option<String>,
    problems: Vec<String>,
    /// True after the model has answered without a call.
    pub(crate) requires_call: bool,
}

/// The part of a step that concerns the answer.
pub(crate) enum AnswerVerdict {
    /// The step calls other tools.
    CallsTools,
    /// The answer was wrong, and the model is asked again.
    AskAgain,
    /// The answer was taken, or no retry is left.
    Over,
}

impl AnswerForm {
    fn new<T: AnswerType + Send + 'static>(
        slot: &Arc<ValueSlot<T>>,
        session: &SessionInner,
        retries: u32,
    ) -> Result<Self, Vec<String>> {
        let description = "Give the final answer. Call it once, alone, when you have all that the answer needs.";
        let mut tool = slot.tool("final_answer", description);
        while session.tools.find(tool.name()).is_some() {
            tool = tool.renamed(format!("{}_", tool.name()));
        }
        // Reports a type whose schema cannot be published.
        let checked = ToolContext::builder().with(&tool).build();
        checked.map_err(|errors| errors.to_string().lines().map(str::to_owned).collect::<Vec<_>>())?;
        Ok(Self { tool, retries, text: None, problems: Vec::new(), requires_call: false })
    }

    /// Returns the answer of a reply.
    pub(crate) fn finish<T: AnswerType + Send + 'static>(
        self,
        slot: &ValueSlot<T>,
        reply: Reply,
    ) -> Result<TypedReply<T>, TypedReplyError> {
        match slot.take() {
            Some(output) => Ok(TypedReply { output, reply }),
            None => Err(TypedReplyError { text: self.text, problems: self.problems, reply: Box::new(reply) }),
        }
    }

    /// Returns the tools of the session and the control tool.
    pub(crate) fn with_tools(&self, tools: &[ToolDefinition]) -> Vec<ToolDefinition> {
        tools.iter().chain([self.tool.definition()]).cloned().collect()
    }

    /// Returns the instructions with those about the answer.
    pub(crate) fn instructions(&self, about_tools: &str) -> String {
        let name = self.tool.name();
        format!("{about_tools}\n# Answer\n\nGive your final answer by calling `{name}`, not as a text.\n")
    }

    /// Takes the answer out of a step, and writes it to the history. Leaves the calls of other tools in the step, if it may
    /// make some: the model then answers when it has their results.
    pub(crate) async fn read(&mut self, step: &mut ModelStep, history: &mut History, may_call: bool) -> AnswerVerdict {
        let sent = std::mem::take(&mut step.calls);
        let is_single = sent.len() <= 1;
        let (answers, others) = sent.into_iter().partition::<Vec<_>, _>(|call| call.name() == self.tool.name());
        if !others.is_empty() && may_call {
            // The items of a raw turn correspond to the calls.
            step.native = step.native.take().filter(|_| answers.is_empty());
            step.calls = others;
            return AnswerVerdict::CallsTools;
        }
        let call = with_fresh_ids(history, answers).into_iter().next();
        let native = step.native.take().filter(|_| is_single && others.is_empty());
        let Some(call) = call else { return self.read_text(step.text.take(), native, history).await };
        let (response, problems) = read(&self.tool, call.arguments()).await;
        let answer = Some(value_in(call.arguments()).to_owned());
        if response.is_ok() {
            history.push(Message::Assistant { text: answer, calls: Vec::new(), native: None });
            return AnswerVerdict::Over;
        }
        (self.text, self.problems) = (answer, problems);
        history.push(Message::Assistant { text: step.text.take(), calls: vec![call.clone()], native });
        history.push_result(&call, &response);
        self.again()
    }

    /// Reads an answer that was given as a text: JSON of the type, or none at all.
    async fn read_text(
        &mut self,
        text: Option<String>,
        native: Option<RawTurn>,
        history: &mut History,
    ) -> AnswerVerdict {
        let json = text.as_deref().and_then(|text| serde_json::from_str::<&RawValue>(text.trim()).ok());
        let name = self.tool.name().to_owned();
        let problems = match json {
            None => vec![format!("expected a call of `{name}`, got a text")],
            Some(json) => read(&self.tool, &arguments_of(json.get())).await.1,
        };
        if text.is_some() || native.is_some() {
            history.push(Message::Assistant { text: text.clone(), calls: Vec::new(), native });
        }
        if problems.is_empty() {
            return AnswerVerdict::Over;
        }
        let note = format!(
            "[Note by the application, not said by the user] The answer was not taken: {}. Give it by calling `{name}`.",
            problems.join("; ")
        );
        (self.text, self.problems, self.requires_call) = (text, problems, true);
        let verdict = self.again();
        if matches!(verdict, AnswerVerdict::AskAgain) {
            history.push(Message::User(note));
        }
        verdict
    }

    fn again(&mut self) -> AnswerVerdict {
        match self.retries.checked_sub(1) {
            Some(left) => {
                self.retries = left;
                AnswerVerdict::AskAgain
            }
            None => AnswerVerdict::Over,
        }
    }
}
