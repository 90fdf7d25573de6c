//! The reader of JSON-RPC requests, and the results and answers.

use crate::codec::{CallIds, EventSink, MessageReader, ToolAnswer, WireCall};
use crate::declared_tool::{DeclaredTool, ObjectText};
use crate::event::{Event, malformed};
use crate::hosts::Host;
use crate::json_reader::json_objects;
use crate::lenient::{LenientObject, LenientText, RawJson, parse_items, parse_object};
use crate::mcp::output_schema;
use crate::request::{Request, RequestBody, embedded_data, name_of_data, text_of, tools};
use serde_json::{Map, Value, json};
use tool_core::call::ModelResult;
use tool_core::{Category, Content, ErrorKind, ToolCall, ToolDefinition};
use tool_core::{FunctionTool, tool::ToolAnnotations};

/// The kinds of request ids.
pub(crate) const TEXT_ID: &str = "text";
const NUMBER_ID: &str = "number";

/// Reads the requests to an MCP server.
#[derive(Debug, Default)]
pub(crate) struct McpReader;

json_objects! {
    /// A request, a notification or an answer.
    struct RpcMessage<'a> {
        id: RawJson<'a>,
        method: LenientText<'a>,
        params: LenientObject<RpcParams<'a>>,
    }

    struct RpcParams<'a> {
        name: RawJson<'a>,
        arguments: RawJson<'a>,
        meta: RawJson<'a> = "_meta",
        /// The request that `notifications/cancelled` is about.
        request_id: RawJson<'a> = "requestId",
    }
}

impl MessageReader for McpReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        if !text.trim_ascii_start().starts_with('[') {
            return read_message(text, sink);
        }
        parse_items(text)?
            .into_iter()
            .try_for_each(|message| read_message(message, sink))
    }

    /// A request is whole, or the framing reports that it is cut off.
    fn finish(&mut self, _sink: &mut EventSink<'_>) {}
}

fn read_message(text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
    let Some(message) = parse_object::<RpcMessage<'_>>(text)? else {
        sink.error(malformed("expected a JSON-RPC object", text));
        return Ok(());
    };
    match (message.method.as_str(), &*message.params) {
        // A call is always answered, and a message without an id is not.
        ("tools/call", _) if message.id.0.is_none() => sink.unknown(text),
        ("tools/call", params) => {
            if let Err(error) = read_call(message.id, params.as_ref(), sink) {
                sink.error(malformed(error, text));
            }
            Ok(())
        }
        ("notifications/cancelled", Some(params)) => {
            let ours = request_id(params.request_id).and_then(|id| {
                let WireCall { id, kind, .. } = wire_call(&id, "");
                sink.ids.of_kind(&id, kind).map(str::to_owned)
            });
            match ours {
                Some(id) => sink.push(Event::Cancelled(vec![id])),
                None => return sink.unknown(text),
            }
            Ok(())
        }
        _ => sink.unknown(text),
    }
}

fn read_call(
    id: RawJson<'_>,
    params: Option<&RpcParams<'_>>,
    sink: &mut EventSink<'_>,
) -> Result<(), &'static str> {
    let id = request_id(id).ok_or("expected a text or a whole number as the id of a request")?;
    let params = params.ok_or("`tools/call` has no `params`")?;
    let name = params
        .name
        .parse::<String>()
        .ok_or("expected a text as the `name` of `tools/call`")?;
    let ours = assign_id(&id, &name, sink);
    if let Some(meta) = params.meta.parse::<Value>().filter(|meta| !meta.is_null()) {
        sink.push(Event::Item(json!({"id": id, "_meta": meta})));
    }
    let arguments = params.arguments.0.unwrap_or("{}");
    sink.push(Event::CallStarted {
        id: ours.clone(),
        name: name.clone(),
    });
    sink.push(Event::Arguments {
        id: ours.clone(),
        delta: arguments.to_owned(),
    });
    sink.push(Event::Call(ToolCall::new(ours, name, arguments)));
    Ok(())
}

