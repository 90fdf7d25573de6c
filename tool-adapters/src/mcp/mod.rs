//! The Model Context Protocol: tools served to any client, and a server's tools imported.
#![doc = include_str!("mcp.md")]

mod serve;
mod sole;

pub use serve::{Bound, Client, Server};
