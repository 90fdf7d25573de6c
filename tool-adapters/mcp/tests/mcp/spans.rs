//! Propagation of traces through `_meta`, as a client and as a server.

use super::spans_support::{collector, span, tree};
use super::support::{LineClient, run_alone, server};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult,
    PaginatedRequestParams,
};
use rmcp::model::{ServerCapabilities, ServerConfig, Tool};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::split;
use tool_adapters::mcp::{McpClient, Server};
use tool_core::trace::{self, DistributedContext, SpanId, SpanRecord, SpanStatus, TraceId};
use tool_core::{RunContext, ToolContext};

/// A server that records the `_meta` of each call.
#[derive(Clone, Default)]
struct MetaRecorder(Arc<Mutex<Vec<Value>>>);

impl ServerHandler for MetaRecorder {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool =
            json!({"name": "note", "description": "Does it.", "inputSchema": {"type": "object"}});
        Ok(ListToolsResult::with_all_items(vec![
            serde_json::from_value::<Tool>(tool).expect("a tool"),
        ]))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut meta = serde_json::to_value(&context.meta).expect("JSON");
        meta["id"] = context.id.to_string().into();
        self.0.lock().expect("no panic").push(meta);
        Ok(CallToolResult::success(Vec::new()).into())
    }
}

impl MetaRecorder {
    async fn tools(&self, change: impl Fn(McpClient) -> McpClient) -> ToolContext {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let recorder = self.clone();
        tokio::spawn(async move {
            recorder
                .serve(theirs)
                .await
                .expect("a client")
                .waiting()
                .await
        });
        let (from, to) = split(ours);
        let imported = change(McpClient::streams("recorder", from, to))
            .connect()
            .await
            .expect("an import");
        ToolContext::builder()
            .with(imported)
            .build()
            .expect("tools")
    }

    fn last(&self) -> Value {
        self.0
            .lock()
            .expect("no panic")
            .last()
            .cloned()
            .expect("a call")
    }
}

fn attributes(span: &SpanRecord) -> Value {
    span.attributes()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

async fn note(tools: &ToolContext) {
    assert!(
        tools
            .call("note", "{}", &RunContext::detached())
            .await
            .is_ok()
    );
}

// S9
#[tokio::test]
async fn sends_the_span_and_records_the_request_on_it() {
    let (recorder, collector) = (MetaRecorder::default(), collector());
    let tools = recorder.tools(|import| import).await;
    let mut context = DistributedContext::new()
        .customer_id("acme")
        .run_id("7")
        .parent(TraceId::random(), SpanId::random());
    context.tracestate = Some("vendor=1".to_owned());
    collector
        .run(trace::import(context.clone(), note(&tools)))
        .await;
    let (span, meta) = (span(&collector, "tool:note"), recorder.last());
    assert_eq!(
        (Some(span.trace_id()), span.parent()),
        (context.trace_id, context.span_id)
    );
    assert_eq!(
        meta["traceparent"],
        format!("00-{}-{}-01", span.trace_id(), span.span_id())
    );
    assert_eq!(
        (&meta["tracestate"], &meta["baggage"]),
        (&json!("vendor=1"), &json!("run_id=7,customer_id=acme"))
    );
    let known = json!({"mcp.method.name": "tools/call", "jsonrpc.request.id": meta["id"],
        "mcp.protocol.version": "2025-11-25"});
    assert_eq!(attributes(&span), known);
}

// S9
#[tokio::test]
async fn sends_the_span_without_baggage_if_disabled() {
    let (recorder, collector) = (MetaRecorder::default(), collector());
    let tools = recorder.tools(McpClient::without_baggage).await;
    let context = DistributedContext::new().customer_id("canary");
    collector.run(trace::import(context, note(&tools))).await;
    let meta = recorder.last();
    assert!(
        meta["traceparent"].is_string() && !meta.to_string().contains("canary"),
        "{meta}"
    );
}

// S9
#[test]
fn sends_no_trace_outside_a_span() {
    run_alone("spans::a_call_outside_a_span_has_no_trace");
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn a_call_outside_a_span_has_no_trace() {
    let recorder = MetaRecorder::default();
    note(&recorder.tools(|import| import).await).await;
    let meta = recorder.last();
    assert!(
        ["traceparent", "tracestate", "baggage"]
            .iter()
            .all(|name| meta.get(name).is_none()),
        "{meta}"
    );
}

/// Returns the spans of a trace from the process's collector, which records the server's spans.
fn spans_of(trace: TraceId) -> Vec<SpanRecord> {
    trace::collector()
        .report()
        .spans()
        .iter()
        .filter(|span| span.trace_id() == trace)
        .cloned()
        .collect()
}

/// Calls `add` with a remote parent span. Returns the spans of the server.
async fn called_under(server: &Server, trace: TraceId, meta: &Value) -> Vec<SpanRecord> {
    let mut client = LineClient::initialized(server, json!({})).await;
    let call = json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta});
    let answer = client.request(json!("r-1"), "tools/call", call).await;
    assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
    spans_of(trace)
}

