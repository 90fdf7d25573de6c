//! A client that imports a server's tools as function tools.
//!
//! - `import`: the public builder, the imported toolset, and the calls of its tools
//! - `message`: the one reader of a server's messages
//! - `address`: the connection over each transport; `process`: a server's process;
//!   `line_transport`: its messages
//! - `http_client`: the requests over HTTP; `http_answer`: their answers
//! - `credentials`: headers and tokens; `logins`: tokens of OAuth; `names`: names without keys
//! - `answer`: results as outputs of tools; `tasks`: tools that run as tasks; `routes`: messages
//!   for calls in flight
//! - `direct`: tool calls that do not pass through rmcp
//! - `exchange`: a request and what the server sends meanwhile; `requests`: its requests to the
//!   user; `sampling`: those to the model; `budget`: what they may cost
//! - `catalog`: prompts and resources; `resource_tools`: tools that read resources
//! - `changes`: changes of lists and resources; `subscriptions`: the resources whose changes are
//!   wanted
//! - `remote`: a connected server and the check of its list; `lists`: its lists, page by page;
//!   `notices`: its notifications; `rate_limit`: the rate of them
//! - `quarantine`: refused tools; `offered_names`: the names under which tools are offered
//! - `options`: the client's options; `rights`: the requests that the host allows
//! - `pins`: the fingerprints of declarations at their first use

mod address;
mod answer;
mod budget;
mod catalog;
mod changes;
mod credentials;
mod declared;
mod direct;
mod error;
mod exchange;
mod http_answer;
mod http_client;
mod import;
mod line_transport;
mod lists;
#[cfg(feature = "auth")]
mod logins;
mod message;
mod names;
mod notices;
mod offered_names;
mod options;
mod pins;
mod plain_client;
mod process;
mod quarantine;
mod rate_limit;
mod remote;
mod requests;
mod resource_tools;
mod rights;
mod routes;
mod sampling;
mod subscriptions;
mod tasks;

pub use crate::client::budget::SamplingBudget;
pub use crate::client::changes::{ServerChange, ServerChanges};
pub use crate::client::error::ImportError;
pub use crate::client::import::{ImportedToolset, McpClient};
pub use crate::client::pins::{PinError, Pins};
pub use crate::client::quarantine::messages;
pub use crate::client::quarantine::{QuarantineReason, QuarantinedTool};
