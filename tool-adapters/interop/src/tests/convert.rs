//! Tools and a session for the tests of the conversions.

use tool_core::{Content, Mode, Runtime, Session, ToolContext, ToolError, toolset};

struct Desk;

#[allow(clippy::unused_self, reason = "tools as their authors write them")]
#[toolset(discover = false)]
impl Desk {
    /// Book a table.
    #[tool]
    fn book(
        &self,
        #[arg(range(1..=12))] guests: u8,
        name: Option<String>,
    ) -> Result<String, ToolError> {
        match name {
            Some(name) => Ok(format!("{guests} for {name}")),
            None => Err(ToolError::transient("the book is open elsewhere")),
        }
    }

    /// Break.
    #[tool]
    fn break_down(&self) -> Result<(), ToolError> {
        Err(ToolError::internal("password=hunter2"))
    }

    /// Show the room.
    #[tool]
    fn show(&self) -> Vec<Content> {
        vec![
            Content::text("the room"),
            Content::image("aGk=", "image/png"),
        ]
    }
}

pub(crate) fn tools() -> ToolContext {
    ToolContext::builder().with(Desk).build().expect("tools")
}

pub(crate) async fn session() -> Session {
    Runtime::builder(tools())
        .build()
        .expect("a runtime")
        .session("s", Mode::Text)
        .await
        .expect("a session")
}
