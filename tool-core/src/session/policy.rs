//! The settings by which calls are governed.

use crate::call::Mode;
use crate::call::asker::QuestionLimits;
use crate::session::approvals::ApprovalLimits;
use crate::session::caps::{CapScope, SpendingCaps};
use crate::session::circuit_breaker::CircuitBreaker;
use crate::session::search::ToolSearch;
use crate::session::shared_limits::{LimitScope, RateLimit, SharedSettings};
use crate::tool::Category;
use crate::trace::Redaction;
#[cfg(feature = "trace")]
use crate::trace::cost::Cost;
use std::time::Duration;

/// The settings of a session: budgets, deadlines, loop detection, confirmation, and lifetimes.
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
    pub(crate) limits: TurnLimits,
    pub(crate) warn_retrieval_after: Option<Duration>,
    pub(crate) warn_after: Option<Duration>,
    pub(crate) deadline: Duration,
    pub(crate) store_deadline: Duration,
    pub(crate) reads_without_store: bool,
    pub(crate) confirmation_lifetime: Duration,
    /// For each category, whether a person approves each call of its tools.
    pub(crate) confirmed: [bool; 3],
    pub(crate) approvals: ApprovalLimits,
    pub(crate) max_grant_lifetime: Duration,
    pub(crate) max_grants: u32,
    pub(crate) questions: QuestionLimits,
    pub(crate) concurrent_calls: usize,
    pub(crate) blocking_threads: usize,
    pub(crate) session_threads: usize,
    pub(crate) step_calls: usize,
    pub(crate) max_depth: u32,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_sessions: u64,
    pub(crate) full_guides: [bool; 2],
    pub(crate) guides_on_demand: bool,
    pub(crate) result_cache_ttl: Option<Duration>,
    pub(crate) max_tool_steps: u32,
    pub(crate) redaction: Redaction,
    pub(crate) context_window: u64,
    pub(crate) call_history: usize,
    pub(crate) keep_calls_for: Duration,
    /// `None` in most policies, so that calls need not look for caps.
    pub(crate) caps: Option<Box<SpendingCaps>>,
    pub(crate) search: Option<Box<ToolSearch>>,
    /// `None` in most policies, so that calls need not look for shared limits.
    pub(crate) shared: Option<Box<SharedSettings>>,
}

/// The limits of a turn, which the session store enforces. `None` means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnLimits {
    /// The calls that a turn may make in total.
    pub max_calls: Option<u32>,
    /// The calls of retrieval tools that a turn may make.
    pub retrieval: Option<u32>,
    /// The calls of action tools that a turn may make.
    pub action: Option<u32>,
    /// The calls of utility tools that a turn may make.
    pub utility: Option<u32>,
    /// The attempt with equal arguments that is refused, counted from 1.
    pub repeated: Option<u32>,
    /// The number of empty results after which a tool is refused.
    pub empty: Option<u32>,
    /// The turns whose calls the history of a session shows.
    pub history: usize,
}

impl TurnLimits {
    /// Returns the calls of tools of a category that a turn may make.
    pub const fn category(&self, category: Category) -> Option<u32> {
        match category {
            Category::Retrieval => self.retrieval,
            Category::Action => self.action,
            Category::Utility => self.utility,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $($field:ident).+;)*) => {
        $($(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.$($field).+ = $name;
            self
        })*
    };
}

impl Policy {
    /// Returns the policy of spoken conversations: 2 retrieval calls and 3 calls in total a turn, 3
    /// steps of calls a reply, a warning for a retrieval over 800 ms and for any call over 1 s.
    pub fn voice() -> Self {
        let mut policy = Self::base();
        policy.limits.max_calls = Some(3);
        policy.limits.retrieval = Some(2);
        policy.warn_retrieval_after = Some(Duration::from_millis(800));
        policy.warn_after = Some(Duration::from_secs(1));
        policy.guides_on_demand = true;
        policy
    }

    /// Returns the policy of written conversations: 5 retrieval calls a turn, no limit on the
    /// total, 16 steps of calls a reply, and a warning for a retrieval over 2 s.
    pub fn text() -> Self {
        let mut policy = Self::base();
        policy.limits.retrieval = Some(5);
        policy.max_tool_steps = 16;
        policy.warn_retrieval_after = Some(Duration::from_secs(2));
        policy
    }

