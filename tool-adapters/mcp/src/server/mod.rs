//! A server of a runtime's tools. Every call goes through a session, which holds budgets, deadlines
//! and approvals.
//!
//! - `builder`: the public `Server`; `http`: the transport over HTTP, with `body`, `http_sessions`
//!   and `session_streams`
//! - `stdio`: the transport over lines; `standard_streams`: those of the process
//! - `message`: the one reader of a client's messages; `calls`: the calls under way, where a
//!   cancellation meets its call
//! - `request_ids`: random ids of the server's own requests
//! - `authorization`: the check of access tokens
//! - `client`: the identity of a client
//! - `connection`: the handler of one connection; `ongoing_call`: a call from its request to its
//!   answer; `direct`: calls, and other requests over HTTP, that do not pass through rmcp;
//!   `session`: the sessions of clients, and the data that all connections share
//! - `features`: the capabilities and methods that the tools need; `pages`: the pages of all lists
//! - `prompts`, `resources`; `skills`: the guides of tools; `changes`: the notifications of all
//!   that changes
//! - `tools`: `tools/list`, and responses as results of `tools/call`; `confirm`: approval by the
//!   client's user, and `unclaimed`: by the host; `asking`: work that may ask the client;
//!   `client_requests`: its requests, and `parked`: the work that waits for the answers;
//!   `forwarder`: their progress and log; `tasks`: calls that go on as tasks, and
//!   `task_records`: what other processes know of them

mod asking;
#[cfg(feature = "auth")]
mod authorization;
mod body;
mod builder;
mod calls;
mod changes;
mod client;
mod client_requests;
mod confirm;
mod connection;
mod direct;
mod features;
mod forwarder;
mod http;
mod http_sessions;
mod message;
mod ongoing_call;
mod open_answers;
mod pages;
mod parked;
mod passed_on;
mod prompts;
mod request_ids;
mod resources;
mod session;
mod session_streams;
mod skills;
mod standard_streams;
mod stdio;
mod task_records;
mod tasks;
mod tools;
mod unclaimed;

pub use crate::server::builder::Server;
pub use crate::server::changes::{ChangeNotifier, ResourceUpdate};
pub use crate::server::session::{ClientInfo, TaskSupport};
