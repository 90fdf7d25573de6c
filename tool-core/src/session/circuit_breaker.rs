//! Circuit breakers: tools and upstreams that fail again and again are not called for a while.

use crate::call::{ErrorKind, ToolResponse};
use crate::session::party::Party;
use crate::time::after;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The settings of circuit breakers.
///
/// A breaker counts the calls that ran and failed, because the tool or what is behind it does not
/// work: `TRANSIENT`, `TIMEOUT`, `RATE_LIMIT`, `INTERNAL` and `UNKNOWN`. After so many in a row
/// within the window it is open: no call runs, and the model reads when to try again. Any other
/// answer shows that the service works, so it begins the count again. After the pause, one call is
/// tried. If it succeeds, the breaker closes, otherwise the pause begins again.
///
/// Each process has its own breakers.
///
/// ```
/// use std::time::Duration;
/// use tool_core::session::{CircuitBreaker, LimitScope};
/// use tool_core::Policy;
///
/// let breaker = CircuitBreaker::new(5).window(Duration::from_secs(60)).pause(Duration::from_secs(30));
/// let policy = Policy::text().circuit_breaker(LimitScope::tool("*"), breaker);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct CircuitBreaker {
    failures: u32,
    window: Duration,
    pause: Duration,
}

impl CircuitBreaker {
    /// Creates the settings of a breaker that opens after so many failures in a row within a minute,
    /// and stays open for 30 s.
    pub const fn new(failures: u32) -> Self {
        Self {
            failures,
            window: Duration::from_secs(60),
            pause: Duration::from_secs(30),
        }
    }

    /// Sets the time in which the failures have to occur. Defaults to a minute.
    pub const fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets the time after which an open breaker lets one call try. Defaults to 30 s.
    pub const fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Returns what is wrong with the settings, and what to do.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if self.failures == 0 || self.failures > MAX_FAILURES {
            return Some("expected 1 to 1,000 failures");
        }
        (self.window.is_zero() || self.pause.is_zero())
            .then_some("expected a window and a pause of more than zero")
    }
}

/// The most failures whose times a breaker keeps.
const MAX_FAILURES: u32 = 1_000;

/// The state of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CircuitState {
    /// Calls run.
    Closed,
    /// No call runs.
    Open,
    /// The pause is over, and the next call is tried, or is running.
    HalfOpen,
}

/// The measurements of one circuit breaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CircuitMetrics {
    /// The kind of its owner: `tool` or `upstream`.
    pub scope: &'static str,
    /// The name of the tool or upstream.
    pub name: String,
    /// The state in this process.
    pub state: CircuitState,
    /// The number of times that it has opened.
    pub opened: u64,
    /// The calls that it has refused.
    pub refused: u64,
}