    fn base() -> Self {
        Self {
            limits: TurnLimits {
                max_calls: None,
                retrieval: None,
                action: None,
                utility: None,
                repeated: Some(3),
                empty: Some(2),
                history: 5,
            },
            warn_retrieval_after: None,
            warn_after: None,
            deadline: Duration::from_secs(30),
            store_deadline: Duration::from_secs(1),
            reads_without_store: false,
            confirmation_lifetime: Duration::from_secs(10 * 60),
            confirmed: [false; 3],
            approvals: ApprovalLimits::default(),
            max_grant_lifetime: Duration::from_secs(3_600),
            max_grants: 16,
            questions: QuestionLimits::default(),
            concurrent_calls: 64,
            blocking_threads: 16,
            session_threads: 4,
            step_calls: 128,
            max_depth: 8,
            idle_timeout: Duration::from_secs(30 * 60),
            max_sessions: 100_000,
            full_guides: [false, true],
            guides_on_demand: false,
            result_cache_ttl: None,
            max_tool_steps: 3,
            redaction: Redaction::new(),
            context_window: 1_000_000,
            call_history: 16 * 1_024,
            keep_calls_for: Duration::from_secs(3_600),
            caps: None,
            search: None,
            shared: None,
        }
    }

    setters! {
        /// Sets the calls that a turn may make in total.
        max_calls: Option<u32> => limits.max_calls;
        /// Sets which attempt with equal arguments is refused as a loop, counted from 1. Defaults
        /// to 3: a turn may repeat a call once.
        repeated_calls: Option<u32> => limits.repeated;
        /// Sets the number of empty results after which a turn may not call the tool again.
        /// Defaults to 2.
        max_empty_results: Option<u32> => limits.empty;
        /// Sets the turns, with the current one, whose calls [`Session::history`](crate::Session::history) returns. Defaults
        /// to 5.
        history: usize => limits.history;
        /// Sets the time after which the response of a retrieval carries a warning.
        warn_retrieval_after: Option<Duration> => warn_retrieval_after;
        /// Sets the time after which the response of any call carries a warning.
        warn_after: Option<Duration> => warn_after;
        /// Sets the deadline of calls whose tool sets no `timeout`. Defaults to 30 s.
        deadline: Duration => deadline;
        /// Sets the time that one operation of the session store may take. Defaults to 1 s.
        store_deadline: Duration => store_deadline;
        /// Lets retrieval tools run without limits while the session store is down. Other tools
        /// never do.
        reads_without_store: bool => reads_without_store;
        /// Sets the time for which a call waits for approval. Defaults to 10 minutes.
        confirmation_lifetime: Duration => confirmation_lifetime;
        /// Sets the calls of one session that may wait for approval at once; further calls are
        /// answered `BUDGET_EXCEEDED`. Defaults to 64.
        max_approvals: u32 => approvals.session;
        /// Sets the calls of one turn that may wait for approval at once. Defaults to 16.
        max_turn_approvals: u32 => approvals.turn;
        /// Sets the bytes that the calls of one session may take while they wait for approval.
        /// Defaults to 2 MiB.
        approval_bytes: usize => approvals.bytes;
        /// Sets the time for which a person may approve calls in advance, with a
        /// [grant](crate::session::CallGrant). Longer ones are shortened to it. Zero allows no grants,
        /// and those that exist cover nothing. Defaults to an hour.
        max_grant_lifetime: Duration => max_grant_lifetime;
        /// Sets the grants that a session may have at once. Defaults to 16.
        max_grants: u32 => max_grants;
        /// Sets the time within which the user must answer a question of a tool
        /// ([`RunContext::ask`](crate::RunContext::ask)), and the user's client a request
        /// ([`RunContext::sample`](crate::RunContext::sample)). The tool may set another. It does
        /// not count toward the deadline of the call. Defaults to 5 minutes.
        question_timeout: Duration => questions.timeout;
        /// Sets the questions that one call may ask the user and the user's client, with those of
        /// the calls that it makes. Further ones fail. Defaults to 8.
        max_questions: u32 => questions.call;
        /// Sets the questions of one session that may wait for the user and the user's client at
        /// once. Further ones fail. Defaults to 16.
        max_waiting_questions: u32 => questions.session;
        /// Sets the tokens of an answer for which a tool may ask the user's model
        /// ([`RunContext::sample`](crate::RunContext::sample)). Requests for more are lowered to
        /// it. Defaults to 4,096.
        max_sampling_tokens: u32 => questions.tokens;
        /// Sets the calls of one session that may run at once; further calls wait. Defaults to 64.
        concurrent_calls: usize => concurrent_calls;
        /// Sets the threads on which `blocking` tools may run at once; further calls wait. Defaults
        /// to 16. A `blocking` tool that waits for another one lends it its place, one call at a time.
        blocking_threads: usize => blocking_threads;
        /// Sets the threads that the `blocking` tools of one session may take of these, so that
        /// calls which never end leave the rest to other sessions. Defaults to 4.
        blocking_threads_per_session: usize => session_threads;
        /// Sets the calls of one step, which is one [`call_all`](crate::Session::call_all) or one
        /// answer of a model. Further calls are answered `BUDGET_EXCEEDED`. Defaults to 128.
        max_step_calls: usize => step_calls;
        /// Sets the depth to which tools may call tools. Defaults to 8.
        max_depth: u32 => max_depth;
        /// Sets the time after which an unused session expires. Defaults to 30 minutes. A session in
        /// memory does not expire while a call runs. In another store, set it to more than the
        /// longest call takes.
        idle_timeout: Duration => idle_timeout;
        /// Sets the sessions that may be open at once. Defaults to 100,000.
        max_sessions: u64 => max_sessions;
        /// Sets the time for which the result of a retrieval answers equal calls of the same
        /// session. Such an answer counts against the budgets and as an attempt, as the call itself
        /// does. Defaults to `None`: results are not cached.
        result_cache_ttl: Option<Duration> => result_cache_ttl;
        /// Sets the steps of tool calls that a reply may take before the model must answer.
        /// Defaults to 3 in voice and 16 in text.
        max_tool_steps: u32 => max_tool_steps;
        /// Sets the rules by which arguments and results are redacted before they are logged or
        /// kept.
        redaction: Redaction => redaction;
        /// Sets the tokens that the model's context can hold. The log warns at 0.9 of them.
        /// Defaults to 1,000,000.
        context_window: u64 => context_window;
        /// Sets the bytes in which the store keeps a session's most recent calls and their
        /// arguments, for
        /// [`Session::history`](crate::Session::history) and [`Session::metrics`](crate::Session::metrics). The store in
        /// memory redacts arguments when they are read, other stores get them redacted. 0 keeps no
        /// calls. Defaults to 16 KiB, which are some hundreds of short calls. In memory each
        /// session has 1 KiB of them, and all sessions share a MiB for the rest.
        call_history: usize => call_history;
        /// Sets the time after a session's end for which [`Runtime::calls`](crate::Runtime::calls)
        /// returns its calls. The store in memory keeps those of 256 sessions at most. Defaults to
        /// an hour.
        keep_calls_for: Duration => keep_calls_for;
    }

