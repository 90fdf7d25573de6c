//! The fifth step: the gate between sound arguments and the method. Loop, then budget, as one question to the store.

use crate::arguments::equality::Fingerprint;
use crate::call::error::{ErrorKind, ToolError};
use crate::session::pipeline::execute::{given_up, still_wanted};
use crate::session::pipeline::{Governed, over, record};
use crate::session::running::Entry;
use crate::session::session::Core;
use crate::session::store::admission::{Admission, BudgetLimit, Charge, Refusal, Settlement, Verdict};
use crate::session::store::{Operation, StoreError};
use crate::tool::function::FunctionTool;
use crate::tool::invocation;
use crate::tool::options::{Category, Confirm, OnDuplicate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

/// Asked by the wrapper, once it has decoded.
pub(crate) struct Gate<'a> {
    call: &'a Governed<'a>,
    /// Whether a call that is admitted has to be stopped all the same, because somebody is to be waited for.
    stops: bool,
    /// One more than the turn in which the call was admitted.
    turn: AtomicU64,
    rest: Mutex<Rest<'a>>,
}

#[derive(Default)]
struct Rest<'a> {
    held: Option<Held>,
    /// The call's place among those that run, where its tool minds duplicates.
    entry: Option<Entry<'a>>,
    confirm_duplicate: bool,
    /// The store was down, and the call runs all the same.
    ungoverned: bool,
}

/// Why the gate stopped a call.
pub(crate) enum Held {
    /// The store answers later: to be asked with this charge.
    Asks(Charge),
    /// It may not run.
    Refused(ToolError),
    /// It may not run beside another call.
    Duplicates(ToolError),
    /// A person has to agree.
    Confirms,
    /// It may run, and somebody is to be waited for.
    Admitted,
}

impl<'a> Gate<'a> {
    #[inline]
    pub(crate) fn new(call: &'a Governed<'a>) -> Self {
        let shared = &call.core.shared;
        let waits = !shared.hooks.is_empty() || shared.journal.is_some() || call.definition().flags.blocking;
        let stops = waits || record::applies(call) || call.approval.is_some();
        Self { call, stops, turn: AtomicU64::new(0), rest: Mutex::default() }
    }

    fn rest(&self) -> std::sync::MutexGuard<'_, Rest<'a>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn in which the call was admitted; `None` where it was not.
    #[inline]
    pub(crate) fn turn(&self) -> Option<u64> {
        self.turn.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn admitted(&self, turn: u64) {
        self.turn.store(turn + 1, Ordering::Relaxed);
    }

    /// The model says whether a call is to run beside one that runs already.
    pub(crate) fn confirm_duplicate(&self, yes: Option<bool>) {
        self.rest().confirm_duplicate = yes == Some(true);
    }

    /// Whether the call runs without limits, because the store was down.
    pub(crate) fn ungoverned(&self) -> bool {
        self.rest().ungoverned
    }

    pub(crate) fn take_held(&self) -> Option<Held> {
        self.rest().held.take()
    }

    pub(crate) fn take_entry(&self) -> Option<Entry<'a>> {
        // Only tools that mind duplicates have claimed a place.
        if self.call.definition().on_duplicate == OnDuplicate::Allow { None } else { self.rest().entry.take() }
    }

    #[inline]
    pub(crate) fn admission<'b>(&'b self, arguments: Fingerprint<'b>, charge: Charge) -> Admission<'b> {
        admission(self.call.core, self.call.tool, arguments, charge, self.call.began)
    }

    /// Asks the store and waits for what it says.
    pub(crate) async fn ask(&self, admission: &Admission<'_>) -> Result<(), ToolError> {
        let said = self.call.core.store(self.call.core.record.admit(admission)).await;
        self.heed(said, admission.charge)
    }

