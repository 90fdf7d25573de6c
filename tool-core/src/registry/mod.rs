//! Tool contexts: frozen, validated, shared sets of tools, and the discovery of linked tools.
//!
//! Use [`ToolContext::discover`] if a program offers all tools that are linked into it, and [`ToolContext::builder`] to pick them.
//! Both check every tool and report all problems at once, in [`RegistryErrors`].
//!
//! ```standalone_crate
//! use tool_core::{ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! let picked = ToolContext::builder().with(add).build()?;
//! let discovered = ToolContext::discover()?;
//! assert!(picked.has_tool("add") && discovered.has_tool("add"));
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```

pub(crate) mod context;
pub(crate) mod discovery;
pub(crate) mod freeze;
pub(crate) mod lifecycle;
pub(crate) mod prompts;
pub(crate) mod published;

pub use crate::registry::context::{SetupFailure, ToolContext, ToolContextBuilder};
pub use crate::registry::discovery::Registry;
pub use crate::registry::freeze::{RegistryError, RegistryErrors};