    /// Sets the calls of tools of a category that a turn may make.
    pub fn category_budget(mut self, category: Category, calls: Option<u32>) -> Self {
        match category {
            Category::Retrieval => self.limits.retrieval = calls,
            Category::Action => self.limits.action = calls,
            Category::Utility => self.limits.utility = calls,
        }
        self
    }

    /// Makes a person approve each call of the tools of a category. What a tool itself or a hook asks
    /// for is asked too; each condition gives the person its own reason.
    ///
    /// ```
    /// use tool_core::{Category, Policy};
    ///
    /// let policy = Policy::text().confirm_category(Category::Action);
    /// # let _ = policy;
    /// ```
    pub fn confirm_category(mut self, category: Category) -> Self {
        self.confirmed[category as usize] = true;
        self
    }

    /// Returns true if a person approves each call of the tools of a category.
    #[inline]
    pub(crate) fn confirms(&self, category: Category) -> bool {
        self.confirmed[category as usize]
    }

    /// Sets the cost that the calls of a scope may have in total: of the models and services that
    /// tools use, as
    /// [`trace::record`](crate::trace::record), [`observe`](crate::trace::observe) and
    /// [`RunContext::record_cost`](crate::RunContext::record_cost) learn of it. Defaults to no cap.
    ///
    /// A call is refused once its turn, its session or its principal has used the cap. A call that
    /// costs more than was left when it began is cancelled. A cost is known after it arose, so a
    /// scope may exceed its cap by the last use of each running call, and by what calls of other
    /// processes cost that have not ended. What the running calls of a process cost that is killed is never charged: budgets of
    /// calls are charged before a call runs, costs and times when it has ended. Models without a price count as free. The model that
    /// leads the conversation does not count. Sessions under such a cap have spans.
    ///
    /// ```
    /// use tool_core::Policy;
    /// use tool_core::session::CapScope;
    /// use tool_core::trace::Cost;
    ///
    /// let policy = Policy::text()
    ///     .max_cost(CapScope::Call, Some(Cost::micros(50_000)))
    ///     .max_cost(CapScope::Principal, Some(Cost::micros(5_000_000)));
    /// assert_eq!(policy.caps().and_then(|caps| caps.cost(CapScope::Call)), Some(Cost::micros(50_000)));
    /// ```
    #[cfg(feature = "trace")]
    pub fn max_cost(mut self, scope: CapScope, cost: Option<Cost>) -> Self {
        self.caps.get_or_insert_default().set_cost(scope, cost);
        self
    }

