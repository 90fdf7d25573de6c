//! The calls of one step: side by side, one answer for each id. L22

use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::session::approvals::fresh_id;
use crate::session::pipeline::canonical_of_sent;
use crate::session::session::Core;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::Arc;

/// A call, and what to say of others that came under its id.
struct Planned {
    call: ToolCall,
    left_out: Vec<String>,
}

pub(crate) async fn call_all(core: &Arc<Core>, calls: Vec<ToolCall>) -> Vec<ToolResponse> {
    let planned = plan(core, calls);
    join_all(planned.into_iter().map(|planned| async move {
        let mut response = core.call(planned.call).await;
        if !planned.left_out.is_empty() {
            response.rare().warnings.extend(planned.left_out);
        }
        response
    }))
    .await
}

/// Gives ids to calls that have none, and keeps the first call of each id.
fn plan(core: &Core, calls: Vec<ToolCall>) -> Vec<Planned> {
    let mut planned: Vec<Planned> = Vec::with_capacity(calls.len());
    let mut ids: HashMap<Arc<str>, usize> = HashMap::new();
    for mut call in calls {
        if call.id().is_empty() {
            call = call.with_id(format!("call_{}", fresh_id()));
        }
        match ids.get(call.id()).and_then(|at| planned.get_mut(*at)) {
            None => {
                ids.insert(Arc::clone(call.shared_id()), planned.len());
                planned.push(Planned { call, left_out: Vec::new() });
            }
            // The same call delivered twice is one call.
            Some(first) if same(core, &first.call, &call) => {}
            Some(first) => first.left_out.push(format!(
                "another call, of `{}`, came under the same id `{}` and was not run; send it again under an id of its own",
                call.name().escape_debug(),
                call.id().escape_debug()
            )),
        }
    }
    planned
}

fn same(core: &Core, one: &ToolCall, other: &ToolCall) -> bool {
    if one.name() != other.name() {
        return false;
    }
    one.arguments() == other.arguments()
        || core.toolbox.find(one.name()).is_some_and(|(_, tool)| {
            let canonical = |call: &ToolCall| canonical_of_sent(core, tool, call.arguments());
            canonical(one) == canonical(other)
        })
}
