//! One trial: what is asked, what is expected, and how often.

use crate::call::Mode;
use crate::session::UserMessage;
use crate::testing::trials::answer_check::{AnswerCheck, CheckVerdict};
use crate::testing::trials::argument_match::ArgumentMatch;
use crate::testing::trials::expected_calls::{CallPattern, ExpectedCalls};
use crate::trace::{Cost, ModelUsage, Pricing};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A prompt, the calls and the answer that are expected of a model, and the rate of runs that have
/// to pass.
///
/// A model does not answer twice in the same way, so one run says little. A trial is run several
/// times, each in a session of its own, and passes if enough of the runs do. It works with any
/// [`Model`](crate::session::Model): a scripted one, a recorded one, or one at a provider.
///
/// ```
/// use tool_core::serde_json::json;
/// use tool_core::testing::{ScriptedModel, Trial};
/// use tool_core::{Runtime, ToolCall, ToolContext, tool};
///
/// /// Book a room.
/// #[tool]
/// fn book_room(room: u32, #[arg(default = 1)] guests: u32) -> String {
///     format!("room {room} is booked for {guests}")
/// }
///
/// /// Cancel a booking.
/// #[tool]
/// fn cancel(room: u32) -> String {
///     format!("room {room} is free")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(book_room).with(cancel).build()?;
/// let runtime = Runtime::builder(tools).build()?;
/// let outcome = Trial::new("books a room", "Book room 4 for Friday")
///     .must_call("book_room", json!({"room": 4}))
///     .must_not_call("cancel")
///     .check("names the room", |answer: &str| answer.contains('4'))
///     .repeat(5)
///     .reach(0.8)
///     .run(&runtime, |_run| {
///         let call = ToolCall::new("call_1", "book_room", json!({"room": "4"}));
///         ScriptedModel::new().calls([call]).says("Room 4 is yours.")
///     })
///     .await;
/// outcome.assert_passed();
/// assert_eq!(outcome.passed_runs(), 5);
/// # Ok(())
/// # }
/// ```
///
/// # Which calls pass
///
/// - Every [`must_call`](Self::must_call) needs a call of its own, in any order. It has to reach
///   the tool: a call with arguments that the tool refuses does not count. A call that waits for
///   the approval of a person does, and so does one that the tool answers with an error.
/// - A [`must_not_call`](Self::must_not_call) fails the run at every attempt, also at one that was
///   refused.
/// - Other calls are allowed, unless you name those that are: with [`may_call`](Self::may_call), or
///   with [`no_other_calls`](Self::no_other_calls) if there are none. Then a run fails at a call
///   of any other tool. The runtime's own tools, such as the search for tools, are always allowed.
///
/// See [`ArgumentMatch`] for the comparison of arguments.
///
/// A run also fails if the model fails or panics, if its answer is not complete, and if the
/// [time limit](Self::time_limit) passes. The outcome has every problem of every run.
#[derive(Clone)]
#[must_use]
pub struct Trial {
    pub(crate) name: String,
    pub(crate) prompt: UserMessage,
    pub(crate) instructions: String,
    pub(crate) mode: Mode,
    pub(crate) expected: ExpectedCalls,
    pub(crate) checks: Vec<AnswerCheck>,
    pub(crate) repetitions: u32,
    pub(crate) reach: f64,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) pricing: Option<SharedPricing>,
}

/// The price table of a trial, which all its runs share.
#[derive(Clone)]
pub(crate) struct SharedPricing(Arc<dyn Pricing>);

impl Pricing for SharedPricing {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        self.0.price(used)
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial")
            .field("name", &self.name)
            .field("prompt", &self.prompt)
            .field("expected", &self.expected)
            .field("repetitions", &self.repetitions)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// # What is asked
impl Trial {
    /// Creates a trial that asks a model once, and expects that it answers.
    pub fn new(name: impl Into<String>, prompt: impl Into<UserMessage>) -> Self {
        Self {
            name: name.into(),
            prompt: prompt.into(),
            instructions: String::new(),
            mode: Mode::Text,
            expected: ExpectedCalls::default(),
            checks: Vec::new(),
            repetitions: 1,
            reach: 1.0,
            time_limit: None,
            pricing: None,
        }
    }

