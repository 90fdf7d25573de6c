//! Sessions with tools of their own: `Open::tools`. R-I4

use crate::support::{Counter, kind, raw};
use serde_json::{Value, json};
use tool_core::session::OpenError;
use tool_core::tool::{Confirm, ToolAnnotations};
use tool_core::{
    ErrorKind, FunctionTool, Mode, Policy, RawTool, RunContext, Runtime, Session, ToolCall,
    ToolContext, ToolError,
};

fn tools(tools: impl IntoIterator<Item = FunctionTool>) -> ToolContext {
    ToolContext::builder()
        .with_all(tools)
        .build()
        .expect("sound")
}

fn runtime(tools: ToolContext) -> Runtime {
    Runtime::builder(tools)
        .policy(Policy::text().max_calls(None))
        .build()
        .expect("sound")
}

async fn open(runtime: &Runtime, id: &str, tools: &ToolContext) -> Session {
    runtime
        .session(id, Mode::Text)
        .tools(tools.clone())
        .await
        .expect("open")
}

async fn call(session: &Session, tool: &str, arguments: Value) -> tool_core::ToolResponse {
    session.call(ToolCall::new("c", tool, arguments)).await
}

fn calls(name: &str, other: &'static str) -> FunctionTool {
    let declared = RawTool {
        name: name.into(),
        description: "Calls.".into(),
        parameters: json!({"type": "object"}),
    };
    FunctionTool::raw_with(
        declared,
        other,
        async |other: &&'static str, _: Value, ctx: &RunContext| {
            let inner = ctx.call(*other, "{}").await;
            inner
                .data_json()
                .map(|data| json!(data))
                .ok_or_else(|| ToolError::permanent("no such tool"))
        },
    )
}

/// A tool with a guide, which the instructions have.
fn guided(name: &str) -> FunctionTool {
    raw(name).guide("# Guide\n\nUse it with care.\n")
}

fn cancellable(tool: &FunctionTool) -> FunctionTool {
    tool.flags(ToolAnnotations {
        cancellable: true,
        ..tool.definition().flags()
    })
}

// R-I4
#[tokio::test]
async fn a_session_has_its_own_tools_and_none_of_the_runtimes() {
    let runtime = runtime(tools([guided("shared")]));
    let session = open(&runtime, "s", &tools([guided("own")])).await;
    assert!(call(&session, "own", json!({})).await.is_ok());
    assert_eq!(
        kind(&call(&session, "shared", json!({})).await),
        Some(ErrorKind::NotFound)
    );
    assert!(
        session.instructions().contains("## own") && !session.instructions().contains("## shared")
    );
    assert_eq!(session.definitions().len(), 1);
    let plain = runtime.session("t", Mode::Text).await.expect("open");
    assert!(call(&plain, "shared", json!({})).await.is_ok());
}

// R-B4
#[tokio::test]
async fn what_a_tool_calls_is_looked_for_among_the_sessions_tools() {
    let runtime = runtime(tools([raw("inner")]));
    let with = open(
        &runtime,
        "1",
        &tools([calls("outer", "inner"), raw("inner")]),
    )
    .await;
    assert!(call(&with, "outer", json!({})).await.is_ok());
    let without = open(&runtime, "2", &tools([calls("outer", "inner")])).await;
    assert_eq!(
        kind(&call(&without, "outer", json!({})).await),
        Some(ErrorKind::Permanent)
    );
}

