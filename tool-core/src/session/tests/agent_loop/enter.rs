//! Replies with which an agent enters a conversation.

use crate::call::mode::Mode;
use crate::registry::ToolContext;
use crate::session::history::History;
use crate::session::policy::Policy;
use crate::session::runtime::Runtime;
use crate::session::tests::agent_loop::{ECHO, echo};
use crate::testing::scripted::ScriptedModel;
use crate::tool::toolset::{IntoTool, Tool, Toolset};
use std::sync::Arc;
use tool_macros::tool;

/// Greet again.
#[tool(name = "greet_in_enter_tests", ignore_on_enter)]
fn greet() {}

/// A toolset with a tool that is ignored when the agent enters.
struct Nested;

impl Toolset for Nested {
    fn id(&self) -> &'static str {
        "nested_in_enter_tests"
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        greet.into_tool().into_iter().collect()
    }
}

async fn shown(enter: bool) -> Vec<String> {
    let tools = ToolContext::builder()
        .with(echo)
        .with(Nested)
        .build()
        .expect("sound");
    let runtime = Runtime::builder(tools)
        .policy(Policy::text())
        .build()
        .expect("sound");
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    let mut model = ScriptedModel::new().says("hello");
    let mut history = History::new();
    let reply = if enter {
        session.reply_on_enter(&mut model, &mut history).await
    } else {
        session.reply(&mut model, &mut history, "hi").await
    };
    assert_eq!(reply.text.as_deref(), Some("hello"));
    model.requests()[0].tools.clone()
}

// L15
#[tokio::test]
async fn entering_hides_tools_that_are_ignored_on_enter() {
    assert_eq!(shown(true).await, [ECHO]);
}

// L15
#[tokio::test]
async fn other_replies_show_tools_that_are_ignored_on_enter() {
    assert_eq!(shown(false).await, [ECHO, "greet_in_enter_tests"]);
}
