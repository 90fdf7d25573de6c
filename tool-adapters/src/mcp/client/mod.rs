//! A client that imports a server's tools as function tools.
//!
//! - `import`: the public builder, the imported toolset, and the calls of its tools
//! - `remote`: the connection and the check of the server's list
//! - `pins`: the fingerprints of declarations at their first use

mod import;
mod pins;
mod remote;

pub use crate::mcp::client::import::{ImportedToolset, McpClient};
pub use crate::mcp::client::pins::{PinError, Pins};
pub use crate::mcp::client::remote::{ImportError, QuarantineReason, QuarantinedTool};