// L16
#[tokio::test]
async fn cancellable_tool_of_the_session_adds_control_tools() {
    let runtime = runtime(tools([cancellable(&raw("shared"))]));
    let plain = open(&runtime, "1", &tools([raw("own")])).await;
    assert!(!plain.tools().has_tool("cancel_call"));
    let own = tools([cancellable(&raw("own"))]);
    let session = open(&runtime, "2", &own).await;
    let listed = call(&session, "list_running_calls", json!({})).await;
    assert_eq!(listed.data_json(), Some(r#"{"calls":[]}"#));
    assert!(
        !own.has_tool("cancel_call"),
        "the context that was given is as it was"
    );
    // The tools of a session may be given to another session and to a runtime.
    let again = open(&runtime, "3", session.tools()).await;
    assert_eq!(again.tools(), session.tools());
    assert!(kind(&call(&again, "cancel_call", json!({"call_id": "x"})).await).is_some());
    runtime
        .update_tools(session.tools().clone())
        .expect("sound");
    assert_eq!(runtime.tools(), *session.tools());
}

#[tokio::test]
async fn collision_with_control_tools_opens_no_session() {
    let runtime = runtime(tools([]));
    let odd = tools([cancellable(&raw("own")), raw("cancel_call")]);
    let error = runtime
        .session("s", Mode::Text)
        .tools(odd)
        .await
        .expect_err("two of a name");
    assert!(
        matches!(&error, OpenError::Tools(_)) && error.to_string().contains("cancel_call"),
        "{error}"
    );
    assert_eq!(runtime.sessions().await.expect("a count"), 0);
}

// R-I4
#[tokio::test]
async fn joining_with_other_tools_gets_the_sessions_tools() {
    let runtime = runtime(tools([]));
    let first = open(&runtime, "s", &tools([raw("first")])).await;
    let joined = open(&runtime, "s", &tools([raw("second")])).await;
    assert!(call(&joined, "first", json!({})).await.is_ok());
    let plain = runtime.session("s", Mode::Text).await.expect("open");
    assert_eq!(plain.tools(), first.tools());
    runtime.update_tools(tools([raw("third")])).expect("sound");
    assert!(call(&first, "first", json!({})).await.is_ok());
}

// R-M1, R-M3
#[tokio::test]
async fn calls_are_counted_by_the_tools_name_across_all_sessions() {
    let runtime = runtime(tools([raw("both")]));
    let plain = runtime.session("1", Mode::Text).await.expect("open");
    call(&plain, "both", json!({})).await;
    let own = open(&runtime, "2", &tools([raw("both"), raw("own")])).await;
    call(&own, "both", json!({})).await;
    call(&own, "own", json!({})).await;
    let other = open(&runtime, "3", &tools([raw("own")])).await;
    call(&other, "own", json!({})).await;
    call(&other, "nobody", json!({})).await;
    let metrics = runtime.metrics();
    let counts = metrics
        .tools
        .iter()
        .map(|(name, tool)| (name.as_str(), tool.calls))
        .collect::<Vec<_>>();
    assert_eq!(counts, [("both", 2), ("own", 2), ("unknown", 1)]);
    assert_eq!(runtime.metrics().tools["own"].calls, 2);
    // The metrics continue under the runtime's tool of that name.
    runtime.update_tools(tools([raw("own")])).expect("sound");
    let plain = runtime.session("4", Mode::Text).await.expect("open");
    call(&plain, "own", json!({})).await;
    assert_eq!(runtime.metrics().tools["own"].calls, 3);
}

// R-M3, R-M4
#[tokio::test]
async fn context_metrics_measure_the_sessions_own_tools() {
    let runtime = runtime(tools([]));
    let none = runtime
        .session("1", Mode::Text)
        .await
        .expect("open")
        .context();
    let own = open(
        &runtime,
        "2",
        &tools((0..20).map(|number| raw(&format!("tool_{number}")))),
    )
    .await;
    assert!(own.context().tool_decl_tokens > none.tool_decl_tokens);
    assert_eq!(
        runtime.metrics().context.tool_decl_tokens,
        own.context().tool_decl_tokens
    );
}

// R-C2: an approval is bound to the version of the tools that it was asked with.
#[tokio::test]
async fn an_approval_is_for_the_tools_that_it_was_asked_with() {
    let runtime = runtime(tools([]));
    let before = tools([raw("pay").confirm(Confirm::Always)]);
    let after = tools([raw("pay").confirm(Confirm::Always), raw("more")]);
    let session = open(&runtime, "s", &before).await;
    let asked = call(&session, "pay", json!({})).await;
    let token = asked.meta().confirmation().expect("a token").token.clone();
    // Another process opens the same session with other tools: here, the session is dropped and opened anew.
    drop(session);
    let changed = open(&runtime, "s", &after).await;
    assert_eq!(
        kind(&changed.approve(&token).await),
        Some(ErrorKind::Conflict)
    );
    drop(changed);
    let same = open(&runtime, "s", &before).await;
    assert!(same.approve(&token).await.is_ok());
}

// Made once for a context, and let go with it.
#[tokio::test]
async fn a_context_is_let_go_when_nobody_has_it_any_more() {
    struct OnDrop(Counter);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.add();
        }
    }
    let dropped = Counter::default();
    let declared = RawTool {
        name: "own".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let state = OnDrop(dropped.clone());
    let tool = FunctionTool::raw_with(
        declared,
        state,
        async |_: &OnDrop, _: Value, _: &RunContext| Ok(Value::Null),
    );
    let runtime = runtime(tools([]));
    let own = tools([cancellable(&tool)]);
    drop(tool);
    let (first, second) = (
        open(&runtime, "1", &own).await,
        open(&runtime, "2", &own).await,
    );
    // One toolbox, so that what is kept with the tools is kept for all sessions.
    assert!(std::sync::Arc::ptr_eq(
        &first.tools().memo::<u8>(),
        &second.tools().memo::<u8>()
    ));
    drop(own);
    first.end().await;
    second.end().await;
    assert_eq!(dropped.get(), 0);
    drop((first, second));
    assert_eq!(dropped.get(), 1);
}
