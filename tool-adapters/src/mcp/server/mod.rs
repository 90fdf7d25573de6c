//! A server of a runtime's tools. Every call goes through a session, which holds budgets, deadlines and approvals.
//!
//! - `builder`: the public `Server`; `state`: settings and data that all connections share
//! - `http`, `stdio`: the two transports; `strict`: the check of each message before rmcp reads it
//! - `connection`: the handler of one connection; `session`: the session behind it
//! - `list`: `tools/list`; `result`: responses as results of `tools/call`; `confirm`: approval by the client's user

mod builder;
mod confirm;
mod connection;
mod http;
mod list;
mod result;
mod session;
mod state;
mod stdio;
mod strict;

pub use crate::mcp::server::builder::Server;
pub use crate::mcp::server::http::BoundServer;
pub use crate::mcp::server::state::ClientInfo;
