//! `tools/list`, and the responses of tools as results of `tools/call`.

use crate::original::{self, REMOVED};
use crate::server::pages::{Page, PageRequest};
use crate::server::passed_on;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, ListToolsResult, MetaObject, Resource,
    ResourceContents, Tool,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};
use tool_adapters_providers::mcp::output_schema;
use tool_adapters_providers::request::{embedded_data, name_of_data};
use tool_adapters_providers::{Provider, declare};
use tool_core::call::{OutputKind, ResultForm};
use tool_core::session::{SEARCH_TOOL, change_note};
use tool_core::{Content, Session, ToolContext, ToolResponse};

/// The declarations of a context, converted once.
#[derive(Default)]
struct ListedTools {
    all: OnceLock<Vec<ListedTool>>,
    /// The tools of whose arguments some are headers of a request.
    with_headers: OnceLock<HashSet<String>>,
}

struct ListedTool {
    tool: Tool,
    /// The declaration as it is sent. That of another server has members that the type does not
    /// know.
    text: Arc<str>,
}

/// One page of the list.
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<Arc<str>>,
    /// The answer of rmcp's type, without the tools.
    pub(crate) answer: ListToolsResult,
}

/// Returns one page of the list.
pub(crate) fn page(session: &Session, request: &PageRequest) -> Result<ToolPage, ErrorData> {
    let page = Page::of(visible_tools(session), request)?;
    let mut answer = ListToolsResult {
        next_cursor: page.next_cursor,
        ttl_ms: page.hints.ttl_ms,
        cache_scope: page.hints.scope,
        ..ListToolsResult::default()
    };
    if request.with_hints && are_searched(session) {
        // What a search finds is listed at once.
        answer.ttl_ms = Some(0);
    }
    Ok(ToolPage {
        tools: page.items,
        answer,
    })
}

/// Returns true if the session's tools are searched, so that its list changes.
pub(crate) fn are_searched(session: &Session) -> bool {
    session.tools().has_tool(SEARCH_TOOL) && !session.searchable_definitions().is_empty()
}

fn visible_tools(session: &Session) -> Vec<Arc<str>> {
    let declared = declare(Provider::Mcp, session.tools());
    let visible = session.definitions();
    let names = visible
        .iter()
        .filter_map(|tool| declared.wire_name(tool.name()))
        .collect::<HashSet<_>>();
    with_all(session.tools(), |all| {
        let visible = all
            .iter()
            .filter(|listed| names.contains(&*listed.tool.name));
        visible.map(|listed| Arc::clone(&listed.text)).collect()
    })
}

/// Returns the tool that is listed under a name.
pub(crate) fn find(context: &ToolContext, wire_name: &str) -> Option<Tool> {
    with_all(context, |all| {
        all.iter()
            .find(|listed| listed.tool.name == wire_name)
            .map(|listed| listed.tool.clone())
    })
}

/// Returns true if a request for a tool needs headers for some of its arguments.
pub(crate) fn needs_headers(context: &ToolContext, wire_name: &str) -> bool {
    let names = |all: &[ListedTool]| {
        let marked = all
            .iter()
            .filter(|listed| listed.text.contains("x-mcp-header"));
        marked.map(|listed| listed.tool.name.to_string()).collect()
    };
    let listed = context.memo::<ListedTools>();
    listed
        .with_headers
        .get_or_init(|| with_all(context, names))
        .contains(wire_name)
}

fn with_all<T>(context: &ToolContext, read: impl FnOnce(&[ListedTool]) -> T) -> T {
    let listed = context.memo::<ListedTools>();
    read(listed.all.get_or_init(|| {
        let declared = declare(Provider::Mcp, context);
        let texts =
            serde_json::from_str::<Vec<&RawValue>>(declared.json().get()).unwrap_or_default();
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            match serde_json::from_str(text.get()) {
                Ok(tool) => all.push(ListedTool {
                    tool,
                    text: text.get().into(),
                }),
                Err(error) => {
                    tracing::error!(%error, "failed to read a declaration as an MCP tool");
                }
            }
        }
        all
    }))
}

/// Returns the tool's name in the context by the name under which it is listed.
pub(crate) fn tool_name(session: &Session, wire_name: &str) -> Option<String> {
    declare(Provider::Mcp, session.tools())
        .tool_name(wire_name)
        .map(str::to_owned)
}

/// Returns the guides of the visible tools that have one. The list itself carries everything else.
pub(crate) fn guides(session: &Session) -> Option<String> {
    let guided = session
        .definitions()
        .into_iter()
        .filter(|tool| tool.guide().is_some());
    let texts = guided
        .map(|tool| format!("# {}\n\n{}", tool.name(), tool.documentation()))
        .collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The result of a call.
pub(crate) enum CompletedCall<'a> {
    Own(OwnResult<'a>),
    /// The result of another server, as JSON.
    PassedOn(Cow<'a, str>),
}

/// The result of a tool of this server, whose data is the text that the tool has returned.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnResult<'a> {
    content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Cow<'a, RawValue>>,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<JsonObject>,
}

impl CompletedCall<'_> {
    /// Returns the result as JSON. Since revision 2026-07-28 it has its kind.
    pub(crate) fn to_json(&self, has_kind: bool) -> Cow<'_, str> {
        let result = match self {
            Self::Own(result) => Cow::Owned(serde_json::to_string(result).unwrap_or_default()),
            Self::PassedOn(result) => Cow::Borrowed(result.as_ref()),
        };
        match result.strip_prefix('{') {
            Some(members) if has_kind => [r#"{"resultType":"complete","#, members].concat().into(),
            _ => result,
        }
    }

    /// Returns the result as an object.
    pub(crate) fn to_object(&self) -> JsonObject {
        serde_json::from_str(&self.to_json(true)).unwrap_or_default()
    }
}

