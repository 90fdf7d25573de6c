//! The passage of a call through its circuit breakers and the limits that all sessions share.

use crate::call::{ToolError, ToolResponse};
use crate::session::circuit_breaker::{CircuitBreaker, CircuitPass, OpenCircuit, Outcome};
use crate::session::party::Party;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::permit::{Permit, in_seconds, refused};
use crate::session::shared_limits::{CallLimit, SharedSettings};
use crate::session::store::{PermitVerdict, StoreError};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// A call that has passed its circuit breakers and shared limits.
#[derive(Default)]
pub(crate) struct Passage<'a> {
    circuits: Vec<PassedCircuit>,
    limits: Vec<CallLimit<'a>>,
    permit: Option<Permit>,
}

/// A circuit breaker that has let the call pass.
struct PassedCircuit {
    pass: CircuitPass,
    settings: CircuitBreaker,
}

/// Returns the settings that hold for a call, if it may have limits or circuit breakers. The
/// runtime's own tools have none.
#[inline]
fn settings<'a>(call: &GovernedCall<'a>) -> Option<&'a SharedSettings> {
    let shared = call.policy.shared_settings();
    let is_limited =
        shared.may_limit(call.tool.definition()) && !call.session.tools.is_own(call.index);
    is_limited.then_some(shared)
}

/// Returns true if a call may have circuit breakers or shared limits. It cannot run at once: it has
/// to [enter](enter) first.
#[inline]
pub(crate) fn has_limits(call: &GovernedCall<'_>) -> bool {
    settings(call).is_some()
}

/// Checks that no circuit breaker of a call is open.
pub(crate) fn check(call: &GovernedCall<'_>) -> Result<(), ToolError> {
    let Some(shared) = settings(call) else {
        return Ok(());
    };
    let now = Instant::now();
    for (party, _) in shared.breakers(call.tool.definition()) {
        let circuit = call.session.runtime.circuits.of(party);
        circuit
            .check(now)
            .map_err(|open| unavailable(party, &open))?;
    }
    Ok(())
}

/// Takes a call that is about to run through its circuit breakers and shared limits. Returns `None`
/// if it has none. `without_store` decides about a call while the store is down.
pub(crate) async fn enter<'a>(
    call: &GovernedCall<'a>,
    without_store: impl Fn(&StoreError) -> Result<(), ToolError>,
) -> Result<Option<Passage<'a>>, ToolError> {
    let Some(shared) = settings(call) else {
        return Ok(None);
    };
    let tool = call.tool.definition();
    let mut passage = Passage::default();

    let now = Instant::now();
    for (party, settings) in shared.breakers(tool) {
        let circuit = call.session.runtime.circuits.of(party);
        let pass = circuit
            .enter(now)
            .map_err(|open| unavailable(party, &open))?;
        passage.circuits.push(PassedCircuit {
            pass,
            settings: settings.clone(),
        });
    }

    let is_nested = call.request.depth() > 0;
    passage.limits = shared.limits_of(tool, &call.session.principal, is_nested);
    if !passage.limits.is_empty() {
        passage.permit = acquire(call, &passage.limits, without_store).await?;
    }
    Ok(Some(passage))
}

/// Asks the store for a permit. Returns `None` if the store is down, and the call may run without.
async fn acquire(
    call: &GovernedCall<'_>,
    limits: &[CallLimit<'_>],
    without_store: impl Fn(&StoreError) -> Result<(), ToolError>,
) -> Result<Option<Permit>, ToolError> {
    let deadline = call.policy.store_deadline;
    let mut permit = Permit::new(&call.session.runtime, limits, deadline);
    match permit.acquire().await {
        Ok(PermitVerdict::Granted) => Ok(Some(permit)),
        Ok(PermitVerdict::Refused(refusal)) => Err(refused(limits, refusal)),
        Err(error) => {
            without_store(&error)?;
            Ok(None)
        }
    }
}

/// Does the work of a call, and keeps its places meanwhile.
pub(crate) async fn held(
    passage: Option<&Passage<'_>>,
    work: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let Some(permit) = passage.and_then(|passage| passage.permit.as_ref()) else {
        return work.await;
    };
    match select(pin!(work), pin!(permit.keep_places())).await {
        Either::Left((response, _)) => response,
        Either::Right(((), work)) => work.await,
    }
}

impl Passage<'_> {
    /// Counts another attempt of the call under its rates. Returns false if it may not run.
    pub(crate) async fn count_attempt(&self) -> bool {
        match &self.permit {
            Some(permit) => permit.count_attempt(&self.limits).await,
            None => true,
        }
    }

    /// Tells the circuit breakers how the call has ended, and frees its places.
    pub(crate) async fn end(self, call: &GovernedCall<'_>, response: &ToolResponse) {
        let outcome = Outcome::of(response, call.has_run.load(Ordering::Relaxed));
        let now = Instant::now();
        for PassedCircuit { pass, settings } in self.circuits {
            pass.end(outcome, &settings, now);
        }
        if let Some(permit) = self.permit {
            permit.release().await;
        }
    }
}

/// The time after which to ask again while a call is tried.
const TRIAL: Duration = Duration::from_secs(1);

/// Describes an open circuit breaker to the model.
fn unavailable(party: Party<'_>, open: &OpenCircuit) -> ToolError {
    let who = party.failing();
    let wait = open.tries_in.unwrap_or(TRIAL);
    let message = format!(
        "{who} has failed several times in a row, so no call is made for now. Nothing was done; try again in {}, or go on \
         without it.",
        in_seconds(wait)
    );
    ToolError::transient(message).retry_after(wait)
}
