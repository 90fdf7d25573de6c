//! Requests of tools to the user's client beside questions: its model, its roots, and its log.

use crate::support::{Counter, OnDrop, asked, call, kind, message, runtime, tools};
use crate::support_log::logged;
use futures_util::future::pending;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tool_core::call::{
    Answer, AskError, LogLevel, LogMessage, Question, Role, Root, RootsRequest, SamplingAnswer,
    SamplingRequest,
};
use tool_core::trace::{Collector, Redaction, SpanKind, TokenUsage};
use tool_core::{
    Content, ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolError, tool,
};
use tracing::Level;

/// Ask the model.
#[tool(timeout = "30s")]
async fn think(ctx: &RunContext, prompt: String) -> Result<String, ToolError> {
    let request = SamplingRequest::new(prompt)
        .system_prompt("Be short.")
        .max_tokens(1_000_000);
    let answer = ctx.sample(request).await?;
    Ok(format!(
        "{}|{}|{}",
        answer.text(),
        answer.model,
        answer.stop_reason.unwrap_or_default()
    ))
}

/// Ask the model by another tool.
#[tool]
async fn think_by_another(ctx: &RunContext) -> Result<String, ToolError> {
    Ok(ctx
        .call("think", json!({"prompt": "Nested?"}))
        .await
        .data::<String>()?)
}

/// Ask the model and the user in turn, and count the answers.
#[tool]
async fn ask_both(ctx: &RunContext, times: u32) -> Result<u32, ToolError> {
    let mut answered = 0;
    for _ in 0..times {
        answered += u32::from(ctx.sample(SamplingRequest::new("?")).await.is_ok());
        answered += u32::from(ctx.ask::<bool>("?").await.is_ok());
    }
    Ok(answered)
}

/// List the folders.
#[tool]
async fn folders(ctx: &RunContext) -> Result<Vec<String>, ToolError> {
    Ok(ctx
        .roots()
        .await?
        .into_iter()
        .map(|root| format!("{} {:?}", root.uri, root.name))
        .collect())
}

/// Log.
#[tool]
fn write_log(ctx: &RunContext, data: Value) {
    ctx.log(LogLevel::Notice, "mail\u{202e}", data);
}

/// Log by another tool.
#[tool]
async fn write_log_by_another(ctx: &RunContext) -> bool {
    ctx.call("write_log", json!({"data": 1})).await.is_ok()
}

fn all_tools() -> tool_core::ToolContext {
    tools![
        think,
        think_by_another,
        ask_both,
        folders,
        write_log,
        write_log_by_another
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "a handler may fail")]
fn said(text: &str) -> Result<SamplingAnswer, AskError> {
    Ok(SamplingAnswer::new("small-1", [Content::text(text)]))
}

/// Opens a session whose client's model answers like this.
async fn sampled<A>(
    policy: Policy,
    answer: impl Fn(SamplingRequest) -> A + Send + Sync + 'static,
) -> Session
where
    A: Future<Output = Result<SamplingAnswer, AskError>> + Send + 'static,
{
    runtime(all_tools(), policy)
        .session("s-1", Mode::Text)
        .on_sampling(answer)
        .await
        .expect("a session")
}

async fn rooted(roots: Vec<Root>) -> Vec<String> {
    let handler = move |_: RootsRequest| std::future::ready(Ok(roots.clone()));
    let session = runtime(all_tools(), Policy::text())
        .session("s-1", Mode::Text)
        .on_roots(handler);
    let session = session.await.expect("a session");
    call(&session, "folders", json!({}))
        .await
        .data::<Vec<String>>()
        .expect("a list")
}

/// Returns the messages that a client takes of one call.
async fn heard(policy: Policy, tool: &str, arguments: Value) -> Vec<LogMessage> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&heard);
    let listener = move |message: &LogMessage| keep.lock().expect("whole").push(message.clone());
    let session = runtime(all_tools(), policy)
        .session("s-1", Mode::Text)
        .on_log(listener)
        .await
        .expect("a session");
    assert!(
        session
            .call(ToolCall::new("call_7", tool, arguments))
            .await
            .is_ok()
    );
    std::mem::take(&mut *heard.lock().expect("whole"))
}

