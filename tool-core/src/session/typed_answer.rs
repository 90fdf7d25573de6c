//! Typed answers: the model gives its final answer as the arguments of a control tool, which decode
//! into a type.

use crate::schema::parameter::AnswerType;
use crate::session::answer_form::AnswerForm;
use crate::session::inner::SessionInner;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::tool::typed_value::{Validator, ValueSlot};
use std::fmt;
use std::sync::Arc;

/// The form of a model's final answer: a type, further checks, and the number of retries.
///
/// The model gets the schema of `T` as that of the control tool `final_answer`, and answers by
/// calling it. A model whose provider has a form for structured output gets the schema as that of
/// its text instead. You need not know the difference: an answer is read from a call, from a text
/// that is its JSON, and from a code block or JSON at the end of a text. It is decoded and checked
/// as the arguments of every tool. A wrong answer goes back to the model with every problem.
///
/// No call is forced, as providers refuse that beside thinking.
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
        Self {
            validators: Arc::default(),
            retries: 2,
        }
    }
}

impl<T> fmt::Debug for TypedAnswer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedAnswer")
            .field("retries", &self.retries)
            .finish_non_exhaustive()
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

    /// Adds a check. It runs on answers that decode, and its error goes to the model, beside those
    /// of the other checks.
    pub fn validate(
        mut self,
        check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
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
    /// The reply. Its `finish`, `error` and `responses` say why it ended without an answer.
    pub reply: Box<Reply>,
}

impl From<Reply> for TypedReplyError {
    /// Creates the error of a reply that ended without an answer.
    fn from(reply: Reply) -> Self {
        Self {
            text: None,
            problems: Vec::new(),
            reply: Box::new(reply),
        }
    }
}

impl fmt::Display for TypedReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match (&self.reply.error, self.reply.finish) {
            (Some(error), _) => return write!(f, "the model gave no answer: {error}"),
            (None, ReplyFinish::Interrupted) => "the turn was interrupted",
            (None, ReplyFinish::Refused) => "it refused",
            (None, ReplyFinish::Blocked) => "a guard refused it",
            (None, ReplyFinish::Withheld) => "the provider withheld it",
            (None, ReplyFinish::Paused) => "the provider paused it too often",
            (None, _) if !self.problems.is_empty() => {
                return write!(
                    f,
                    "the model's answer is wrong: {}",
                    self.problems.join("; ")
                );
            }
            (None, _) => "a tool ended the reply",
        };
        write!(f, "the model gave no answer: {reason}")
    }
}

impl std::error::Error for TypedReplyError {}

impl<T: AnswerType + Send + 'static> TypedAnswer<T> {
    /// Creates the control tool of a reply, and the slot that it fills.
    pub(crate) fn open(
        &self,
        session: &Arc<SessionInner>,
    ) -> Result<(AnswerForm, Arc<ValueSlot<T>>), TypedReplyError> {
        let slot = ValueSlot::new(Arc::clone(&self.validators));
        match AnswerForm::new(&slot, session, self.retries) {
            Ok(form) => Ok((form, slot)),
            Err(problems) => {
                let reply = Reply {
                    finish: ReplyFinish::Failed,
                    ..Reply::default()
                };
                Err(TypedReplyError {
                    text: None,
                    problems,
                    reply: Box::new(reply),
                })
            }
        }
    }
}

/// Returns the answer of a reply.
pub(crate) fn typed_reply<T: AnswerType + Send + 'static>(
    form: AnswerForm,
    slot: &ValueSlot<T>,
    reply: Reply,
) -> Result<TypedReply<T>, TypedReplyError> {
    // A guard may have refused an answer that is in the slot.
    match slot.take().filter(|_| form.is_taken) {
        Some(output) => Ok(TypedReply { output, reply }),
        None => Err(TypedReplyError {
            text: form.text,
            problems: form.problems,
            reply: Box::new(reply),
        }),
    }
}
