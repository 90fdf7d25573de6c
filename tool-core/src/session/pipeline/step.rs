//! The calls of one step of a model, which are made concurrently.

use crate::call::{ToolCall, ToolResponse};
use crate::session::approvals::fresh_id;
use crate::session::history::History;
use crate::session::inner::SessionInner;
use crate::session::pipeline::entry::call;
use crate::session::pipeline::governed_call::canonical_sent_arguments;
use crate::session::pipeline::without_tool;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A call of the step, with warnings about other calls that had its id.
pub(crate) struct StepCall {
    pub(crate) call: ToolCall,
    warnings: Vec<String>,
}

/// Makes the calls of one step: returns a future for each of them, in order.
pub(crate) fn run_step(
    session: &Arc<SessionInner>,
    calls: Vec<StepCall>,
) -> impl Iterator<Item = impl Future<Output = ToolResponse>> {
    let limit = session.policy().step_calls.max(1);
    calls
        .into_iter()
        .enumerate()
        .map(move |(index, step_call)| async move {
            let mut response = match step_call.call {
                admitted if index < limit => call(session, admitted).await,
                call => Box::pin(without_tool::beyond_step(session, &call, limit)).await,
            };
            if !step_call.warnings.is_empty() {
                response.optional_meta().warnings.extend(step_call.warnings);
            }
            response
        })
}

/// Gives an id to calls without one, and keeps the first call of each id.
pub(crate) fn distinct_calls(
    session: &SessionInner,
    calls: impl IntoIterator<Item = ToolCall>,
) -> Vec<StepCall> {
    let mut step: Vec<StepCall> = Vec::new();
    let mut indices: HashMap<Arc<str>, usize> = HashMap::new();
    for mut call in calls {
        if call.id().is_empty() {
            call = call.with_id(format!("call_{}", fresh_id()));
        }
        let Some(index) = indices.get(call.id()) else {
            indices.insert(Arc::clone(call.shared_id()), step.len());
            step.push(StepCall {
                call,
                warnings: Vec::new(),
            });
            continue;
        };
        let first = &mut step[*index];
        // A provider may deliver one call twice.
        if !is_same_call(session, &first.call, &call) {
            first.warnings.push(format!(
                "another call, of `{}`, had the same id `{}` and was not run; send it again with a new id",
                call.name().escape_debug(),
                call.id().escape_debug()
            ));
        }
    }
    step
}

fn is_same_call(session: &SessionInner, one: &ToolCall, other: &ToolCall) -> bool {
    let are_equal = |(_, tool)| {
        let canonical = |call: &ToolCall| canonical_sent_arguments(session, tool, call.arguments());
        canonical(one) == canonical(other)
    };
    one.name() == other.name()
        && (one.arguments() == other.arguments()
            || session.tools.find(one.name()).is_some_and(are_equal))
}

/// Gives a new id to calls without one, and to calls whose id an earlier step has used, as some
/// providers repeat ids. The new ids are the same if an engine runs the reply again.
pub(crate) fn with_fresh_ids(history: &History, mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let present = history.calls().map(ToolCall::id).collect::<HashSet<_>>();
    let removed = history.removed_calls();
    let is_known = |id: &str| present.contains(id) || removed.contains(id);
    let mut taken = calls
        .iter()
        .map(|call| Arc::clone(call.shared_id()))
        .collect::<HashSet<_>>();
    let first_free = history.calls().count() + removed.len() + calls.len();
    let mut free = (first_free..).map(|number| format!("call_{number}"));
    for call in &mut calls {
        if call.id().is_empty() || is_known(call.id()) {
            let id = free.find(|id| !is_known(id) && taken.insert(id.as_str().into()));
            *call = call.clone().with_id(id.unwrap_or_default());
        }
    }
    calls
}