// R-Q8
#[tokio::test]
async fn model_of_the_client_gets_the_request() {
    let seen = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&seen);
    let session = sampled(Policy::text(), move |request| {
        *keep.lock().expect("whole") = Some(request);
        std::future::ready(said("yes"))
    })
    .await;
    let response = session
        .call(ToolCall::new("call_7", "think", r#"{"prompt": "Well?"}"#))
        .await;
    assert_eq!(response.data_json(), Some(r#""yes|small-1|""#));
    let request = seen.lock().expect("whole").take().expect("a request");
    let origin = (
        request.session.as_str(),
        request.call_id.as_str(),
        request.tool.as_str(),
    );
    assert_eq!(origin, ("s-1", "call_7", "think"));
    assert_eq!(request.messages.len(), 1);
    assert_eq!(
        (request.messages[0].role, &request.messages[0].content[0]),
        (Role::User, &Content::text("Well?"))
    );
    assert_eq!(
        (request.system_prompt.as_deref(), request.max_tokens),
        (Some("Be short."), 4_096)
    );
}

// R-Q2
#[tokio::test]
async fn request_without_a_handler_fails_at_once() {
    let session = runtime(all_tools(), Policy::text())
        .session("s-1", Mode::Text)
        .await
        .expect("a session");
    for (tool, setter) in [("think", "on_sampling"), ("folders", "on_roots")] {
        let response = call(&session, tool, json!({"prompt": "?"})).await;
        assert_eq!(kind(&response), Some(ErrorKind::Permanent), "{response:?}");
        assert!(
            message(&response).contains(setter),
            "{}",
            message(&response)
        );
    }
}

// R-Q2
#[tokio::test]
async fn each_kind_of_request_has_its_nearest_handler() {
    let answers = |text: &'static str| move |_: SamplingRequest| std::future::ready(said(text));
    let runtime = Runtime::builder(all_tools())
        .policy(Policy::text().repeated_calls(None))
        .on_sampling(answers("of the runtime"));
    let runtime = runtime.build().expect("a runtime");
    let session = runtime
        .session("s-1", Mode::Text)
        .on_log(|_: &LogMessage| {})
        .await
        .expect("a session");
    let think = || asked("think_by_another", json!({}));
    let data = |response: tool_core::ToolResponse| response.data::<String>().expect("a text");
    assert!(data(session.call(think()).await).starts_with("of the runtime"));
    let own = think()
        .on_sampling(answers("of the call"))
        .on_question(async |_: Question| Ok(Answer::Declined));
    assert!(data(session.call(own).await).starts_with("of the call"));
    let other = think().on_question(async |_: Question| Ok(Answer::Declined));
    assert!(
        data(session.call(other).await).starts_with("of the runtime"),
        "the call has another handler only"
    );
}

// R-Q5
#[tokio::test]
async fn requests_count_together_with_questions() {
    let session = runtime(all_tools(), Policy::text()).session("s-1", Mode::Text);
    let session = session.on_sampling(async |_: SamplingRequest| said("yes"));
    let session =
        session.on_question(async |_: Question| Ok(Answer::Accepted(json!({"answer": true}))));
    let session = session.await.expect("a session");
    assert_eq!(
        call(&session, "ask_both", json!({"times": 1_000}))
            .await
            .data_json(),
        Some("8")
    );
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn time_of_the_model_is_no_time_of_the_call() {
    let session = sampled(Policy::text(), |_| async {
        sleep(Duration::from_secs(200)).await;
        said("late")
    });
    let response = call(&session.await, "think", json!({"prompt": "?"})).await;
    assert!(response.is_ok(), "{response:?}");
    let session = sampled(Policy::text(), |_| pending()).await;
    let began = Instant::now();
    assert_eq!(
        kind(&call(&session, "think", json!({"prompt": "?"})).await),
        Some(ErrorKind::Timeout)
    );
    assert_eq!(began.elapsed().as_secs(), 300);
}

// R-Q4
#[tokio::test]
async fn cancelled_call_takes_its_request_away() {
    let (removed, shown) = (Counter::default(), Arc::new(Notify::new()));
    let (ends, notify) = (removed.clone(), Arc::clone(&shown));
    let session = sampled(Policy::text(), move |_| {
        notify.notify_one();
        let shown = OnDrop(ends.clone());
        async move {
            let _shown = shown;
            pending().await
        }
    })
    .await;
    let think = asked("think", json!({"prompt": "?"}));
    let id = think.id().to_owned();
    let (response, ()) = tokio::join!(session.call(think), async {
        shown.notified().await;
        assert!(session.cancel(&id));
    });
    assert_eq!(
        (kind(&response), removed.get()),
        (Some(ErrorKind::Cancelled), 1)
    );
}

// R-Q8
#[tokio::test]
async fn answer_of_a_model_is_bounded() {
    let text = |bytes: usize| "x".repeat(bytes);
    let session = sampled(Policy::text(), move |request| {
        let bytes = match &request.messages[0].content[0] {
            Content::Text { text } => text.parse::<usize>().expect("a number"),
            _ => 0,
        };
        let mut answer = SamplingAnswer::new(
            format!("a\u{202e}{}", text(1_000)),
            [Content::text(text(bytes))],
        );
        answer.stop_reason = Some(format!("\n{}", text(1_000)));
        std::future::ready(Ok(answer))
    })
    .await;
    let response = call(&session, "think", json!({"prompt": "10"})).await;
    let data = response.data::<String>().expect("a text");
    let parts = data.split('|').map(str::len).collect::<Vec<_>>();
    assert!(
        parts[0] == 10 && parts[1] < 250 && parts[2] < 250,
        "{parts:?}"
    );
    assert!(!data.contains(['\u{202e}', '\n']), "{data}");
    let response = call(&session, "think", json!({"prompt": "1048577"})).await;
    assert_eq!(
        kind(&response),
        Some(ErrorKind::Transient),
        "{}",
        message(&response)
    );
    assert!(
        message(&response).contains("at most 1048576 bytes, got 1048577 bytes"),
        "{}",
        message(&response)
    );
}

// R-Q8
#[tokio::test]
async fn usage_of_the_model_is_recorded_in_its_span() {
    let session = sampled(Policy::text(), |_| async {
        let mut answer = SamplingAnswer::new("small-1", [Content::text("yes")]);
        answer.usage = Some(TokenUsage {
            input: 7,
            output: 5,
            ..TokenUsage::default()
        });
        Ok(answer)
    })
    .await;
    let collector = Collector::new();
    collector
        .run(call(&session, "think", json!({"prompt": "?"})))
        .await;
    let report = collector.report();
    let span = report
        .spans()
        .iter()
        .find(|span| span.kind() == SpanKind::Llm)
        .expect("a span of the model");
    assert!(span.parent().is_some());
    assert_eq!(report.totals().tracked.usage.total(), 12);
}

// R-Q8
#[tokio::test]
async fn hostile_roots_are_left_out() {
    let long = format!("file:///{}", "x".repeat(5_000));
    let hostile = ["file:///a\nb", "file:///a\u{202e}", long.as_str()].map(Root::new);
    let named = Root::new("file:///ok").name(format!("\u{7}{}", "n".repeat(1_000)));
    let roots = rooted(hostile.into_iter().chain([named]).collect()).await;
    assert_eq!(roots.len(), 1, "{roots:?}");
    assert!(
        roots[0].starts_with("file:///ok") && roots[0].len() < 250 && !roots[0].contains('\u{7}'),
        "{roots:?}"
    );
    let many = rooted(
        (0..10_000)
            .map(|at| Root::new(format!("file:///{at}")))
            .collect(),
    )
    .await;
    assert_eq!(many.len(), 1_000);
}

// R-Q9
#[tokio::test]
async fn log_message_reaches_the_client_redacted() {
    let data = json!({"data": {"user": "ann", "password": "canary"}});
    let policy = Policy::text().redaction(Redaction::new().key("user"));
    let heard = heard(policy, "write_log", data).await;
    let [message] = heard.as_slice() else {
        panic!("{heard:?}")
    };
    assert_eq!(
        (message.session.as_str(), message.call_id.as_str()),
        ("s-1", "call_7")
    );
    assert_eq!(
        (message.tool.as_str(), message.level),
        ("write_log", LogLevel::Notice)
    );
    assert_eq!(message.logger, r"mail\u{202e}");
    assert_eq!(
        message.data,
        json!({"user": "[redacted]", "password": "[redacted]"})
    );
}

// R-Q9
#[tokio::test]
async fn log_message_of_a_nested_call_reaches_the_client() {
    let heard = heard(Policy::text(), "write_log_by_another", json!({})).await;
    assert_eq!(
        heard
            .iter()
            .map(|message| message.call_id.as_str())
            .collect::<Vec<_>>(),
        ["call_7.1"]
    );
}

// R-Q9
#[tokio::test]
async fn log_message_is_bounded() {
    for data in [
        json!("x".repeat(500_000)),
        json!((0..100_000).collect::<Vec<_>>()),
    ] {
        let heard = heard(Policy::text(), "write_log", json!({"data": data})).await;
        assert_eq!(
            heard[0].data.as_str().expect("a text").chars().count(),
            (16 << 10) + 3
        );
    }
}

// R-Q9
#[tokio::test]
async fn call_that_has_ended_logs_to_tracing_only() {
    /// Keep the context.
    #[tool]
    fn keep_context(ctx: RunContext) {
        ctx.user_data::<Mutex<Option<RunContext>>>()
            .expect("a place")
            .lock()
            .expect("whole")
            .replace(ctx.clone());
    }
    let (kept, heard) = (Arc::new(Mutex::new(None::<RunContext>)), Counter::default());
    let counted = heard.clone();
    let session = runtime(tools![keep_context], Policy::text()).session("s-1", Mode::Text);
    let session = session
        .user_data_shared(Arc::clone(&kept))
        .on_log(move |_: &LogMessage| _ = counted.add());
    call(
        &session.await.expect("a session"),
        "keep_context",
        json!({}),
    )
    .await;
    kept.lock()
        .expect("whole")
        .take()
        .expect("a context")
        .log(LogLevel::Error, "late", 1);
    assert_eq!(heard.get(), 0);
}

// R-Q9
#[test]
fn log_message_reaches_tracing_at_its_level() {
    let lines = logged(Level::INFO, async {
        let ctx = RunContext::builder().call_id("call_7").build();
        ctx.log(LogLevel::Debug, "mail", "hidden");
        ctx.log(
            LogLevel::Critical,
            "mail",
            json!({"token": "canary", "at": 1}),
        );
    });
    let lines = lines
        .iter()
        .filter(|line| line.target == "tool_core::log")
        .collect::<Vec<_>>();
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(line.level, "ERROR");
    assert!(
        line.fields.contains("level=critical") && line.fields.contains("call_id=call_7"),
        "{}",
        line.fields
    );
    assert!(
        line.fields.contains(r#""at":1"#) && !line.fields.contains("canary"),
        "{}",
        line.fields
    );
}