impl From<CompletedCall<'_>> for CallToolResult {
    /// Returns the result of rmcp's type. That of another server is carried whole.
    fn from(call: CompletedCall<'_>) -> Self {
        let OwnResult {
            content,
            structured_content,
            is_error,
            meta,
        } = match call {
            CompletedCall::Own(result) => result,
            CompletedCall::PassedOn(passed) => {
                let mut result = Self::success(Vec::new());
                result.meta = Some(passed_on::carrying(passed.into_owned()));
                return result;
            }
        };
        let mut result = if is_error {
            Self::error(content)
        } else {
            Self::success(content)
        };
        result.structured_content =
            structured_content.and_then(|data| serde_json::from_str(data.get()).ok());
        result.meta = meta.map(MetaObject);
        result
    }
}

/// Converts the response of a call of `tool` into the protocol's result.
pub(crate) fn complete<'a>(
    session: &Session,
    tool: &str,
    response: &'a ToolResponse,
) -> CompletedCall<'a> {
    let schema = session
        .tools()
        .function_tool(tool)
        .and_then(|tool| tool.definition().output());
    let note = change_note(response);
    if let Some(original) = response.original() {
        let result = with_data_or_error(original, schema.is_some() && response.is_ok());
        return CompletedCall::PassedOn(match note {
            Some(note) => Cow::Owned(with_note(&result, note)),
            None => result,
        });
    }
    let mut own = complete_own(schema, response);
    own.content.extend(note.map(ContentBlock::text));
    CompletedCall::Own(own)
}

/// Returns the result of another server with a further text. All else stays as the server has
/// written it.
fn with_note(result: &str, note: String) -> String {
    let mut members =
        serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(result).unwrap_or_default();
    let content = members.get("content").map_or("[]", |content| content.get());
    let mut parts = serde_json::from_str::<Vec<Box<RawValue>>>(content).unwrap_or_default();
    parts.extend(to_raw_value(&ContentBlock::text(note)).ok());
    if let Ok(content) = to_raw_value(&parts) {
        members.insert("content".to_owned(), content);
    }
    serde_json::to_string(&members).unwrap_or_default()
}

/// Returns the result of another server. A client refuses a success without the structured content
/// of the output schema, and it may have been removed. An error needs none.
fn with_data_or_error(original: &str, needs_data: bool) -> Cow<'_, str> {
    if !needs_data || !original.contains(REMOVED) {
        return Cow::Borrowed(original);
    }
    let mut result = serde_json::from_str::<JsonObject>(original).unwrap_or_default();
    if !result.contains_key("structuredContent") {
        result.insert("isError".to_owned(), true.into());
    }
    Cow::Owned(serde_json::to_string(&result).unwrap_or_default())
}

fn complete_own<'a>(schema: Option<&Value>, response: &'a ToolResponse) -> OwnResult<'a> {
    let result = response.for_model(ResultForm::Plain);
    if result.is_error {
        let content = vec![ContentBlock::text(result.text)];
        return OwnResult {
            content,
            structured_content: None,
            is_error: true,
            meta: None,
        };
    }
    let content = match result.content() {
        Some(parts) => parts.into_iter().map(content_block).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![ContentBlock::text(result.text)],
    };
    let truncated = response.meta().truncated();
    let meta = truncated.map(|truncated| original::removed_meta("/content/0/text", truncated));
    let Some(schema) = schema.filter(|_| response.kind() == OutputKind::Data) else {
        return OwnResult {
            content,
            structured_content: None,
            is_error: false,
            meta,
        };
    };
    let data = response.data_json().filter(|_| truncated.is_none());
    let structured_content = data.and_then(|data| match output_schema::structured(schema, data) {
        Cow::Borrowed(data) => serde_json::from_str(data).ok().map(Cow::Borrowed),
        Cow::Owned(data) => RawValue::from_string(data).ok().map(Cow::Owned),
    });
    // A client refuses a success without the structured content of the output schema. An error
    // needs none.
    let is_error = structured_content.is_none();
    OwnResult {
        content,
        structured_content,
        is_error,
        meta,
    }
}

/// Converts a part of a result or of a prompt.
pub(crate) fn content_block(part: Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource {
            uri,
            mime_type,
            text: Some(text),
            ..
        } => ContentBlock::resource(ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            meta: None,
        }),
        Content::Resource {
            uri,
            mime_type,
            text: None,
            name,
        } => {
            if let Some((embedded, data)) = embedded_data(&uri) {
                let contents = ResourceContents::BlobResourceContents {
                    mime_type: Some(embedded.to_owned()),
                    blob: data.to_owned(),
                    uri: name_of_data(data),
                    meta: None,
                };
                return ContentBlock::resource(contents);
            }
            let last_segment = uri.rsplit('/').find(|part| !part.is_empty());
            let name = name.unwrap_or_else(|| last_segment.unwrap_or(&uri).to_owned());
            let mut link = Resource::new(uri, name);
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
        // `Content` is non-exhaustive.
        other => ContentBlock::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}
