//! The error of a conversation that cannot be opened.

use thiserror::Error;
use tool_core::ToolError;
use tool_core::session::{HistoryStoreError, OpenError};

/// The error of a conversation that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenAgentError {
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] OpenError),
    /// The conversation cannot be read or written.
    #[error(transparent)]
    History(#[from] HistoryStoreError),
    /// A call of the conversation has no result, and may still be running in this process or in
    /// another one. Open the conversation again once it has ended.
    #[error("{0}")]
    Running(ToolError),
    /// An engine cannot run the conversation: see [`AgentLoop::open_durable`](crate::agent::AgentLoop::open_durable).
    #[error("the conversation cannot be opened with an engine: {0}")]
    Durable(ToolError),
}