    /// The same for a call that is charged. The store is asked by a task of its own, so that its answer is heard even
    /// if nobody waits for it any more, and what it charged is given back.
    pub(crate) async fn ask_for(&self, text: &str, charge: Charge) -> Result<Refund, ToolError> {
        let (core, tool, text) = (Arc::clone(self.call.core), self.call.tool.clone(), text.to_owned());
        let now = self.call.began;
        let asked = tokio::spawn(
            async move {
                let arguments = Fingerprint::of(tool.definition().body.parameters(), tool.name(), &text);
                let admission = admission(&core, &tool, arguments, charge, now);
                // To its end, however late: what is charged by then is given back.
                let said = core.record.admit(&admission).await;
                let charged = matches!(charge, Charge::Run | Charge::Approved);
                let turn = match said {
                    Ok(Verdict::Admitted { turn }) if charged => Some(turn),
                    _ => None,
                };
                (said, Refund::new(&core, &tool, turn))
            }
            .in_current_span(),
        );
        let Ok(asked) = timeout(self.call.policy().store_deadline, asked).await else {
            return self.without_store(&StoreError::late()).map(|()| Refund::of(self.call, None));
        };
        let (said, refund) = asked.map_err(|error| ToolError::internal(error.to_string()))?;
        self.heed(said, charge)?;
        Ok(refund)
    }

    fn heed(&self, said: Result<Verdict, StoreError>, charge: Charge) -> Result<(), ToolError> {
        match said {
            Ok(Verdict::Admitted { turn }) => {
                if matches!(charge, Charge::Run | Charge::Approved) {
                    self.admitted(turn);
                }
                Ok(())
            }
            Ok(Verdict::Refused(refusal)) => Err(refused(self.call, &refusal)),
            Ok(Verdict::Inactive) => Err(over()),
            Err(error) => self.without_store(&error),
        }
    }

    /// The store is down: what only reads may run, where the policy says so.
    fn without_store(&self, error: &StoreError) -> Result<(), ToolError> {
        let call = self.call;
        tracing::error!(session = %call.core.id.as_str().escape_debug(), %error, "a call could not be admitted");
        if call.definition().category == Category::Retrieval && call.policy().reads_without_store {
            self.rest().ungoverned = true;
            return Ok(());
        }
        let message =
            "the limits of this session cannot be checked at the moment, so nothing was done; try again later";
        Err(ToolError::transient(message))
    }

    #[inline]
    fn charge(&self, text: &str) -> Charge {
        if self.call.core.toolbox.is_companion(self.call.at) {
            Charge::Free
        } else if self.call.approval.is_some() {
            Charge::Approved
        } else if self.confirms(text) {
            Charge::Hold
        } else {
            Charge::Run
        }
    }

    #[inline]
    fn confirms(&self, text: &str) -> bool {
        match self.call.definition().confirm {
            Confirm::Never => false,
            Confirm::Always => true,
            // What cannot be decided is for a person to decide.
            Confirm::When(decides) => catch_unwind(AssertUnwindSafe(|| decides(text))).unwrap_or(true),
        }
    }

    /// Whether nobody has cancelled the call while it waited to run.
    pub(crate) fn still_wanted(&self) -> Result<(), ToolError> {
        let cancelled = self.rest().entry.as_ref().is_some_and(|entry| entry.token.is_cancelled());
        if cancelled { Err(given_up(self.call).did_not_run()) } else { still_wanted(self.call) }
    }

    /// The call is about to run: those that it replaces do not go on. L17
    #[inline]
    pub(crate) fn replace(&self) {
        if self.call.definition().on_duplicate == OnDuplicate::Replace
            && let Some(entry) = &self.rest().entry
        {
            entry.replace();
        }
    }

    fn hold(&self, held: Held) -> bool {
        self.rest().held = Some(held);
        false
    }

    /// Claims a place among the calls that run, for a tool that minds duplicates.
    #[cold]
    fn claim(&self, arguments: &Fingerprint<'_>) -> Result<(), ToolError> {
        let call = self.call;
        let mut rest = self.rest();
        // A second start of the same call has its place already.
        if rest.entry.is_none() {
            // A person who agreed to the call agreed to it as it was asked for.
            let confirmed = rest.confirm_duplicate || call.approval.is_some();
            let fingerprint = arguments.fast();
            let running = &call.core.running;
            let entry = running.claim(call.call_id, call.tool, fingerprint, call.scope(), confirmed, call.epoch)?;
            rest.entry = Some(entry);
        }
        Ok(())
    }
}

/// What the store is asked.
#[inline]
fn admission<'a>(
    core: &'a Core,
    tool: &'a FunctionTool,
    arguments: Fingerprint<'a>,
    charge: Charge,
    now: Instant,
) -> Admission<'a> {
    Admission {
        tool: tool.name(),
        name: Some(&tool.definition().name),
        category: tool.definition().category(),
        arguments,
        charge,
        limits: core.policy().limits(),
        max_calls: tool.definition().max_calls(),
        now,
    }
}

