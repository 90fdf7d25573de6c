//! Around the whole way: the span of the call, where somebody looks.

use super::How;
use crate::call::ToolCall;
use crate::response::ToolResponse;
use crate::runtime::session::Core;
use crate::trace;
use std::sync::Arc;

pub(super) async fn run(core: &Arc<Core>, call: ToolCall, how: Option<Box<How>>) -> ToolResponse {
    let call_id = Arc::clone(call.shared_id());
    match core.toolbox.find(call.name()) {
        Some((_, tool)) => {
            let tool = tool.clone();
            trace::of_call(&tool, Some(&call_id), super::governed(core, call, how)).await
        }
        // A name that nobody knows gets no span of its own, as a model may make up any number of them.
        None => super::governed(core, call, how).await,
    }
}