/// The circuit breakers of a runtime.
#[derive(Default)]
pub(crate) struct Circuits(Mutex<HashMap<CircuitKey, Arc<Circuit>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct CircuitKey {
    kind: &'static str,
    name: Box<str>,
}

/// The breakers from which those without failures are dropped, as sessions may bring tools of any
/// names.
const MAX_QUIET: usize = 1_024;

/// The breaker of one tool or upstream.
pub(crate) struct Circuit {
    kind: &'static str,
    name: Box<str>,
    status: Mutex<CircuitStatus>,
}

#[derive(Default)]
struct CircuitStatus {
    position: Position,
    /// The times of the failures in a row.
    failures: VecDeque<Instant>,
    opened: u64,
    refused: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Position {
    #[default]
    Closed,
    OpenUntil(Instant),
    /// One call is tried.
    Trying,
}

/// A breaker that refuses a call.
pub(crate) struct OpenCircuit {
    /// The time after which a call is tried. `None` while one is.
    pub(crate) tries_in: Option<Duration>,
}

impl Circuits {
    /// Returns the breaker of a tool or an upstream.
    pub(crate) fn of(&self, party: Party<'_>) -> Arc<Circuit> {
        let key = CircuitKey {
            kind: party.kind(),
            name: party.name().into(),
        };
        let mut circuits = self.0.lock();
        let may_grow = circuits.len() >= MAX_QUIET && !circuits.contains_key(&key);
        if may_grow && circuits.len().is_power_of_two() {
            circuits.retain(|_, circuit| Arc::strong_count(circuit) > 1 || !circuit.is_quiet());
        }
        let new = || {
            Arc::new(Circuit {
                kind: party.kind(),
                name: party.name().into(),
                status: Mutex::default(),
            })
        };
        Arc::clone(circuits.entry(key).or_insert_with(new))
    }

    /// Returns the measurements, sorted.
    pub(crate) fn metrics(&self) -> Vec<CircuitMetrics> {
        let now = Instant::now();
        let circuits = self.0.lock().values().cloned().collect::<Vec<_>>();
        let mut all = circuits
            .iter()
            .map(|circuit| circuit.metrics(now))
            .collect::<Vec<_>>();
        all.sort_by(|one, other| (one.scope, &one.name).cmp(&(other.scope, &other.name)));
        all
    }
}

impl Circuit {
    /// Checks that a call may run, and changes nothing.
    pub(crate) fn check(&self, now: Instant) -> Result<(), OpenCircuit> {
        let mut status = self.status.lock();
        let checked = status.check(now);
        if checked.is_err() {
            status.refused += 1;
        }
        checked
    }

    /// Lets a call run. If the pause of an open breaker is over, the call is the one that is tried.
    pub(crate) fn enter(self: &Arc<Self>, now: Instant) -> Result<CircuitPass, OpenCircuit> {
        let mut status = self.status.lock();
        if let Err(open) = status.check(now) {
            status.refused += 1;
            return Err(open);
        }
        let is_trial = status.position != Position::Closed;
        if is_trial {
            status.position = Position::Trying;
        }
        Ok(CircuitPass {
            circuit: Arc::clone(self),
            is_trial,
        })
    }

    fn is_quiet(&self) -> bool {
        let status = self.status.lock();
        status.position == Position::Closed && status.failures.is_empty()
    }

    fn metrics(&self, now: Instant) -> CircuitMetrics {
        let status = self.status.lock();
        let state = match status.position {
            Position::Closed => CircuitState::Closed,
            Position::OpenUntil(until) if until > now => CircuitState::Open,
            Position::OpenUntil(_) | Position::Trying => CircuitState::HalfOpen,
        };
        CircuitMetrics {
            scope: self.kind,
            name: self.name.to_string(),
            state,
            opened: status.opened,
            refused: status.refused,
        }
    }

    fn opened(&self, failures: usize, pause: Duration) {
        let scope = self.kind;
        let name = self.name.escape_debug();
        tracing::warn!(target: "tool_core::circuits", scope, %name, failures, pause_ms = pause.as_millis(), "a circuit breaker has opened");
    }

    fn closed(&self) {
        let scope = self.kind;
        let name = self.name.escape_debug();
        tracing::info!(target: "tool_core::circuits", scope, %name, "a circuit breaker has closed");
    }
}

impl CircuitStatus {
    fn check(&self, now: Instant) -> Result<(), OpenCircuit> {
        let tries_in = match self.position {
            Position::Closed => return Ok(()),
            Position::OpenUntil(until) if until <= now => return Ok(()),
            Position::OpenUntil(until) => Some(until - now),
            Position::Trying => None,
        };
        Err(OpenCircuit { tries_in })
    }

    /// Takes in a failure of a closed breaker. Returns the number of failures if it has opened.
    fn fail(&mut self, settings: &CircuitBreaker, now: Instant) -> Option<usize> {
        while let Some(first) = self.failures.front()
            && now.saturating_duration_since(*first) >= settings.window
        {
            self.failures.pop_front();
        }
        self.failures.push_back(now);
        let count = self.failures.len();
        (count >= settings.failures as usize).then_some(count)
    }

    fn open(&mut self, settings: &CircuitBreaker, now: Instant) {
        self.failures.clear();
        self.position = Position::OpenUntil(after(now, settings.pause));
        self.opened += 1;
    }
}

/// The passage of a call through a breaker, which learns how the call ends. A call that is dropped
/// says nothing, and the next one is tried in its place.
pub(crate) struct CircuitPass {
    circuit: Arc<Circuit>,
    is_trial: bool,
}

impl CircuitPass {
    /// Takes in the end of the call.
    pub(crate) fn end(mut self, outcome: Outcome, settings: &CircuitBreaker, now: Instant) {
        let circuit = Arc::clone(&self.circuit);
        let mut status = circuit.status.lock();
        // A breaker that another call has opened since then stays open.
        let decides = self.is_trial || status.position == Position::Closed;
        match outcome {
            Outcome::Works if self.is_trial => {
                self.is_trial = false;
                status.position = Position::Closed;
                drop(status);
                circuit.closed();
            }
            Outcome::Works if decides => status.failures.clear(),
            Outcome::Failed if self.is_trial => {
                self.is_trial = false;
                status.open(settings, now);
                drop(status);
                circuit.opened(1, settings.pause);
            }
            Outcome::Failed if decides => {
                if let Some(failures) = status.fail(settings, now) {
                    status.open(settings, now);
                    drop(status);
                    circuit.opened(failures, settings.pause);
                }
            }
            Outcome::Works | Outcome::Failed | Outcome::Unknown => {}
        }
    }
}

impl Drop for CircuitPass {
    fn drop(&mut self) {
        if self.is_trial {
            self.circuit.status.lock().position = Position::OpenUntil(Instant::now());
        }
    }
}

/// The judgement of a call's end about its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The tool and what is behind it work.
    Works,
    /// They do not.
    Failed,
    /// Nothing.
    Unknown,
}

impl Outcome {
    /// Judges the response of a tool.
    pub(crate) fn of(response: &ToolResponse, has_run: bool) -> Self {
        if !has_run {
            return Self::Unknown;
        }
        match response.error().map(|error| error.kind) {
            Some(ErrorKind::Cancelled | ErrorKind::BudgetExceeded) => Self::Unknown,
            Some(
                ErrorKind::Transient
                | ErrorKind::Timeout
                | ErrorKind::RateLimit
                | ErrorKind::Internal
                | ErrorKind::Unknown,
            ) => Self::Failed,
            _ => Self::Works,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: CircuitBreaker = CircuitBreaker::new(3);

    fn circuit() -> Arc<Circuit> {
        Circuits::default().of(Party::Tool("search"))
    }

    /// Makes a call. Returns false if the breaker refuses it.
    fn call(circuit: &Arc<Circuit>, outcome: Outcome, now: Instant) -> bool {
        match circuit.enter(now) {
            Ok(pass) => {
                pass.end(outcome, &SETTINGS, now);
                true
            }
            Err(_) => false,
        }
    }

    #[test]
    fn opens_after_failures_in_a_row() {
        let circuit = circuit();
        let now = Instant::now();
        for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Works] {
            assert!(call(&circuit, outcome, now));
        }
        for _ in 0..3 {
            assert!(call(&circuit, Outcome::Failed, now));
        }
        assert!(!call(&circuit, Outcome::Works, now));
        let metrics = circuit.metrics(now);
        assert_eq!(
            (metrics.state, metrics.opened, metrics.refused),
            (CircuitState::Open, 1, 1)
        );
    }

    #[test]
    fn failures_outside_of_the_window_do_not_count() {
        let circuit = circuit();
        let now = Instant::now();
        for at in 0..12 {
            let now = now + SETTINGS.window / 2 * at;
            assert!(call(&circuit, Outcome::Failed, now), "{at}");
        }
    }

    #[test]
    fn one_call_is_tried_after_the_pause() {
        let circuit = circuit();
        let now = Instant::now();
        for _ in 0..3 {
            call(&circuit, Outcome::Failed, now);
        }
        let almost = now + SETTINGS.pause - Duration::from_millis(1);
        let Err(open) = circuit.enter(almost) else {
            panic!("it is open")
        };
        assert_eq!(open.tries_in, Some(Duration::from_millis(1)));

        let later = now + SETTINGS.pause;
        let trial = circuit.enter(later);
        assert!(trial.is_ok_and(|pass| pass.is_trial));
    }

    #[test]
    fn calls_beside_the_trial_are_refused() {
        let circuit = circuit();
        let now = Instant::now();
        for _ in 0..3 {
            call(&circuit, Outcome::Failed, now);
        }
        let later = now + SETTINGS.pause;
        let Ok(trial) = circuit.enter(later) else {
            panic!("the pause is over")
        };
        assert!(circuit.enter(later).is_err());
        trial.end(Outcome::Works, &SETTINGS, later);
        assert!(call(&circuit, Outcome::Works, later));
        assert_eq!(circuit.metrics(later).state, CircuitState::Closed);
    }

    #[test]
    fn trial_that_fails_begins_the_pause_again() {
        let circuit = circuit();
        let now = Instant::now();
        for _ in 0..3 {
            call(&circuit, Outcome::Failed, now);
        }
        let later = now + SETTINGS.pause;
        assert!(call(&circuit, Outcome::Failed, later));
        assert!(!call(&circuit, Outcome::Works, later));
        assert!(call(&circuit, Outcome::Works, later + SETTINGS.pause));
    }

    #[test]
    fn trial_that_is_dropped_makes_room_for_another() {
        let circuit = circuit();
        let now = Instant::now();
        for _ in 0..3 {
            call(&circuit, Outcome::Failed, now);
        }
        let later = now + SETTINGS.pause;
        drop(circuit.enter(later));
        let now = Instant::now() + SETTINGS.pause;
        assert!(call(&circuit, Outcome::Works, now.max(later)));
    }

    #[test]
    fn late_success_does_not_close_an_open_breaker() {
        let circuit = circuit();
        let now = Instant::now();
        let Ok(slow) = circuit.enter(now) else {
            panic!("it is closed")
        };
        for _ in 0..3 {
            call(&circuit, Outcome::Failed, now);
        }
        slow.end(Outcome::Works, &SETTINGS, now);
        assert!(!call(&circuit, Outcome::Works, now));
    }

    #[test]
    fn quiet_breakers_of_many_names_are_dropped() {
        let circuits = Circuits::default();
        let broken = circuits.of(Party::Tool("broken"));
        call(&broken, Outcome::Failed, Instant::now());
        drop(broken);
        for number in 0..5_000 {
            circuits.of(Party::Tool(&number.to_string()));
        }
        assert!(circuits.0.lock().len() <= MAX_QUIET + 1);
        assert!(!circuits.of(Party::Tool("broken")).is_quiet());
    }
}
