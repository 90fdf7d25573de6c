//! A server of a runtime's tools. Every call goes through a session, which holds budgets, deadlines and approvals.
//!
//! - `builder`: the public `Server` and its HTTP transport; `stdio`: the transport over lines
//! - `strict`: the check of each message before rmcp reads it
//! - `connection`: the handler of one connection; `session`: the session behind it, and what all connections share
//! - `tools`: `tools/list`, and responses as results of `tools/call`; `confirm`: approval by the client's user

mod builder;
mod confirm;
mod connection;
mod session;
mod stdio;
mod strict;
mod tools;

pub use crate::mcp::server::builder::Server;
pub use crate::mcp::server::session::ClientInfo;