/// Parses an id; `None` for another value than a text or a whole number.
fn request_id(id: RawJson<'_>) -> Option<Value> {
    let id = id.parse::<Value>()?;
    (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
}

fn wire_call(id: &Value, name: &str) -> WireCall {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    WireCall {
        id: text,
        name: name.to_owned(),
        kind: if id.is_string() { TEXT_ID } else { NUMBER_ID },
    }
}

/// Returns our id of a request: its own as a text.
fn assign_id(id: &Value, name: &str, sink: &mut EventSink<'_>) -> String {
    let call = wire_call(id, name);
    match sink.ids.get(&call.id) {
        // `1` and `"1"` are two ids: that the second becomes another text is not an error.
        Some(before) if before.kind != call.kind => sink.ids.assign(call).0,
        _ => sink.assign(call),
    }
}

/// JSON-RPC's "invalid params", which MCP uses for an unknown tool.
const INVALID_PARAMS: i32 = -32602;

/// Writes one answer for each result. A call of an unknown tool is answered with an error.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, _host: &Host) -> Value {
    answers.iter().map(write_answer).collect()
}

fn write_answer(answer: &ToolAnswer<'_>) -> Value {
    let id = answered_id(answer);
    match answer
        .response
        .error()
        .filter(|error| error.kind == ErrorKind::NotFound)
    {
        Some(error) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_PARAMS, "message": error.message}})
        }
        None => json!({"jsonrpc": "2.0", "id": id, "result": call_result(&answer.result)}),
    }
}

/// Returns the id of the request in its own type, or ours if there was none.
fn answered_id(answer: &ToolAnswer<'_>) -> Value {
    match answer.call {
        Some(call) if call.kind != TEXT_ID => serde_json::from_str(&call.id).unwrap_or_default(),
        Some(call) => Value::from(call.id.as_str()),
        None => Value::from(answer.id()),
    }
}

/// Writes the result of `tools/list`.
pub(crate) fn request(request: &Request<'_>, _host: &Host) -> Value {
    RequestBody::new(request)
        .with("tools", tools(request))
        .finish()
}

/// Writes a tool of the result of `tools/list`.
pub(crate) fn declaration(tool: &DeclaredTool<'_>) -> String {
    if let Some(sent) = tool.definition.declared() {
        return passed_on(tool, sent);
    }
    ObjectText::new()
        .with("name", tool.name)
        .with_some("title", tool.definition.title())
        .with_some("description", tool.description())
        .raw("inputSchema", tool.schema)
        .with_some(
            "outputSchema",
            tool.definition.output().map(output_schema::declared),
        )
        .with("annotations", annotations(tool.definition))
        .finish()
}

/// Returns the declaration of another server as it has sent it, under our name and with the
/// category that holds here. The support of tasks is that of a connection.
fn passed_on(tool: &DeclaredTool<'_>, sent: &Map<String, Value>) -> String {
    let mut declared = sent.clone();
    declared.insert("name".to_owned(), tool.name.into());
    declared.shift_remove("execution");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    // The host may have changed them.
    if text(declared.get("description")) != tool.definition.description() {
        declared.insert(
            "description".to_owned(),
            tool.definition.description().into(),
        );
    }
    let sent_title = declared
        .get("title")
        .or_else(|| declared.get("annotations")?.get("title"));
    if let Some(title) = tool
        .definition
        .title()
        .filter(|title| text(sent_title) != *title)
    {
        declared.insert("title".to_owned(), title.into());
    }
    let is_read_only = tool.definition.category() == Category::Retrieval;
    let said = declared
        .get("annotations")
        .and_then(|hints| hints.get("readOnlyHint"))
        .and_then(Value::as_bool);
    if said.unwrap_or_default() != is_read_only {
        let hints = declared
            .entry("annotations")
            .or_insert_with(|| Map::new().into());
        hints["readOnlyHint"] = is_read_only.into();
    }
    Value::Object(declared).to_string()
}