// S9
#[tokio::test]
async fn serves_a_call_as_a_child_of_the_clients_span() {
    for (trusted, customer, run) in [(false, None, None), (true, Some("acme"), Some("7"))] {
        let (trace, parent) = (TraceId::random(), SpanId::random());
        let meta = json!({"traceparent": format!("00-{trace}-{parent}-01"), "tracestate": "vendor=1",
            "baggage": "customer_id=acme,run_id=7"});
        // The baggage of an untrusted client is ignored.
        let server = if trusted {
            server().trust_baggage(true)
        } else {
            server()
        };
        let [span] = called_under(&server, trace, &meta)
            .await
            .try_into()
            .expect("one span");
        assert_eq!(
            (span.label().as_str(), span.parent(), span.status()),
            ("tool:add", Some(parent), SpanStatus::Ok)
        );
        assert_eq!((span.customer_id(), span.run_id()), (customer, run));
        let known = json!({"mcp.method.name": "tools/call", "jsonrpc.request.id": "r-1",
            "mcp.protocol.version": "2025-11-25"});
        assert_eq!(attributes(&span), known);
    }
}

// S9
#[tokio::test]
async fn ignores_the_sampling_of_an_untrusted_client() {
    for (trusted, sampled) in [(false, true), (true, false)] {
        let (trace, parent) = (TraceId::random(), SpanId::random());
        let meta = json!({"traceparent": format!("00-{trace}-{parent}-00")});
        let [span] = called_under(&server().trust_baggage(trusted), trace, &meta)
            .await
            .try_into()
            .expect("one span");
        assert_eq!((span.parent(), span.is_sampled()), (Some(parent), sampled));
    }
}

// S9
#[tokio::test]
async fn serves_calls_with_invalid_or_oversized_context() {
    let (trace, parent) = (TraceId::random(), SpanId::random());
    let flood = (0..1_000)
        .map(|at| format!("k{at}={}", "v".repeat(100)))
        .collect::<Vec<_>>()
        .join(",");
    for (meta, spans) in [
        (
            json!({"traceparent": format!("00-{trace}-0000000000000000-01")}),
            0,
        ),
        (
            json!({"traceparent": 7, "tracestate": ["v=1"], "baggage": {}}),
            0,
        ),
        (
            json!({"traceparent": format!("00-{trace}-{parent}-01"), "tracestate": flood, "baggage": flood}),
            1,
        ),
    ] {
        let found = called_under(&server().trust_baggage(true), trace, &meta).await;
        assert_eq!(found.len(), spans, "{found:?}");
        assert!(found.iter().all(|span| span.customer_id().is_none()));
    }
}

// S9
#[tokio::test]
async fn joins_client_and_server_spans_over_http() {
    let server = server();
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let url = bound.url().expect("an address");
    let serving = tokio::spawn(bound.serve());
    let imported = McpClient::url(url).connect().await.expect("an import");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools");
    let (collector, ctx) = (collector(), RunContext::detached());
    let call = tools.call("sum", json!({"a": 1, "b": 2}), &ctx);
    assert!(collector.run(trace::agent("a", call)).await.is_ok());
    assert_eq!(tree(&collector), ["agent:a/tool:sum", "agent:a"]);
    let ours = span(&collector, "tool:sum");
    let [theirs] = spans_of(ours.trace_id())
        .try_into()
        .expect("one span at the server");
    assert_eq!(
        (theirs.label().as_str(), theirs.parent()),
        ("tool:sum", Some(ours.span_id()))
    );
    let (ours, mut theirs) = (attributes(&ours), attributes(&theirs));
    // A hash, as the id itself gives access to the session.
    let id = theirs["mcp.session.id"].as_str().unwrap_or_default();
    assert!(
        id.len() == 16 && id.chars().all(|c| c.is_ascii_hexdigit()),
        "{theirs}"
    );
    theirs
        .as_object_mut()
        .expect("an object")
        .remove("mcp.session.id");
    assert_eq!(
        (&ours["network.transport"], &ours),
        (&json!("tcp"), &theirs)
    );
    server.shutdown().await;
    serving.await.expect("no panic").expect("served");
}

// S9
#[tokio::test]
async fn runs_a_confirmed_call_in_the_clients_trace() {
    let (trace, parent) = (TraceId::random(), SpanId::random());
    let mut client = LineClient::initialized(&server(), json!({"elicitation": {}})).await;
    let meta = json!({"traceparent": format!("00-{trace}-{parent}-01")});
    let call = json!({"name": "erase", "arguments": {"what": "all"}, "_meta": meta});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
        .await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}})).await;
    let answer = client.receive().await;
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased all",
        "{answer}"
    );
    let found = spans_of(trace);
    assert!(
        found.len() == 2 && found.iter().all(|span| span.parent() == Some(parent)),
        "{found:?}"
    );
}
