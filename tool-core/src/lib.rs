//! Tools for language models: an ordinary method under [`#[tool]`](macro@tool) becomes a tool that
//! any model can call.
//!
//! ```standalone_crate
//! use tool_core::{RunContext, ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, #[arg(default)] b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_core::RegistryErrors> {
//! let tools = ToolContext::discover()?;
//! let answer = tools.call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached()).await;
//! assert_eq!(answer.data_json(), Some("3"));
//! # Ok(())
//! # }
//! ```
//!
//! - **Writing tools**: [`tool`](macro@tool), [`toolset`](macro@toolset), [`prompt`](macro@prompt),
//!   [`resource`](macro@resource),
//!   [`ToolError`](derive@ToolError),
//!   [`ToolOutput`], [`Timestamp`], [`RunContext`], and [`FromRunContext`] for other values of a run.
//! - **Tool contexts**: [`ToolContext`], [`Registry`], [`ToolsetExt`], [`FunctionTool::raw`],
//!   [`ProviderTool`].
//! - **Calls**: [`ToolContext::call`] and its [`ToolResponse`]; see [`call`].
//! - **Sessions and limits**: [`Runtime`], [`Session`] and [`Policy`]; see [`session`].
//! - **Configuration and secrets**: [`Configure`], [`Secret`], and [`agents`] for records in a
//!   database.
//! - **Descriptions**: [`ToolDefinition`], and [`describe`] for actions, guides and the manifest.
//! - **Tracing and cost**: [`trace`].
//! - **Testing**: [`testing`].
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `patterns` | yes | regular expressions in schemas; without it a tool with a `pattern` is refused, and a program is 1.5 MB smaller |
//! | `session` | yes | [`session`]: the governed runtime; [`describe::Manifest`]; without it calls are bare ones |
//! | `trace` | yes | spans, token usage and cost; without it the same code compiles and opens no span |
//! | `agents` | no | [`agents`]: toolsets, settings and sealed secrets from a database |
//! | `tower` | no | [`RuntimeBuilder::layer`](session::RuntimeBuilder::layer); [`Runtime`] and [`Session`] are services of tower |
//! | `testing` | no | [`testing`]: a client, a scripted model, trials of models, assertions, conformance suites for stores; for `[dev-dependencies]` |

#![cfg_attr(docsrs, feature(doc_cfg))]
// Sessions use most of the rest.
#![cfg_attr(not(feature = "session"), allow(dead_code, unused_imports))]

#[doc(hidden)]
pub mod __private;
// The macros name this crate from outside; tests use them inside.
#[cfg(test)]
extern crate self as tool_core;

#[cfg(feature = "agents")]
pub mod agents;
pub mod arguments;
pub mod call;
pub mod describe;
pub mod json;
pub mod registry;
pub mod schema;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod time;
pub mod tool;
pub mod trace;

#[cfg(feature = "agents")]
pub use agents::Agents;
pub use call::{
    CancellationToken, Content, ErrorKind, FromRunContext, Handoff, Intent, Mode, Progress,
    ResultExt, RunContext, ToolCall, ToolError, ToolOutput, ToolResponse, UserData,
};
pub use registry::{Registry, RegistryErrors, ToolContext};
pub use schema::timestamp::Timestamp;
#[cfg(feature = "session")]
pub use session::{Policy, Runtime, Session, SessionId};
pub use tool::{
    Auth, Category, Configure, FunctionTool, ProviderTool, RawTool, Secret, Tool, ToolDefinition,
    Toolset, ToolsetExt,
};

#[doc = include_str!("docs/tool_error.md")]
#[doc(inline)]
pub use tool_macros::ToolError;
#[doc = include_str!("docs/agent.md")]
#[doc(inline)]
pub use tool_macros::agent;
#[doc = include_str!("docs/prompt.md")]
#[doc(inline)]
pub use tool_macros::prompt;
#[doc = include_str!("docs/resource.md")]
#[doc(inline)]
pub use tool_macros::resource;
#[doc = include_str!("docs/tool.md")]
#[doc(inline)]
pub use tool_macros::tool;
#[doc(inline)]
pub use tool_macros::tool_type;
#[doc = include_str!("docs/toolset.md")]
#[doc(inline)]
pub use tool_macros::toolset;

#[doc(no_inline)]
pub use {jiff, schemars, serde, serde_json};