    /// Sets the time for which the calls of a scope may run in total. Defaults to no cap.
    ///
    /// A call is refused once its turn, its session or its principal has used the cap, and
    /// otherwise ends when what was left has passed. Calls that run at the same time count one by
    /// one; a call that a tool makes runs in the time of that tool.
    pub fn max_time(mut self, scope: CapScope, time: Option<Duration>) -> Self {
        self.caps.get_or_insert_default().set_time(scope, time);
        self
    }

    /// Sets the time after which the cost and time of a principal count from zero again. It begins
    /// with the first call that is charged. Defaults to a day. The runtime does not build with less
    /// than a second.
    pub fn principal_window(mut self, window: Duration) -> Self {
        self.caps.get_or_insert_default().window = window;
        self
    }

    /// Returns the caps on cost and time, if any were set.
    pub fn caps(&self) -> Option<&SpendingCaps> {
        self.caps.as_deref()
    }

    /// Limits the calls of a scope in a time, over all processes that share the session store. So many
    /// may come at once, and then one for each `per` divided by `calls`. Defaults to no limit.
    ///
    /// A call over the limit does not run: it is answered `RATE_LIMIT`, and reads when to try again.
    /// A call counts when it is about to run, and each automatic retry counts again. The runtime does
    /// not build with a limit that admits nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::Policy;
    /// use tool_core::session::LimitScope;
    ///
    /// let minute = Duration::from_secs(60);
    /// let policy = Policy::text()
    ///     .rate_limit(LimitScope::Principal, 30, minute)
    ///     .rate_limit(LimitScope::tool("send_*"), 5, minute);
    /// # let _ = policy;
    /// ```
    pub fn rate_limit(mut self, scope: LimitScope, calls: u32, per: Duration) -> Self {
        let rate = RateLimit { calls, per };
        self.shared.get_or_insert_default().add_rate(scope, rate);
        self
    }

    /// Limits the calls of a scope that run at once, over all processes that share the session store.
    /// Defaults to no limit.
    ///
    /// A call over the limit does not run: it is answered `RATE_LIMIT`. The place of a call in a
    /// process that was killed is free again after 30 s. Calls that a tool makes take no place of
    /// their principal, as they run in that of the tool.
    ///
    /// ```
    /// use tool_core::Policy;
    /// use tool_core::session::LimitScope;
    ///
    /// let policy = Policy::text().max_concurrent(LimitScope::upstream("github"), 8);
    /// # let _ = policy;
    /// ```
    pub fn max_concurrent(mut self, scope: LimitScope, calls: u32) -> Self {
        let shared = self.shared.get_or_insert_default();
        shared.add_concurrent(scope, calls);
        self
    }

    /// Returns the shared limits and circuit breakers.
    #[inline]
    pub(crate) fn shared_settings(&self) -> &SharedSettings {
        self.shared.as_deref().unwrap_or(SharedSettings::NONE)
    }

    /// Gives each tool or each upstream of a scope a circuit breaker: after failures in a row its
    /// calls do not run for a while. They are answered `TRANSIENT`, and read when to try again.
    /// Defaults to none. See [`CircuitBreaker`].
    pub fn circuit_breaker(mut self, scope: LimitScope, breaker: CircuitBreaker) -> Self {
        let shared = self.shared.get_or_insert_default();
        shared.add_breaker(scope, breaker);
        self
    }

    /// Lets the model search for tools if a session has very many, instead of declaring all of them. Defaults to no search. A
    /// search is a step of a reply, so you may need to raise [`max_tool_steps`](Self::max_tool_steps).
    pub fn search_tools(mut self, search: ToolSearch) -> Self {
        self.search = Some(Box::new(search));
        self
    }

    /// Sets whether the instructions of a session in `mode` contain full guides or their summaries.
    /// Defaults to full guides in text and summaries in voice.
    pub fn full_guides(mut self, mode: Mode, full: bool) -> Self {
        self.full_guides[mode as usize] = full;
        self
    }

    /// Sets whether the model can ask for a tool's full guide if the instructions have summaries only. The control tool
    /// `get_tool_guide` exists if a tool has a guide. Defaults to true in [`voice`](Self::voice), and false in
    /// [`text`](Self::text).
    pub fn guides_on_demand(mut self, yes: bool) -> Self {
        self.guides_on_demand = yes;
        self
    }

    /// Returns the permits that the calls of a session share, one for each concurrent call.
    pub(crate) fn permits(&self) -> u32 {
        u32::try_from(self.concurrent_calls)
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns the limits of a turn.
    pub fn limits(&self) -> &TurnLimits {
        &self.limits
    }
}
