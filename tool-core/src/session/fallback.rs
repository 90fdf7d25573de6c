//! Two models, of which the second answers where the first fails.

use crate::call::{ErrorKind, ToolError};
use crate::session::history::History;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_info::ModelInfo;
use crate::session::model_step::ModelStep;
use crate::time;
use crate::trace::{self, TokenUsage};
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// The kinds of errors after which the next model is asked, unless you say otherwise.
const DEFAULT_KINDS: [ErrorKind; 3] = [
    ErrorKind::Transient,
    ErrorKind::RateLimit,
    ErrorKind::Timeout,
];

/// A model that failed, and the one that is asked in its place.
///
/// ```
/// use tool_core::session::{FallbackModel, ModelSwitch};
/// use tool_core::testing::ScriptedModel;
///
/// let models = FallbackModel::new(ScriptedModel::new(), ScriptedModel::new());
/// let models = models.on_switch(|switch: &ModelSwitch| {
///     println!("{} failed: {}. {} answers.", switch.failed.model, switch.error, switch.next.model);
/// });
/// # let _ = models;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSwitch {
    /// The model that failed.
    pub failed: ModelInfo,
    /// Its error.
    pub error: ToolError,
    /// The model that is asked next.
    pub next: ModelInfo,
}

/// Sees the switches from one model to the next.
type SwitchListener = Box<dyn FnMut(&ModelSwitch) + Send>;

/// Two models, of which the second answers where the first fails.
///
/// Each step asks the first model, with its own retries. If it fails with TRANSIENT, `RATE_LIMIT` or TIMEOUT, the second is
/// asked with the same request. Every other error is the error of the step: an invalid request or a wrong key is a mistake
/// that another model would hide. [`also_on`](Self::also_on) adds kinds of errors.
///
/// - A call runs only after its answer is complete, so no call of an answer that failed has begun.
/// - If your listener has seen a part of the answer that failed, the second model is not asked,
///   because your user would read two beginnings. [`even_if_shown`](Self::even_if_shown) lifts
///   that.
/// - A switch is a warning in the log, the attribute `tool_core.failed_model` of the step's span,
///   and an event for
///   [`on_switch`](Self::on_switch). The span and its cost name the model that answered.
/// - The tokens of the answer that failed count in [`Reply::usage`](super::Reply::usage).
/// - Each step of the history goes back in full to the model that wrote it. The other model reads
///   its text and its calls.
///
/// ```
/// use tool_core::session::{FallbackModel, History};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext, ToolError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let busy = ScriptedModel::new().fails(ToolError::rate_limit("too many requests"));
/// let spare = ScriptedModel::new().says("Hello");
///
/// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let mut models = FallbackModel::new(busy, spare);
/// let reply = session.reply(&mut models, &mut History::new(), "Hi").await;
/// assert_eq!(reply.text.as_deref(), Some("Hello"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct FallbackModel<A, B> {
    first: A,
    second: B,
    /// Further kinds of errors after which the second model is asked.
    further_kinds: Vec<ErrorKind>,
    even_if_shown: bool,
    listener: Option<SwitchListener>,
    /// The time for which a model that has failed is not asked.
    rest: Duration,
    rests_until: Option<Instant>,
    /// True if the last step has asked the first model.
    asked_first: bool,
    /// True if the last step has asked the second model.
    asked_second: bool,
}

impl<A: Model, B: Model> FallbackModel<A, B> {
    /// Creates a model that asks `second` where `first` fails.
    pub fn new(first: A, second: B) -> Self {
        Self {
            first,
            second,
            further_kinds: Vec::new(),
            even_if_shown: false,
            listener: None,
            rest: Duration::ZERO,
            rests_until: None,
            asked_first: false,
            asked_second: false,
        }
    }

    /// Returns a model that asks `other` where both of these fail.
    ///
    /// ```
    /// use tool_core::session::FallbackModel;
    /// use tool_core::testing::ScriptedModel;
    ///
    /// let models = FallbackModel::new(ScriptedModel::new(), ScriptedModel::new()).or(ScriptedModel::new());
    /// # let _ = models;
    /// ```
    pub fn or<C: Model>(self, other: C) -> FallbackModel<Self, C> {
        FallbackModel::new(self, other)
    }