impl invocation::Gate for Gate<'_> {
    #[inline]
    fn pass(&self, text: &str) -> bool {
        let call = self.call;
        let arguments = Fingerprint::of(call.definition().parameters(), call.tool.name(), text);
        if call.definition().on_duplicate != OnDuplicate::Allow
            && let Err(error) = self.claim(&arguments)
        {
            return self.hold(Held::Duplicates(error));
        }
        let admission = self.admission(arguments, self.charge(text));
        let Operation::Ready(said) = call.core.record.admit(&admission) else {
            return self.hold(Held::Asks(admission.charge));
        };
        match self.heed(said, admission.charge) {
            Err(error) => self.hold(Held::Refused(error)),
            Ok(()) if admission.charge == Charge::Hold => self.hold(Held::Confirms),
            Ok(()) if self.stops => self.hold(Held::Admitted),
            Ok(()) => {
                self.replace();
                true
            }
        }
    }
}

// ---- The budget of a call that was admitted and does not run: given back, also when the caller is gone.

/// Gives a call's budget back when it is dropped, unless it was told to keep it.
pub(crate) struct Refund {
    core: Arc<Core>,
    tool: FunctionTool,
    /// In which the call was charged.
    turn: Option<u64>,
    kept: AtomicBool,
}

impl Refund {
    /// `turn`: in which the call was charged; nothing is given back where it was not.
    pub(crate) fn new(core: &Arc<Core>, tool: &FunctionTool, turn: Option<u64>) -> Self {
        Self { core: Arc::clone(core), tool: tool.clone(), turn, kept: AtomicBool::new(false) }
    }

    pub(crate) fn of(call: &Governed<'_>, turn: Option<u64>) -> Self {
        Self::new(call.core, call.tool, turn)
    }

    /// The call runs.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// The call does not run, unless it was said to.
    pub(crate) async fn give(mut self) {
        if let Some(given) = self.begin() {
            // A task of its own: whoever waits for it may be gone before it is done.
            let _ = given.await;
        }
    }

    /// Gives back once; by a task where the store answers later.
    fn begin(&mut self) -> Option<JoinHandle<()>> {
        let turn = self.turn.take().filter(|_| !self.kept.load(Ordering::Relaxed))?;
        match self.core.record.settle(&settlement(&self.tool, turn)) {
            Operation::Ready(done) => {
                told(done);
                None
            }
            Operation::Later(_) => {
                let (core, tool) = (Arc::clone(&self.core), self.tool.clone());
                let work = async move { told(core.store(core.record.settle(&settlement(&tool, turn))).await) };
                Some(Handle::try_current().ok()?.spawn(work.in_current_span()))
            }
        }
    }
}

impl Drop for Refund {
    fn drop(&mut self) {
        drop(self.begin());
    }
}

fn settlement(tool: &FunctionTool, turn: u64) -> Settlement<'_> {
    let category = tool.definition().category();
    Settlement { tool: tool.name(), category, turn, refund: true, ..Settlement::default() }
}

fn told(done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::error!(%error, "a budget was not given back");
    }
}

// ---- What a refusal of the store tells the model.

/// What a refusal tells the model. R-B2, R-L1, R-L2
#[cold]
pub(crate) fn refused(call: &Governed<'_>, refusal: &Refusal) -> ToolError {
    let tool = call.tool.name();
    let (kind, message) = match refusal {
        Refusal::Repeated(count) => (
            ErrorKind::LoopDetected,
            format!(
                "Loop detected: {tool} called {count} times with identical arguments. \
                 Try a different approach or rephrase your query."
            ),
        ),
        Refusal::Empty(count) => (
            ErrorKind::LoopDetected,
            format!(
                "{tool} returned empty results {count} times. \
                 Data may not exist. Try different search terms or a different tool."
            ),
        ),
        Refusal::Budget { limit, used, of } => {
            let what = match limit {
                BudgetLimit::Tool => format!("calls of `{tool}`"),
                BudgetLimit::Category(category) => format!("{} calls", category.as_str()),
                BudgetLimit::Total => "calls".to_owned(),
            };
            let mode = call.core.mode.as_str();
            let message = format!(
                "budget exceeded: {used} of {of} {what} of this {mode} turn are used; the count resets at the next turn. \
                 Answer with what you have."
            );
            (ErrorKind::BudgetExceeded, message)
        }
    };
    ToolError::new(kind, message, false)
}
