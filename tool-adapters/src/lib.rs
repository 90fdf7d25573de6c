//! The adapters of tool-core: to providers, transports, stores, telemetry and other frameworks.
//!
//! Declarations, protocols, provider tools and the lint need no feature. Everything else is behind a feature of its name.

/// Implements `Debug` with these fields only, as the others may hold keys.
#[allow(unused_macros, reason = "few features need it")]
macro_rules! debug_only {
    ($type:ident $(<$generic:ident>)?, |$this:ident| $($field:ident: $value:expr),+) => {
        impl $(<$generic>)? std::fmt::Debug for $type $(<$generic>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &$value))+.finish_non_exhaustive()
            }
        }
    };
}

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "egress")]
pub mod egress;
pub mod interop;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "oauth2")]
pub mod oauth2;
pub mod providers;
pub mod stores;
pub mod telemetry;
pub mod transport;

#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use interop::ConvertError;
pub use providers::{
    Declarations, DeclareOptions, LintReport, Protocol, Provider, Report, UnknownProvider, declare, declare_tools,
    declare_with, lint, lint_for, protocol,
};