/// Returns hints for the person who allows the tool. A hint that is not set is left out: the client
/// then assumes the worst, as the protocol says.
fn annotations(tool: &ToolDefinition) -> Map<String, Value> {
    let flags = tool.flags();
    let is_read_only = tool.category() == Category::Retrieval;
    let mut annotations = Map::from_iter([("readOnlyHint".to_owned(), is_read_only.into())]);
    let hints = [
        // A tool that only reads is not destructive.
        (
            "destructiveHint",
            flags
                .destructive
                .filter(|is_destructive| !(*is_destructive && is_read_only)),
        ),
        ("idempotentHint", flags.idempotent.then_some(true)),
        ("openWorldHint", flags.open_world),
    ];
    annotations.extend(
        hints
            .into_iter()
            .filter_map(|(name, hint)| Some((name.to_owned(), hint?.into()))),
    );
    annotations.extend(tool.title().map(|title| ("title".to_owned(), title.into())));
    annotations
}

/// The hints of a tool: `readOnlyHint`, `destructiveHint`, `idempotentHint` and `openWorldHint`.
pub(crate) type Hints = [Option<bool>; 4];

/// Sets the category and the annotations of hints. Missing hints get the protocol's defaults, which
/// assume the worst.
pub fn with_hints(
    tool: &FunctionTool,
    [read_only, destructive, idempotent, open_world]: Hints,
) -> FunctionTool {
    let read_only = read_only == Some(true);
    let annotations = ToolAnnotations {
        idempotent: idempotent == Some(true),
        destructive: destructive
            .or(Some(true))
            .filter(|is_destructive| !(*is_destructive && read_only)),
        open_world: open_world.or(Some(true)),
        ..ToolAnnotations::default()
    };
    tool.category(if read_only {
        Category::Retrieval
    } else {
        Category::Action
    })
    .flags(annotations)
}

/// Writes the result of `tools/call`. Data that is an object is structured content too.
fn call_result(result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(write_part).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![json!({"type": "text", "text": result.text})],
    };
    // The protocol has `resultType` since 2026-07-28. Older clients pass over it.
    let mut written =
        json!({"content": content, "isError": result.is_error, "resultType": "complete"});
    let has_data = !result.is_error && !result.is_text;
    if let (true, Ok(data @ Value::Object(_))) = (has_data, serde_json::from_str(&result.text)) {
        written["structuredContent"] = data;
    }
    written
}

fn write_part(part: &Content) -> Value {
    match part {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "image", "data": data, "mimeType": mime_type})
        }
        Content::Audio { data, mime_type } => {
            json!({"type": "audio", "data": data, "mimeType": mime_type})
        }
        Content::Resource {
            uri,
            mime_type,
            text,
            ..
        } => write_resource(uri, mime_type.as_deref(), text.as_deref()),
        other => json!({"type": "text", "text": text_of(other)}),
    }
}

/// Writes a resource with its text, or a link to one without.
fn write_resource(uri: &str, mime_type: Option<&str>, text: Option<&str>) -> Value {
    let mut resource = Map::from_iter([("uri".to_owned(), uri.into())]);
    resource.extend(mime_type.map(|mime_type| ("mimeType".to_owned(), mime_type.into())));
    if let Some(text) = text {
        resource.insert("text".to_owned(), text.into());
        return json!({"type": "resource", "resource": resource});
    }
    if let Some((mime_type, data)) = embedded_data(uri) {
        return json!({"type": "resource", "resource": {"uri": name_of_data(data), "mimeType": mime_type, "blob": data}});
    }
    resource.extend([
        ("type".to_owned(), "resource_link".into()),
        ("name".to_owned(), uri.into()),
    ]);
    Value::Object(resource)
}
