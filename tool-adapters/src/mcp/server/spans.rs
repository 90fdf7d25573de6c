//! The trace that a client's call is part of, and what the call's span says of the protocol.

use crate::mcp::server::connection::Connection;
use crate::mcp::server::parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tool_core::text::hex;
use tool_core::trace;
use tool_core::trace::DistributedContext;

/// Runs `work`, which answers a `tools/call`: the call's span is in the client's, and says what request it answers.
pub(crate) async fn of_call<F: Future>(
    connection: &Connection,
    context: &RequestContext<RoleServer>,
    work: F,
) -> F::Output {
    let said = trace::attributed(attributes(connection, context), work);
    trace::import(parent(connection, context), said).await
}

/// The client's span. For whom it works is not believed unless the host does. S9
fn parent(connection: &Connection, context: &RequestContext<RoleServer>) -> DistributedContext {
    let pairs = context.meta.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    if connection.shared.settings.trust_baggage {
        return DistributedContext::from_trusted_pairs(pairs);
    }
    let mut parent = DistributedContext::from_pairs(pairs);
    // Nor is it for anybody to say that what is done for them is not exported.
    parent.sampled = None;
    parent
}

/// Which session it is, without its id: whoever has that speaks for the session.
fn fingerprint(session: &str) -> String {
    hex(Sha256::digest(session).get(..8).unwrap_or_default())
}

fn attributes(connection: &Connection, context: &RequestContext<RoleServer>) -> Vec<(&'static str, Value)> {
    let mut attributes =
        vec![("mcp.method.name", "tools/call".into()), ("jsonrpc.request.id", context.id.to_string().into())];
    if let Some(version) = context.protocol_version() {
        attributes.push(("mcp.protocol.version", version.as_str().into()));
    }
    let http = parts(context);
    let session = http.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
    attributes.extend(session.map(|session| ("mcp.session.id", fingerprint(session).into())));
    let transport = if http.is_some() { Some("tcp") } else { connection.transport };
    attributes.extend(transport.map(|transport| ("network.transport", transport.into())));
    attributes
}
