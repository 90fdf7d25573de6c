//! The adapters of tool-core: to providers, transports, stores, telemetry and other frameworks.
//!
//! Declarations, protocols, provider tools and the lint need no feature. Everything else is behind a feature.
//!
//! # Features
//!
//! No feature is on by default. Those whose dependencies need a newer Rust than this crate name it.
//!
//! | feature | what it adds | Rust |
//! |---|---|---|
//! | `agent` | [`agent`]: the agent loop with any model | 1.89 |
//! | `http` | [`transport::http`]; has `agent` | 1.89 |
//! | `websocket` | [`transport::websocket`]; has `agent` | 1.89 |
//! | `mcp` | [`mcp`]: a server and a client of the Model Context Protocol | 1.89 |
//! | `mcp-auth` | access tokens and OAuth logins of [`mcp`]; has `mcp`, `oauth2` and `egress` | 1.89 |
//! | `cli` | [`cli`]: the command line | 1.89 |
//! | `gateway` | [`gateway`]: the program `tool-gateway`, which governs MCP servers; has `cli`, `egress`, `inspector`, `mcp` and `otel` | 1.89 |
//! | `egress` | [`egress`]: guarded HTTP requests of tools; has `reqwest-middleware` | 1.89 |
//! | `reqwest-middleware` | [`interop::reqwest`]: spans of HTTP requests | 1.89 |
//! | `async-openai` | [`interop::async_openai`] | 1.89 |
//! | `genai` | [`interop::genai`] | 1.89 |
//! | `rig` | [`interop::rig`] | 1.95 |
//! | `metrics` | [`telemetry::prometheus`] | 1.89 |
//! | `inspector` | [`inspector`]: a page that tries and watches tools; has `metrics` | 1.89 |
//! | `otel` | [`telemetry::otel`]: spans and metrics over OTLP | 1.89 |
//! | `redis` | [`stores::RedisStore`]: sessions in Redis | 1.89 |
//! | `journal` | [`stores::FileJournal`]: a journal of calls in a file | 1.90 |
//! | `sqlite` | [`stores::SqliteStore`]: the records of agents in SQLite | 1.94 |
//! | `postgres` | [`stores::PostgresStore`]: the records of agents in PostgreSQL | 1.94 |
//! | `openapi` | [`openapi`]: tools from OpenAPI documents; has `egress` | 1.89 |
//! | `oauth2` | [`oauth2`]: the consent flow of OAuth 2 | 1.89 |

#![cfg_attr(docsrs, feature(doc_cfg))]

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
#[cfg(feature = "gateway")]
pub mod gateway;
#[cfg(feature = "inspector")]
pub mod inspector;
pub mod interop;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "oauth2")]
pub mod oauth2;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod providers;
pub mod stores;
pub mod telemetry;
pub mod transport;

#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use interop::ConvertError;
pub use providers::{
    Declarations, DeclareOptions, LintReport, Protocol, Provider, Report, UnknownProvider, declare,
    declare_searchable, declare_tools, declare_with, lint, lint_for, protocol,
};
