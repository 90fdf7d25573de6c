//! A client that imports a server's tools as function tools.
//!
//! - `import`: the public builder, the imported toolset, and the calls of its tools
//! - `address`: the connection over each transport; `process`: a server's process; `line_transport`: its messages
//! - `credentials`: headers and tokens; `names`: names without keys
//! - `answer`: results as outputs of tools; `tasks`: tools that run as tasks; `routes`: messages for calls in flight
//! - `requests`: the server's requests to the user; `changes`: changes of its lists
//! - `remote`: a connected server and the check of its list; `notices`: its notifications; `quarantine`: refused tools
//! - `pins`: the fingerprints of declarations at their first use

mod address;
mod answer;
mod changes;
mod credentials;
mod error;
mod import;
mod line_transport;
mod names;
mod notices;
mod pins;
mod process;
mod quarantine;
mod remote;
mod requests;
mod routes;
mod tasks;

pub use crate::mcp::client::changes::{ServerChange, ServerChanges};
pub use crate::mcp::client::error::ImportError;
pub use crate::mcp::client::import::{ImportedToolset, McpClient};
pub use crate::mcp::client::pins::{PinError, Pins};
pub use crate::mcp::client::quarantine::{QuarantineReason, QuarantinedTool};
