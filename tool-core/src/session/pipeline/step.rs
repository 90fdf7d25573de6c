//! The calls of one step: concurrent, with one response for each id.

use crate::call::{ToolCall, ToolResponse};
use crate::session::approvals::fresh_id;
use crate::session::inner::SessionInner;
use crate::session::pipeline::call::call;
use crate::session::pipeline::cx::canonical_sent_arguments;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::Arc;

/// A call of the step, with warnings about other calls that had its id.
struct StepCall {
    call: ToolCall,
    warnings: Vec<String>,
}

/// Makes the calls of one step.
pub(crate) async fn call_all(session: &Arc<SessionInner>, calls: Vec<ToolCall>) -> Vec<ToolResponse> {
    let step = distinct_calls(session, calls);
    join_all(step.into_iter().map(|step_call| async move {
        let mut response = call(session, step_call.call).await;
        if !step_call.warnings.is_empty() {
            response.optional_meta().warnings.extend(step_call.warnings);
        }
        response
    }))
    .await
}

/// Gives an id to calls without one, and keeps the first call of each id.
fn distinct_calls(session: &SessionInner, calls: Vec<ToolCall>) -> Vec<StepCall> {
    let mut step: Vec<StepCall> = Vec::with_capacity(calls.len());
    let mut indices: HashMap<Arc<str>, usize> = HashMap::new();
    for mut call in calls {
        if call.id().is_empty() {
            call = call.with_id(format!("call_{}", fresh_id()));
        }
        let Some(index) = indices.get(call.id()) else {
            indices.insert(Arc::clone(call.shared_id()), step.len());
            step.push(StepCall { call, warnings: Vec::new() });
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
    if one.name() != other.name() {
        return false;
    }
    one.arguments() == other.arguments()
        || session.tools.find(one.name()).is_some_and(|(_, tool)| {
            let canonical = |call: &ToolCall| canonical_sent_arguments(session, tool, call.arguments());
            canonical(one) == canonical(other)
        })
}

/// Groups calls by their id, so that the response of each id is known as soon as its call has ended.
pub(crate) fn by_id(calls: Vec<ToolCall>) -> Vec<Vec<ToolCall>> {
    let mut groups = Vec::<Vec<ToolCall>>::new();
    for call in calls {
        match groups.iter_mut().find(|group| group[0].id() == call.id()) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
    }
    groups
}
