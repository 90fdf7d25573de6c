//! The agent loop over a session without limits.

pub(crate) mod enter;
pub(crate) mod history;
pub(crate) mod interrupted;
pub(crate) mod native;
pub(crate) mod session;
pub(crate) mod steps;

use crate::call::context::RunContext;
use crate::call::output::ToolOutput;
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::session::agent_loop::{AnswerSink, Caller, Reply, ReplyStart, reply};
use crate::session::model::{History, Message, ToolChoice};
use crate::testing::scripted::ScriptedModel;
use crate::tool::definition::ToolDefinition;
use crate::tool::provider::ProviderTool;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tool_macros::tool;

/// Say something back.
#[tool(name = "echo_in_reply_tests", category = "retrieval")]
fn echo(text: String) -> Result<String, String> {
    if text.is_empty() { Err("nothing to say".to_owned()) } else { Ok(text) }
}

/// Say nothing more.
#[tool(name = "hush_in_reply_tests")]
fn hush() -> ToolOutput {
    ToolOutput::stop()
}

/// Wait for ever.
#[tool(name = "wait_in_reply_tests")]
async fn wait() {
    std::future::pending::<()>().await;
}

/// Wait for ever, without leaving a trace.
#[tool(name = "peek_in_reply_tests", category = "retrieval")]
async fn peek() {
    std::future::pending::<()>().await;
}

/// The name of a call during which the user speaks.
const BREAK_IN: &str = "break_in";
const ECHO: &str = "echo_in_reply_tests";
const HUSH: &str = "hush_in_reply_tests";
const WAIT: &str = "wait_in_reply_tests";
const PEEK: &str = "peek_in_reply_tests";

/// A session that calls tools one by one, those that return at once first, and records the ids of the calls.
struct Bare {
    tools: ToolContext,
    steps: u32,
    asked: Mutex<Vec<String>>,
    interruptions: AtomicU64,
}

impl Caller for Bare {
    fn instructions(&self) -> String {
        "Be kind.".to_owned()
    }

    fn tools(&self, _: ReplyStart) -> Vec<ToolDefinition> {
        self.tools.definitions().cloned().collect()
    }

    fn provider_tools(&self) -> &[Arc<dyn ProviderTool>] {
        self.tools.provider_tools()
    }

    fn max_tool_steps(&self) -> u32 {
        self.steps
    }

    fn interruptions(&self) -> u64 {
        self.interruptions.load(Ordering::Relaxed)
    }

    fn canonical_arguments(&self, call: &ToolCall) -> String {
        // Any text that differs from the one that was sent.
        format!("{} ", call.arguments())
    }

    async fn run(&self, calls: Vec<ToolCall>, sink: AnswerSink<'_>) {
        let (slow, quick) = calls.into_iter().partition::<Vec<_>, _>(|call| [WAIT, PEEK].contains(&call.name()));
        for call in quick.into_iter().chain(slow) {
            self.asked.lock().expect("unpoisoned").push(call.id().to_owned());
            let ctx = RunContext::builder().call_id(call.id()).build();
            if call.name() == BREAK_IN {
                self.interruptions.fetch_add(1, Ordering::Relaxed);
            }
            sink(self.tools.call(call.name(), call.arguments(), &ctx).await);
        }
    }
}

fn bare() -> Bare {
    let tools = ToolContext::builder().with(echo).with(hush).with(wait).with(peek).build().expect("sound");
    Bare { tools, steps: 3, asked: Mutex::default(), interruptions: AtomicU64::new(0) }
}

fn say(id: &str, text: &str) -> ToolCall {
    ToolCall::new(id, ECHO, serde_json::json!({"text": text}))
}

fn finished<T>(work: impl Future<Output = T>) -> T {
    match poll(pin!(work)) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it has to be over at once"),
    }
}

fn poll<T>(work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    work.poll(&mut Context::from_waker(Waker::noop()))
}

fn ask(session: &Bare, model: &mut ScriptedModel, history: &mut History) -> Reply {
    finished(reply(session, model, history, "hello".into(), ReplyStart::Asked(ToolChoice::Auto)))
}

/// Returns each result as its call id, its text, and true for an error.
fn results(history: &History) -> Vec<(&str, &str, bool)> {
    let all = history.messages().iter().filter_map(|message| match message {
        Message::Result { call_id, result, .. } => Some((call_id.as_str(), result.text.as_str(), result.is_error)),
        _ => None,
    });
    all.collect()
}

fn called(history: &History) -> Vec<&ToolCall> {
    let all = history.messages().iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    all.flatten().collect()
}
