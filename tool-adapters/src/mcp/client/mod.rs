//! A client that imports a server's tools as function tools.
//!
//! - `import`: the public builder and the imported toolset
//! - `remote`: the connection and the check of the server's list; `pins`: what each tool looked like at its first use
//! - `tool`: one imported tool, its calls and results

mod import;
mod pins;
mod remote;
mod tool;

pub use crate::mcp::client::import::{ImportedToolset, McpClient};
pub use crate::mcp::client::pins::{PinError, Pins};
pub use crate::mcp::client::remote::{ImportError, QuarantineReason, QuarantinedTool};
