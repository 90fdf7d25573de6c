//! `tools/list`, and the responses of tools as results of `tools/call`.

use crate::mcp::server::pages::{Page, cache_hints};
use crate::providers::mcp::output_schema;
use crate::providers::request::{embedded_data, name_of_data};
use crate::providers::{Provider, declare};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ListToolsResult, Resource, ResourceContents, Tool};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;
use tool_core::call::{OutputKind, ResultForm};
use tool_core::session::SEARCH_TOOL;
use tool_core::{Content, Session, ToolContext, ToolResponse};

/// The declarations of a context as rmcp's type, converted once.
#[derive(Default)]
struct ListedTools {
    all: OnceLock<Vec<Tool>>,
    /// The tools of whose arguments some are headers of a request.
    with_headers: OnceLock<HashSet<String>>,
}

/// Returns one page of the list.
pub(crate) fn page(session: &Session, cursor: Option<&str>, with_hints: bool) -> Result<ListToolsResult, ErrorData> {
    let page = Page::of(visible_tools(session), cursor)?;
    let mut result = ListToolsResult::with_all_items(page.items);
    result.next_cursor = page.next_cursor;
    (result.ttl_ms, result.cache_scope) = cache_hints(with_hints);
    if with_hints && are_searched(session) {
        // What a search finds is listed at once.
        result.ttl_ms = Some(0);
    }
    Ok(result)
}

/// Returns true if the session's tools are searched, so that its list changes.
pub(crate) fn are_searched(session: &Session) -> bool {
    session.tools().has_tool(SEARCH_TOOL) && !session.searchable_definitions().is_empty()
}

fn visible_tools(session: &Session) -> Vec<Tool> {
    let declared = declare(Provider::Mcp, session.tools());
    let visible = session.definitions();
    let names = visible.iter().filter_map(|tool| declared.wire_name(tool.name())).collect::<HashSet<_>>();
    with_all(session.tools(), |all| all.iter().filter(|tool| names.contains(&*tool.name)).cloned().collect())
}

/// Returns the tool that is listed under a name.
pub(crate) fn find(context: &ToolContext, wire_name: &str) -> Option<Tool> {
    with_all(context, |all| all.iter().find(|tool| tool.name == wire_name).cloned())
}

/// Returns true if a request for a tool needs headers for some of its arguments.
pub(crate) fn needs_headers(context: &ToolContext, wire_name: &str) -> bool {
    let names = |all: &[Tool]| {
        let marked =
            |tool: &&Tool| serde_json::to_string(&tool.input_schema).is_ok_and(|text| text.contains("x-mcp-header"));
        all.iter().filter(marked).map(|tool| tool.name.to_string()).collect()
    };
    let listed = context.memo::<ListedTools>();
    listed.with_headers.get_or_init(|| with_all(context, names)).contains(wire_name)
}

fn with_all<T>(context: &ToolContext, read: impl FnOnce(&[Tool]) -> T) -> T {
    let listed = context.memo::<ListedTools>();
    read(listed.all.get_or_init(|| {
        serde_json::from_str(declare(Provider::Mcp, context).json().get()).unwrap_or_else(|error| {
            tracing::error!(%error, "failed to read the declarations as MCP tools");
            Vec::new()
        })
    }))
}

/// Returns the tool's name in the context by the name under which it is listed.
pub(crate) fn tool_name(session: &Session, wire_name: &str) -> Option<String> {
    declare(Provider::Mcp, session.tools()).tool_name(wire_name).map(str::to_owned)
}

/// Returns the guides of the visible tools that have one. The list itself carries everything else.
pub(crate) fn guides(session: &Session) -> Option<String> {
    let guided = session.definitions().into_iter().filter(|tool| tool.guide().is_some());
    let texts = guided.map(|tool| format!("# {}\n\n{}", tool.name(), tool.documentation())).collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The result of a call, whose data is the text that the tool has returned.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompletedCall<'a> {
    content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Cow<'a, RawValue>>,
    is_error: bool,
}

impl From<CompletedCall<'_>> for CallToolResult {
    fn from(call: CompletedCall<'_>) -> Self {
        let CompletedCall { content, structured_content, is_error } = call;
        let mut result = if is_error { Self::error(content) } else { Self::success(content) };
        result.structured_content = structured_content.and_then(|data| serde_json::from_str(data.get()).ok());
        result
    }
}

/// Converts the response of a call of `tool` into the protocol's result.
pub(crate) fn complete<'a>(session: &Session, tool: &str, response: &'a ToolResponse) -> CompletedCall<'a> {
    let schema = session.tools().function_tool(tool).and_then(|tool| tool.definition().output());
    let result = response.for_model(ResultForm::Plain);
    if result.is_error {
        let content = vec![ContentBlock::text(result.text)];
        return CompletedCall { content, structured_content: None, is_error: true };
    }
    let content = match result.content() {
        Some(parts) => parts.into_iter().map(content_block).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![ContentBlock::text(result.text)],
    };
    let Some(schema) = schema.filter(|_| response.kind() == OutputKind::Data) else {
        return CompletedCall { content, structured_content: None, is_error: false };
    };
    let data = response.data_json().filter(|_| response.meta().truncated().is_none());
    let structured_content = data.and_then(|data| match output_schema::structured(schema, data) {
        Cow::Borrowed(data) => serde_json::from_str(data).ok().map(Cow::Borrowed),
        Cow::Owned(data) => RawValue::from_string(data).ok().map(Cow::Owned),
    });
    // A client refuses a success without the structured content of the output schema. An error needs none.
    let is_error = structured_content.is_none();
    CompletedCall { content, structured_content, is_error }
}

/// Converts a part of a result or of a prompt.
pub(crate) fn content_block(part: Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource { uri, mime_type, text: Some(text) } => {
            ContentBlock::resource(ResourceContents::TextResourceContents { uri, mime_type, text, meta: None })
        }
        Content::Resource { uri, mime_type, text: None } => {
            if let Some((embedded, data)) = embedded_data(&uri) {
                let contents = ResourceContents::BlobResourceContents {
                    mime_type: Some(embedded.to_owned()),
                    blob: data.to_owned(),
                    uri: name_of_data(data),
                    meta: None,
                };
                return ContentBlock::resource(contents);
            }
            let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&uri).to_owned();
            let mut link = Resource::new(uri, name);
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
        // `Content` is non-exhaustive.
        other => ContentBlock::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}
