//! The Model Context Protocol, from the server's side: requests are calls, and results are answers
//! to them. A request of
//! [`Request`](crate::Request) writes the result of `tools/list`.
//!
//! `tool_adapters::mcp` has a whole server.

pub mod messages;
pub mod output_schema;

#[cfg(test)]
mod tests;

use crate::mcp::messages::McpReader;
use crate::schema::rules::SchemaForm;
use crate::spec::{Endpoint, MessageForm, ProviderNames, ProviderSpec};
use crate::tool_names::NameRule;

/// The facts of the Model Context Protocol.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    declaration: messages::declaration,
    tool_names: NameRule {
        punctuation: ".-",
        any_first: true,
        max_length: 128,
    },
    schema: SchemaForm::AsIs,
    ..ProviderSpec::new(
        ProviderNames::of("mcp"),
        Endpoint::ToolServer,
        MessageForm {
            reader: || Box::<McpReader>::default(),
            encode: messages::encode,
            request: messages::request,
            has_form: |_| false,
        },
    )
};
