//! Around the whole way: the span of the call and its log lines, where somebody looks. R-M2

use crate::call::meta::milliseconds;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::session::pipeline;
use crate::session::pipeline::How;
use crate::session::session::Core;
use crate::text::truncate;
use crate::tool::dispatch;
use std::sync::Arc;
use tracing::Level;

/// The target of all lines about calls.
const TARGET: &str = "tool_core::calls";

/// The characters of a name or an id that are shown, and of arguments.
const NAME: usize = 128;
const ARGUMENTS: usize = 4_000;

pub(crate) async fn run(core: &Arc<Core>, call: ToolCall, how: Option<Box<How>>) -> ToolResponse {
    let known = core.toolbox.find(call.name()).map(|(_, tool)| tool.clone());
    let told = Told::of(core, &call);
    let Some(tool) = known else {
        // A name that nobody knows gets no span of its own, as a model may make up any number of them.
        told.started(core, &call);
        return told.completed(pipeline::governed(core, call, how).await);
    };
    let call_id = Arc::clone(call.shared_id());
    let work = async {
        told.started(core, &call);
        let redaction = &core.policy().redaction;
        dispatch::keep_arguments(call.arguments(), Some(redaction));
        let response = told.completed(pipeline::governed(core, call, how).await);
        dispatch::keep_result(&response, Some(redaction));
        response
    };
    dispatch::of_call(&tool, Some(&call_id), work).await
}

/// A call whose beginning is told, and whose end therefore is told as well.
struct Told(Option<Names>);

struct Names {
    tool: String,
    call_id: String,
    session: String,
}

/// What a model or a host made up: on one line, and no novel.
fn shown(name: &str) -> String {
    truncate(&name.escape_debug().to_string(), NAME)
}

impl Told {
    /// Nothing where nobody listens.
    fn of(core: &Core, call: &ToolCall) -> Self {
        let heard = tracing::enabled!(target: TARGET, Level::INFO);
        Self(heard.then(|| Names {
            tool: shown(call.name()),
            call_id: shown(call.id()),
            session: shown(core.id.as_str()),
        }))
    }

    fn started(&self, core: &Core, call: &ToolCall) {
        let Some(Names { tool, call_id, session }) = &self.0 else { return };
        tracing::info!(target: TARGET, tool, call_id, session, "tool call started");
        if tracing::enabled!(target: TARGET, Level::DEBUG) {
            let arguments = core.policy().redaction.json_up_to(call.arguments(), ARGUMENTS);
            tracing::debug!(target: TARGET, tool, call_id, session, arguments, "tool call arguments");
        }
    }

    fn completed(mut self, response: ToolResponse) -> ToolResponse {
        let Some(Names { tool, call_id, session }) = self.0.take() else { return response };
        let (meta, error_type) = (response.meta(), response.error().map(|error| error.kind.as_str()));
        let (ok, size_chars) = (response.is_ok(), meta.size_chars());
        let duration_ms = milliseconds(meta.duration());
        tracing::info!(
            target: TARGET, tool, call_id, session, ok, error_type, duration_ms, size_chars, "tool call completed"
        );
        let (bytes, tokens) = (response.data_json().map_or(0, str::len), meta.token_estimate());
        tracing::debug!(target: TARGET, tool, call_id, session, size_chars, bytes, tokens, "tool call result");
        response
    }
}

impl Drop for Told {
    /// Nobody waited for the answer.
    fn drop(&mut self) {
        if let Some(Names { tool, call_id, session }) = self.0.take() {
            tracing::info!(target: TARGET, tool, call_id, session, "tool call dropped");
        }
    }
}
