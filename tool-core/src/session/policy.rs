//! The figures by which calls are governed.

use crate::call::mode::Mode;
use crate::tool::options::Category;
use crate::trace::redaction::Redaction;
use std::time::Duration;

/// How calls are governed: budgets, deadlines, loops, confirmation, sessions. Every figure is a setting.
///
/// ```
/// use std::time::Duration;
/// use tool_core::{Category, Policy};
///
/// let policy = Policy::voice().max_calls(Some(5)).category_budget(Category::Action, Some(1)).deadline(Duration::from_secs(5));
/// assert_eq!(policy.limits().max_calls, Some(5));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    pub(crate) limits: Limits,
    pub(crate) soft: Soft,
    pub(crate) deadline: Duration,
    pub(crate) store_deadline: Duration,
    pub(crate) reads_without_store: bool,
    pub(crate) confirmation: Duration,
    pub(crate) concurrent_calls: usize,
    pub(crate) blocking_threads: usize,
    pub(crate) depth: u32,
    pub(crate) idle: Duration,
    pub(crate) max_sessions: u64,
    pub(crate) full_guides: [bool; 2],
    pub(crate) result_cache_ttl: Option<Duration>,
    pub(crate) max_tool_steps: u32,
    pub(crate) redaction: Redaction,
    pub(crate) context_window: u64,
    pub(crate) call_history: usize,
}

/// The limits of a turn, which the session store upholds. `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The calls that a turn may make in all.
    pub max_calls: Option<u32>,
    /// The calls of retrieval tools that a turn may make.
    pub retrieval: Option<u32>,
    /// The calls of action tools that a turn may make.
    pub action: Option<u32>,
    /// The calls of utility tools that a turn may make.
    pub utility: Option<u32>,
    /// The attempt of a tool with the same arguments that is refused: the third.
    pub repeated: Option<u32>,
    /// The empty results after which a tool is not called again: two.
    pub empty: Option<u32>,
    /// The turns of which a session keeps the history.
    pub history: usize,
}

impl Limits {
    /// The calls of tools of a category that a turn may make.
    pub const fn category(&self, category: Category) -> Option<u32> {
        match category {
            Category::Retrieval => self.retrieval,
            Category::Action => self.action,
            Category::Utility => self.utility,
        }
    }
}

/// How long a call may take before its response says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Soft {
    pub(crate) retrieval: Option<Duration>,
    pub(crate) any: Option<Duration>,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $($field:ident).+;)*) => {
        $($(#[$doc])*
        pub fn $name(mut self, value: $type) -> Self {
            self.$($field).+ = value;
            self
        })*
    };
}

impl Policy {
    /// For spoken conversation: 2 retrieval calls and 3 calls in all a turn; a warning for a retrieval over 800 ms and
    /// for any tool over 1 s.
    pub fn voice() -> Self {
        let limits = Limits { max_calls: Some(3), retrieval: Some(2), ..Limits::OPEN };
        let soft = Soft { retrieval: Some(Duration::from_millis(800)), any: Some(Duration::from_secs(1)) };
        Self { limits, soft, ..Self::base() }
    }

    /// For written conversation: 5 retrieval calls a turn and no limit on all; a warning for a retrieval over 2 s.
    pub fn text() -> Self {
        let limits = Limits { retrieval: Some(5), ..Limits::OPEN };
        let soft = Soft { retrieval: Some(Duration::from_secs(2)), any: None };
        Self { limits, soft, ..Self::base() }
    }

    fn base() -> Self {
        Self {
            limits: Limits::OPEN,
            soft: Soft { retrieval: None, any: None },
            deadline: Duration::from_secs(30),
            store_deadline: Duration::from_secs(1),
            reads_without_store: false,
            confirmation: Duration::from_mins(10),
            concurrent_calls: 64,
            blocking_threads: 16,
            depth: 8,
            idle: Duration::from_mins(30),
            max_sessions: 100_000,
            full_guides: [false, true],
            result_cache_ttl: None,
            max_tool_steps: 3,
            redaction: Redaction::new(),
            context_window: 1_000_000,
            call_history: 1_024,
        }
    }

    settings! {
        /// The calls that a turn may make in all.
        max_calls: Option<u32> => limits.max_calls;
        /// The attempt of a tool with the same arguments that is refused, counted from 1; the third unless told.
        repeated_calls: Option<u32> => limits.repeated;
        /// The empty results of a tool after which a turn does not call it again; two unless told.
        max_empty_results: Option<u32> => limits.empty;
        /// The turns of which a session keeps the history; 5 unless told.
        history: usize => limits.history;
        /// How long a retrieval may take before its response warns.
        soft_retrieval: Option<Duration> => soft.retrieval;
        /// How long any tool may take before its response warns.
        warn_after: Option<Duration> => soft.any;
        /// How long a call may take that sets no `timeout` of its own; 30 s unless told.
        deadline: Duration => deadline;
        /// How long the session store may take for one operation; 1 s unless told.
        store_deadline: Duration => store_deadline;
        /// Whether retrieval tools run, ungoverned, while the session store is down. Other tools never do.
        reads_without_store: bool => reads_without_store;
        /// How long an approval may take; 10 minutes unless told.
        confirmation_lifetime: Duration => confirmation;
        /// The calls of one session that may run at once; others wait. 64 unless told.
        concurrent_calls: usize => concurrent_calls;
        /// The threads on which `blocking` tools may run at once; others wait. 16 unless told.
        blocking_threads: usize => blocking_threads;
        /// How deep tools may call tools; 8 unless told.
        max_depth: u32 => depth;
        /// A session that is not used for this long is over; 30 minutes unless told.
        idle: Duration => idle;
        /// The sessions that may be open at once; 100,000 unless told.
        max_sessions: u64 => max_sessions;
        /// How long the result of an `idempotent` tool answers equal calls of the same session; never unless told.
        result_cache_ttl: Option<Duration> => result_cache_ttl;
        /// The steps of tool calls that a reply may take before it has to be given; 3 unless told.
        max_tool_steps: u32 => max_tool_steps;
        /// What is hidden of arguments and results before they are logged or kept.
        redaction: Redaction => redaction;
        /// The tokens that a model can have before it: a warning at 0.9 of them. 1,000,000 unless told.
        context_window: u64 => context_window;
        /// The bytes in which a session keeps its last calls for [`Session::metrics`](crate::Session::metrics), arguments
        /// and all; 1,024 unless told. They are kept as they came, and redacted when they are read; 0 keeps none.
        call_history: usize => call_history;
    }

    /// The calls of tools of a category that a turn may make.
    pub fn category_budget(mut self, category: Category, calls: Option<u32>) -> Self {
        match category {
            Category::Retrieval => self.limits.retrieval = calls,
            Category::Action => self.limits.action = calls,
            Category::Utility => self.limits.utility = calls,
        }
        self
    }

    /// Whether the instructions of a session in `mode` hold the guides in full, or their summaries. In full for text
    /// and summaries for voice unless told.
    pub fn full_guides(mut self, mode: Mode, full: bool) -> Self {
        self.full_guides[mode as usize] = full;
        self
    }

    /// The limits of a turn.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl Limits {
    const OPEN: Self = Self {
        max_calls: None,
        retrieval: None,
        action: None,
        utility: None,
        repeated: Some(3),
        empty: Some(2),
        history: 5,
    };
}
