//! Tools for language models.

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;
pub mod actions;
mod arguments;
mod call;
mod canonical;
mod configure;
mod context;
mod guide;
mod json;
pub mod manifest;
mod response;
mod run;
mod schema;
pub mod testing;
pub mod text;
mod timestamp;
mod tool;

pub use arguments::{Coercions, Problem};
pub use call::{Arguments, ToolCall};
pub use configure::{Auth, Configure, OAuth2, ToolsetMetadata};
pub use context::{Registry, RegistryError, RegistryErrors, SetupFailure, ToolContext, ToolContextBuilder};
pub use guide::{Guide, GuideExample};
pub use response::{
    Confirmation, Content, ErrorBody, ErrorKind, Form, Intent, IntoToolError, IntoToolOutput, Meta, SCHEMA_VERSION,
    SizeUnit, ToolError, ToolOutput, ToolResponse, Truncated,
};
pub use run::{CancellationToken, FromRunContext, Progress, RunContext, RunContextBuilder, State, Update, UserData};
pub use timestamp::Timestamp;
pub use tool::LifecycleFuture;
pub use tool::{
    Category, Confirm, Derived, DuplicateScope, Flags, FunctionTool, IntoTool, Mode, Modes, OnDuplicate, ProviderId,
    ProviderTool, RawHandler, RawStateHandler, RawTool, Source, Tool, ToolDefinition, ToolKind, Toolset, ToolsetExt,
    combined,
};

#[doc(inline)]
pub use tool_macros::{ToolError, tool, toolset};

#[doc(no_inline)]
pub use {schemars, serde, serde_json};
