//! What keeps the history of an agent within a limit.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use tool_core::ToolError;
use tool_core::session::{History, Keep, Model, Shortened};
use tool_core::trace::TokenUsage;

/// The share of the context at which a conversation is summed up, if no limit is set.
const DEFAULT_SHARE: f64 = 0.8;

/// Shortens a history before each step of the model, if it is too long.
#[derive(Default)]
pub(crate) struct HistoryKeeper {
    keep: Option<Keep>,
    summaries: Summaries,
    listener: Option<Unshared<dyn FnMut(&Shortened) + Send>>,
    measured: Option<MeasuredRequest>,
    /// The tokens of summaries that are not reported yet.
    usage: TokenUsage,
}

/// The model that sums up what is removed.
#[derive(Default)]
enum Summaries {
    #[default]
    None,
    /// The model of the conversation.
    Own,
    Other(Unshared<dyn SummaryModel>),
}

/// A request whose tokens the provider has counted.
#[derive(Clone, Copy)]
struct MeasuredRequest {
    messages: usize,
    tokens: u64,
}

/// A value that one owner uses at a time, so that an agent can be shared between threads where its model can.
struct Unshared<T: ?Sized>(Mutex<Box<T>>);

impl<T: ?Sized> Unshared<T> {
    fn new(value: Box<T>) -> Self {
        Self(Mutex::new(value))
    }

    fn get(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

type Compacting<'a> = Pin<Box<dyn Future<Output = Result<Shortened, ToolError>> + Send + 'a>>;

/// A model of any type that sums up.
trait SummaryModel: Send {
    fn compact<'a>(&'a mut self, history: &'a mut History, keep: &'a Keep) -> Compacting<'a>;
}

impl<M: Model> SummaryModel for M {
    fn compact<'a>(&'a mut self, history: &'a mut History, keep: &'a Keep) -> Compacting<'a> {
        Box::pin(history.compact(self, keep))
    }
}

/// # Settings
impl HistoryKeeper {
    pub(crate) fn set_keep(&mut self, keep: Keep) {
        self.keep = Some(keep);
    }

    pub(crate) fn sum_up(&mut self) {
        self.summaries = Summaries::Own;
        self.keep.get_or_insert_with(|| Keep::share(DEFAULT_SHARE));
    }

    pub(crate) fn sum_up_with(&mut self, model: impl Model + 'static) {
        self.sum_up();
        self.summaries = Summaries::Other(Unshared::new(Box::new(model)));
    }

    pub(crate) fn set_listener(&mut self, listener: impl FnMut(&Shortened) + Send + 'static) {
        self.listener = Some(Unshared::new(Box::new(listener)));
    }

    /// Forgets what was measured, because another model counts otherwise.
    pub(crate) fn forget_measured(&mut self) {
        self.measured = None;
    }
}

/// # Steps
impl HistoryKeeper {
    /// Shortens the history if it is too long. `besides` are the tokens of a request that are not of the history.
    pub(crate) async fn prepare<M: Model>(
        &mut self,
        model: &mut M,
        history: &mut History,
        besides: impl FnOnce() -> u64,
    ) {
        let Some(keep) = &self.keep else {
            return;
        };
        let about = model.about();
        let mut keep = keep
            .clone()
            .window_of(about.provider.as_deref(), &about.model);
        if let Some(tokens) = self.tokens_now(history) {
            keep = keep.measured(tokens, besides());
        }

        let summed_up = match &mut self.summaries {
            Summaries::None => Ok(history.trim(&keep)),
            Summaries::Own => history.compact(model, &keep).await,
            Summaries::Other(other) => other.get().compact(history, &keep).await,
        };
        // A conversation that is too long would fail, so it loses its beginning where nothing can sum it up.
        let shortened = summed_up.unwrap_or_else(|error| {
            let mut trimmed = history.trim(&keep);
            trimmed.summary_error = Some(error.to_string());
            trimmed
        });
        if shortened.is_nothing() {
            return;
        }
        self.measured = None;
        self.usage += shortened.usage;
        if let Some(listener) = &mut self.listener {
            (listener.get())(&shortened);
        }
    }

    /// Takes in what the provider has counted for a request with so many messages.
    pub(crate) fn measure(&mut self, messages: usize, tokens: u64) {
        // Some providers report no usage.
        self.measured = (tokens > 0).then_some(MeasuredRequest { messages, tokens });
    }

    /// Returns the tokens of the last request, and an estimate of the messages that were added since.
    fn tokens_now(&self, history: &History) -> Option<u64> {
        let measured = self.measured?;
        let added = history.messages().get(measured.messages..)?;
        let estimates = added.iter().map(|message| message.estimated_tokens());
        Some(measured.tokens + estimates.sum::<u64>())
    }

    /// Returns the tokens that summaries have used since the last call.
    pub(crate) fn take_usage(&mut self) -> TokenUsage {
        std::mem::take(&mut self.usage)
    }
}

impl fmt::Debug for HistoryKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryKeeper")
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}