    /// Sets your instructions to the model. Those about the tools follow them.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        Self {
            instructions: text.into(),
            ..self
        }
    }

    /// Sets the mode of the sessions that [`run`](Self::run) opens. Defaults to text.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Sets the number of runs. Defaults to 1.
    pub fn repeat(self, runs: u32) -> Self {
        Self {
            repetitions: runs,
            ..self
        }
    }

    /// Sets the part of the runs that has to pass, from 0 to 1. Defaults to 1, which is all of them.
    pub fn reach(self, rate: f64) -> Self {
        Self {
            reach: rate,
            ..self
        }
    }

    /// Sets the time after which a run fails. Defaults to no limit.
    pub fn time_limit(self, limit: Duration) -> Self {
        Self {
            time_limit: Some(limit),
            ..self
        }
    }

    /// Sets the price table. Defaults to the table of a linked crate, if one has a table. Without a
    /// price, or without the feature `trace`, the outcome has no cost.
    pub fn pricing(self, pricing: impl Pricing + 'static) -> Self {
        Self {
            pricing: Some(SharedPricing(Arc::new(pricing))),
            ..self
        }
    }
}

/// # What is expected
impl Trial {
    /// Expects a call of a tool with these arguments.
    pub fn must_call(
        mut self,
        tool: impl Into<String>,
        arguments: impl Into<ArgumentMatch>,
    ) -> Self {
        let pattern = CallPattern::new(tool, arguments.into());
        self.expected.must.push(pattern);
        self
    }

    /// Allows calls of a tool, and refuses those of tools that are not named.
    pub fn may_call(self, tool: impl Into<String>) -> Self {
        self.may_call_with(tool, ArgumentMatch::any())
    }

    /// Allows calls of a tool with these arguments, and refuses those of tools that are not named.
    pub fn may_call_with(
        mut self,
        tool: impl Into<String>,
        arguments: impl Into<ArgumentMatch>,
    ) -> Self {
        let pattern = CallPattern::new(tool, arguments.into());
        self.expected.may.push(pattern);
        self.no_other_calls()
    }

    /// Refuses calls of tools that are not named by [`must_call`](Self::must_call) or
    /// [`may_call`](Self::may_call).
    pub fn no_other_calls(mut self) -> Self {
        self.expected.is_closed = true;
        self
    }

    /// Refuses calls of a tool.
    pub fn must_not_call(self, tool: impl Into<String>) -> Self {
        self.must_not_call_with(tool, ArgumentMatch::any())
    }

    /// Refuses calls of a tool with these arguments.
    pub fn must_not_call_with(
        mut self,
        tool: impl Into<String>,
        arguments: impl Into<ArgumentMatch>,
    ) -> Self {
        let pattern = CallPattern::new(tool, arguments.into());
        self.expected.must_not.push(pattern);
        self
    }

    /// Checks the text of the answer, which is empty if the model said nothing. The function
    /// returns true or `Ok` if the answer is right. You can also use `assert!` in it.
    /// `expectation` says what a right answer does.
    ///
    /// ```
    /// use tool_core::testing::Trial;
    ///
    /// let trial = Trial::new("adds", "What is 1 + 2?")
    ///     .check("has the sum", |answer: &str| answer.contains('3'))
    ///     .check("is a sentence", |answer: &str| assert!(answer.ends_with('.')))
    ///     .check("is short", |answer: &str| match answer.len() {
    ///         0..=80 => Ok(()),
    ///         length => Err(format!("it has {length} bytes")),
    ///     });
    /// # let _ = trial;
    /// ```
    pub fn check<V: Into<CheckVerdict>>(
        mut self,
        expectation: impl Into<String>,
        check: impl Fn(&str) -> V + Send + Sync + 'static,
    ) -> Self {
        let expectation = expectation.into();
        self.checks.push(AnswerCheck::new(expectation, check));
        self
    }
}
