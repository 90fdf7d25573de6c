//! The session in which a command calls tools.

use crate::output::{CommandError, CommandIo};
use crate::user_data::SessionUserData;
use tool_core::{Mode, RunContext, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Makes the calls of a command.
pub(crate) enum Caller {
    /// Calls through a session.
    Session(Session, ToolContext),
    /// Calls of declared tools, which only return their arguments.
    Echo(ToolContext),
}

impl Caller {
    /// Sets the toolsets up and opens a session, unless the tools only return their arguments.
    pub(crate) async fn open(
        tools: ToolContext,
        echoes: bool,
        user_data: &SessionUserData<'_>,
        io: &mut CommandIo<'_>,
    ) -> Result<Self, CommandError> {
        if echoes {
            return Ok(Self::Echo(tools));
        }
        let tools = set_up(tools, io).await;
        let runtime = Runtime::builder(tools.clone())
            .build()
            .map_err(CommandError::failure)?;
        let session = user_data.add_to(runtime.session("command-line", Mode::Text))?;
        let session = session.await.map_err(CommandError::failure)?;
        Ok(Self::Session(session, tools))
    }

    /// Makes a call. With `approve`, approves it if it needs confirmation.
    pub(crate) async fn call(&self, call: ToolCall, approve: bool) -> ToolResponse {
        match self {
            Self::Session(session, _) => {
                let response = session.call(call).await;
                match response.meta().confirmation().filter(|_| approve) {
                    Some(confirmation) => session.approve(&confirmation.token).await,
                    None => response,
                }
            }
            Self::Echo(tools) => {
                let ctx = RunContext::builder().call_id(call.id()).build();
                tools.call(call.name(), call.arguments(), &ctx).await
            }
        }
    }

    /// Begins the next turn, so that each call has its own budgets.
    pub(crate) async fn next_turn(&self) {
        if let Self::Session(session, _) = self {
            session.next_turn().await;
        }
    }

    /// Ends the session and closes the toolsets.
    pub(crate) async fn close(self, io: &mut CommandIo<'_>) {
        if let Self::Session(session, tools) = self {
            session.end().await;
            for failure in tools.close().await {
                io.note(&format!(
                    "warning: failed to close toolset `{}`: {}",
                    failure.toolset, failure.error
                ));
            }
        }
    }
}

/// Sets the toolsets up. Warns of those that fail, and returns the others.
pub(crate) async fn set_up(tools: ToolContext, io: &mut CommandIo<'_>) -> ToolContext {
    io.progress.begin();
    let (tools, failures) = io
        .wait(tools.setup(), || "setting the toolsets up".to_owned())
        .await;
    for failure in failures {
        io.note(&format!(
            "warning: failed to set up toolset `{}`: {}",
            failure.toolset, failure.error
        ));
    }
    tools
}
