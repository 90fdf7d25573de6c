//! The Model Context Protocol, from the server's side: requests are calls, and results are answers to them. A request of
//! [`Request`](crate::Request) writes the result of `tools/list`.
//!
//! `tool_adapters::mcp` has a whole server.

pub mod messages;
pub mod output_schema;

#[cfg(test)]
mod tests;

use crate::mcp::messages::McpReader;
use crate::schema::rules::SchemaForm;
use crate::spec::{Endpoint, ProviderSpec, ToolListForm};
use crate::tool_names::NameRule;

/// The facts of the Model Context Protocol.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "mcp",
    otel_name: "mcp",
    biller: None,
    manifest_key: "mcp",
    endpoint: Endpoint::ToolServer,
    urls: None,
    reader: || Box::<McpReader>::default(),
    encode: messages::encode,
    request: messages::request,
    declaration: messages::declaration,
    names: NameRule {
        punctuation: ".-",
        any_first: true,
        max_length: 128,
    },
    schema: SchemaForm::AsIs,
    property_names: None,
    strict: None,
    repeats_refusals: false,
    answer_form: None,
    tool_list: ToolListForm::Flat,
    max_tools: None,
    search_tool: None,
    request_settings: |_| None,
};
