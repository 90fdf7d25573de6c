//! The reply with which an agent enters.

use crate::call::mode::Mode;
use crate::registry::ToolContext;
use crate::session::model::History;
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

/// Holds a tool that is not for the entrance.
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
    let tools = ToolContext::builder().with(echo).with(Nested).build().expect("sound");
    let runtime = Runtime::builder(tools).policy(Policy::text()).build().expect("sound");
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    let (mut model, mut history) = (ScriptedModel::new().says("hello"), History::new());
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
async fn a_tool_that_ignores_the_entrance_is_not_shown_while_the_agent_enters() {
    assert_eq!(shown(true).await, [ECHO]);
}

// L15
#[tokio::test]
async fn in_any_other_reply_it_is_shown() {
    assert_eq!(shown(false).await, [ECHO, "greet_in_enter_tests"]);
}
