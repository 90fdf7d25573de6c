//! The Model Context Protocol: tools served to any client, and a server's tools imported.
#![doc = include_str!("mcp.md")]

mod import;
mod serve;
mod sole;

pub use import::{Import, ImportError, Imported, PinError, Pins, Quarantined, Why};
pub use serve::{Bound, Client, Server};
