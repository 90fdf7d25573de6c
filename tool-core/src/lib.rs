//! Tools for language models: an ordinary method under [`#[tool]`](macro@tool) becomes a tool that any model can call.
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
//! - **Writing tools**: [`tool`](macro@tool), [`toolset`](macro@toolset), [`ToolError`](derive@ToolError),
//!   [`ToolOutput`], [`Timestamp`], [`RunContext`] and what else a tool can take from the run ([`FromRunContext`]).
//! - **Putting them together**: [`ToolContext`], [`Registry`], [`ToolsetExt`], [`FunctionTool::raw`], [`ProviderTool`],
//!   [`Configure`].
//! - **Calling them**: [`ToolContext::call`] and the [`ToolResponse`] that it always gives.
//! - **Governing them**: [`Runtime`] and [`Session`]: budgets, modes, loops, confirmation, deadlines; see [`runtime`].
//! - **Showing them**: [`ToolDefinition`], [`actions`], [`manifest`], [`Guide`].
//! - **Testing them**: [`testing`].

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;
#[doc(hidden)]
#[path = "shared.rs"]
pub mod __shared;
// The macros name this crate from outside; tests use them inside.
#[cfg(test)]
extern crate self as tool_core;

pub mod actions;
#[cfg(feature = "agents")]
pub mod agents;
mod arguments;
mod call;
mod canonical;
mod compare;
mod configure;
mod context;
mod guide;
mod json;
pub mod manifest;
mod name;
mod pointer;
mod redact;
mod response;
mod run;
pub mod runtime;
mod schema;
pub mod testing;
pub mod text;
mod timestamp;
mod tool;
pub mod trace;

#[cfg(feature = "agents")]
pub use agents::{AgentError, AgentErrorKind, AgentToolStore, AgentTools, Agents};
pub use arguments::{Coercions, Problem};
pub use call::{Arguments, ToolCall};
pub use compare::Fingerprint;
pub use configure::{
    AccessToken, Auth, BasicAuth, Configure, ConfigureError, Configured, OAuth2, Secret, SecretDocument, TokenSource,
    ToolsetFactory, ToolsetMetadata,
};
pub use context::{Registry, RegistryError, RegistryErrors, SetupFailure, ToolContext, ToolContextBuilder};
pub use guide::{Guide, GuideExample};
pub use redact::Redaction;
pub use response::{
    Confirmation, Content, ErrorBody, ErrorKind, Form, Intent, IntoToolError, IntoToolOutput, Meta, ModelResult,
    ResultForm, SCHEMA_VERSION, SizeUnit, ToolError, ToolOutput, ToolResponse, Truncated,
};
pub use run::{CancellationToken, FromRunContext, Progress, RunContext, RunContextBuilder, State, Update, UserData};
pub use runtime::{Policy, Runtime, Session, SessionId, SessionState, SessionStore};
pub use timestamp::Timestamp;
pub use tool::{
    Category, Confirm, Derived, DuplicateScope, Flags, FunctionTool, IntoTool, LifecycleFuture, Mode, Modes,
    OnDuplicate, ProviderId, ProviderTool, RawHandler, RawStateHandler, RawTool, Source, Tool, ToolDefinition,
    ToolKind, Toolset, ToolsetExt, combined,
};

#[doc = include_str!("docs/tool_error.md")]
#[doc(inline)]
pub use tool_macros::ToolError;
#[doc = include_str!("docs/agent.md")]
#[doc(inline)]
pub use tool_macros::agent;
#[doc = include_str!("docs/tool.md")]
#[doc(inline)]
pub use tool_macros::tool;
#[doc = include_str!("docs/toolset.md")]
#[doc(inline)]
pub use tool_macros::toolset;

#[doc(no_inline)]
pub use {jiff, schemars, serde, serde_json};
