//! A gateway before MCP servers: the program `tool-gateway`, for people who write no Rust.
//!
//! It reads the servers that a person has configured for an MCP client, and offers their tools
//! under policies: budgets, modes, approvals, loop detection, deadlines, limits of size, pins,
//! egress rules and an audit log. See the chapter on the gateway in the book.
//!
//! - `command`: the command line; `log`: its log; `files`: its files, and `problems`, `source` and
//!   `value`: what is common to them
//! - `config`: the servers, in the JSON of clients, whose members `document` reads
//! - `policy_file`: each setting of a policy, with `setting_types`: the forms of their values,
//!   which `reader` reads
//! - `policy`: what the settings decide and how `--check` shows it, `conditions`: the calls about
//!   which a rule asks, and `spellings`: those of URIs
//! - `login`: the logins at servers
//! - `upstream`: the connection to a server; `governed`: the tools of all servers under the
//!   policies
//! - `running`: a running gateway and its reloads; `health`: its addresses over HTTP, and the
//!   routes for machines; `store_check`: the session store, for `/readyz`
//! - `stop_signals`: the signals that end the program
//! - `audit`: the hook that records calls; `audit_sinks`: the file and the table of the records

mod audit;
mod audit_sinks;
mod command;
mod conditions;
mod config;
mod document;
mod files;
mod governed;
mod health;
mod log;
mod login;
mod policy;
mod policy_file;
mod problems;
mod reader;
mod running;
mod setting_types;
mod source;
mod spellings;
mod stop_signals;
mod store_check;
mod tool_choice;
mod unlisted;
mod upstream;
mod value;

pub use crate::command::main;
pub use crate::files::{GatewayError, GatewayFiles};
pub use crate::running::Gateway;
pub use crate::upstream::ServerStatus;
pub use tool_adapters_http::serve::BoundServer;