    /// Asks the second model after these kinds of errors too. A cancelled step stays cancelled.
    ///
    /// ```
    /// use tool_core::ErrorKind;
    /// use tool_core::session::FallbackModel;
    /// use tool_core::testing::ScriptedModel;
    ///
    /// let models = FallbackModel::new(ScriptedModel::new(), ScriptedModel::new());
    /// let models = models.also_on([ErrorKind::Auth, ErrorKind::Permanent]);
    /// # let _ = models;
    /// ```
    pub fn also_on(mut self, kinds: impl IntoIterator<Item = ErrorKind>) -> Self {
        self.further_kinds.extend(kinds);
        self
    }

    /// Asks the second model even if your listener has seen a part of the answer that failed. Your
    /// listener then sees a second beginning: use [`on_switch`](Self::on_switch) to take the first
    /// one back.
    pub fn even_if_shown(mut self) -> Self {
        self.even_if_shown = true;
        self
    }

    /// Sets a function that sees each switch, before the second model is asked. It runs on the task
    /// of the reply, so it has to be quick.
    pub fn on_switch(mut self, listener: impl FnMut(&ModelSwitch) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Sets the time for which a first model that has failed is not asked. Defaults to none: each
    /// step asks it again.
    pub fn rest_after_failure(mut self, rest: Duration) -> Self {
        self.rest = rest;
        self
    }

    /// Returns the two models.
    pub fn into_models(self) -> (A, B) {
        (self.first, self.second)
    }

    fn asks_second_after(&self, error: &ToolError) -> bool {
        let kind = error.kind();
        let is_wanted = DEFAULT_KINDS.contains(&kind) || self.further_kinds.contains(&kind);
        let may_begin_again = self.even_if_shown || !self.first.has_shown_output();
        is_wanted && kind != ErrorKind::Cancelled && may_begin_again
    }

    fn report(&mut self, error: &ToolError) {
        let switch = ModelSwitch {
            failed: self.first.about(),
            error: error.clone(),
            next: self.second.about(),
        };
        let kind = error.kind();
        let failed = &switch.failed.model;
        tracing::warn!(%failed, next = %switch.next.model, %error, "a model failed, and the next is asked");
        trace::attribute("tool_core.failed_model", format!("{failed}: {kind}"));
        if let Some(listener) = &mut self.listener {
            listener(&switch);
        }
    }

    async fn ask_second(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.asked_second = true;
        if let Some(events) = request.events {
            events.begin_again();
        }
        let mut step = self.second.step(request).await?;
        if step.answered_by.is_none() {
            step.answered_by = Some(self.second.about());
        }
        Ok(step)
    }

    fn first_rests(&self) -> bool {
        self.rests_until.is_some_and(|until| Instant::now() < until)
    }
}

impl<A: Model, B: Model> Model for FallbackModel<A, B> {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.asked_first = !self.first_rests();
        self.asked_second = false;
        if !self.asked_first {
            return self.ask_second(request).await;
        }
        let first_error = match self.first.step(request).await {
            Ok(step) => return Ok(step),
            Err(error) => error,
        };
        if !self.asks_second_after(&first_error) {
            return Err(first_error);
        }

        if !self.rest.is_zero() {
            self.rests_until = Some(time::after(Instant::now(), self.rest));
        }
        self.report(&first_error);
        let answer = self.ask_second(request).await;
        answer.map_err(|error| {
            let first = self.first.about().model;
            error.map_message(|message| {
                format!("{message}; before it {first} failed: {first_error}")
            })
        })
    }

    async fn prepare(&mut self, history: &mut History) {
        self.first.prepare(history).await;
        self.second.prepare(history).await;
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        self.first.take_failed_usage() + self.second.take_failed_usage()
    }

    fn has_shown_output(&self) -> bool {
        let by_first = self.asked_first && self.first.has_shown_output();
        by_first || self.asked_second && self.second.has_shown_output()
    }

    /// Returns the identity of the model that the next step asks first.
    fn about(&self) -> ModelInfo {
        if self.first_rests() {
            self.second.about()
        } else {
            self.first.about()
        }
    }
}

impl<A: Model, B: Model> fmt::Debug for FallbackModel<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackModel")
            .field("first", &self.first.about().model)
            .field("second", &self.second.about().model)
            .finish_non_exhaustive()
    }
}
