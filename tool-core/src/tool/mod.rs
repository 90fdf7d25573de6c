//! Tools: function tools, provider tools and toolsets, and what is known of each.

mod body;
mod definition;
mod derived;
mod function;
mod into_tool;
mod lifecycle;
mod names;
mod options;
mod provider;
mod raw;
mod set;
mod toolset;

pub use definition::{Source, ToolDefinition};
pub use derived::{Derived, ToolsetExt, combined};
pub use function::FunctionTool;
pub use into_tool::IntoTool;
pub use options::{Category, Confirm, DuplicateScope, Flags, Mode, Modes, OnDuplicate};
pub use provider::{ProviderId, ProviderTool};
pub use raw::{RawHandler, RawStateHandler, RawTool};
pub use toolset::{LifecycleFuture, Tool, ToolKind, Toolset};

pub(crate) use body::Definition;
pub(crate) use function::Handler;
pub(crate) use lifecycle::each;
#[cfg(feature = "agents")]
pub(crate) use lifecycle::why_it_ended;
pub(crate) use names::{check_name, check_raw_name, normalised};
