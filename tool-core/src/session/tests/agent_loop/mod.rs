//! The agent loop over a session.

pub(crate) mod enter;
pub(crate) mod events;
pub(crate) mod fallback;
pub(crate) mod finish;
pub(crate) mod guards;
pub(crate) mod handoffs;
pub(crate) mod history;
pub(crate) mod interrupted;
pub(crate) mod log;
pub(crate) mod native;
pub(crate) mod session;
pub(crate) mod steps;
pub(crate) mod typed;

use crate::call::mode::Mode;
use crate::call::output::ToolOutput;
use crate::call::tool_call::ToolCall;
use crate::call::{RunContext, UserData};
use crate::registry::ToolContext;
use crate::session::handle::Session;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::policy::Policy;
use crate::session::reply::Reply;
use crate::session::runtime::Runtime;
use crate::testing::scripted::ScriptedModel;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use tool_macros::tool;

/// Say something back.
#[tool(
    name = "echo_in_reply_tests",
    category = "retrieval",
    guide = "src/session/tests/agent_loop/echo.md"
)]
fn echo(ctx: &RunContext, text: String) -> Result<String, String> {
    if let (Some(asked), Some(id)) = (ctx.user_data::<Asked>(), ctx.call_id()) {
        asked.0.lock().expect("unpoisoned").push(id.to_owned());
    }
    if text.is_empty() {
        Err("nothing to say".to_owned())
    } else {
        Ok(text)
    }
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

const BREAK_IN: &str = "break_in_in_reply_tests";
const ECHO: &str = "echo_in_reply_tests";
const HUSH: &str = "hush_in_reply_tests";
const WAIT: &str = "wait_in_reply_tests";
const PEEK: &str = "peek_in_reply_tests";

/// Let the user speak.
#[tool(name = "break_in_in_reply_tests")]
fn break_in(#[context] session: UserData<OnceLock<Session>>) {
    session.get().expect("opened").interrupt();
}

/// The ids of the calls of `echo`.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

/// A session in memory, outside of a tokio runtime.
struct Bare {
    session: Session,
    asked: Arc<Asked>,
}

fn bare() -> Bare {
    bare_with(3)
}

fn bare_with(steps: u32) -> Bare {
    let tools = ToolContext::builder()
        .with(echo)
        .with(hush)
        .with(wait)
        .with(peek)
        .with(break_in)
        .build();
    let policy = Policy::text().max_tool_steps(steps).repeated_calls(None);
    let runtime = Runtime::builder(tools.expect("sound"))
        .policy(policy)
        .build()
        .expect("sound");
    let asked = Arc::new(Asked::default());
    let own = Arc::new(OnceLock::new());
    let opening = runtime
        .session("s", Mode::Text)
        .user_data_shared(Arc::clone(&asked));
    let session =
        finished(opening.user_data_shared(Arc::clone(&own)).into_future()).expect("a session");
    own.set(session.clone()).expect("set once");
    Bare { session, asked }
}

fn say(id: &str, text: &str) -> ToolCall {
    ToolCall::new(id, ECHO, serde_json::json!({"text": text}))
}

pub(crate) fn finished<T>(work: impl Future<Output = T>) -> T {
    match poll(pin!(work)) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it has to be over at once"),
    }
}

fn poll<T>(work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    work.poll(&mut Context::from_waker(Waker::noop()))
}

fn ask(bare: &Bare, model: &mut ScriptedModel, history: &mut History) -> Reply {
    finished(bare.session.reply(model, history, "hello"))
}

/// Returns each result as its call id, its text, and true for an error.
fn results(history: &History) -> Vec<(&str, &str, bool)> {
    let all = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Result {
                call_id, result, ..
            } => Some((call_id.as_str(), result.text.as_str(), result.is_error)),
            _ => None,
        });
    all.collect()
}

fn called(history: &History) -> Vec<&ToolCall> {
    let all = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { calls, .. } => Some(calls),
            _ => None,
        });
    all.flatten().collect()
}
