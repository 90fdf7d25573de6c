//! The adapters of tool-core: to providers, transports, stores, telemetry and other frameworks.
//!
//! Declarations, protocols, provider tools and the lint need no feature. Everything else is behind
//! a feature.
//!
//! # Features
//!
//! No feature is on by default. Those whose dependencies need a newer Rust than this crate name it.
//!
//! | feature | what it adds | Rust |
//! |---|---|---|
//! | `agent` | [`agent`]: the agent loop with any model; [`ag_ui`]: an agent behind a front end | 1.89 |
//! | `http` | [`transport::http`]; has `agent` | 1.89 |
//! | `aws` | `AwsBedrock` of [`transport::http`], with credentials that you provide; has `http` | 1.94.1 |
//! | `aws-config` | the usual chain of AWS credentials; has `aws` | 1.94.1 |
//! | `websocket` | [`transport::websocket`]; has `agent` | 1.89 |
//! | `mcp` | [`mcp`]: a server and a client of the Model Context Protocol | 1.89 |
//! | `mcp-auth` | access tokens and OAuth logins of [`mcp`]; has `mcp`, `oauth2` and `egress` | 1.89 |
//! | `cli` | [`cli`]: the command line | 1.89 |
//! | `gateway` | [`gateway`]: the program `tool-gateway`, which governs MCP servers; has `cli`, `egress`, `inspector`, `mcp-auth` and `otel` | 1.89 |
//! | `egress` | [`egress`]: guarded HTTP requests of tools; has `reqwest-middleware` | 1.89 |
//! | `reqwest-middleware` | [`interop::reqwest`]: spans of HTTP requests | 1.89 |
//! | `async-openai` | [`interop::async_openai`] | 1.89 |
//! | `genai` | [`interop::genai`] | 1.89 |
//! | `rig` | [`interop::rig`] | 1.95 |
//! | `observe` | spans for the model calls of the clients that are on: `observe` of [`interop`] | 1.89 |
//! | `metrics` | [`telemetry::prometheus`] | 1.89 |
//! | `inspector` | [`inspector`]: a page that tries and watches tools; has `metrics` | 1.89 |
//! | `otel` | [`telemetry::otel`]: spans and metrics over OTLP | 1.89 |
//! | `dbos` | [`dbos`]: conversations that DBOS runs on PostgreSQL, which go on after a crash; has `agent` | 1.95 |
//! | `restate` | [`restate`]: conversations that Restate runs, which go on after a crash; has `agent` | 1.90 |
//! | `redis` | [`stores::RedisStore`]: sessions and conversations in Redis | 1.89 |
//! | `journal` | [`stores::FileJournal`]: a journal of calls in a file, for one process. The stores have their own | 1.90 |
//! | `sqlite` | [`stores::SqliteStore`]: sessions and conversations in SQLite | 1.94 |
//! | `postgres` | [`stores::PostgresStore`]: sessions and conversations in PostgreSQL | 1.94 |
//! | `agent-records` | the records of agents in the same databases | 1.89 |
//! | `openapi` | [`openapi`]: tools from OpenAPI documents; has `egress` | 1.89 |
//! | `oauth2` | [`oauth2`]: the consent flow of OAuth 2; has `agent-records` | 1.89 |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "agent")]
#[doc(inline)]
pub use tool_adapters_models::ag_ui;

/// The agent loop: a conversation with a model that calls tools.
#[cfg(feature = "agent")]
#[doc(inline)]
pub use tool_adapters_models::agent;

#[cfg(feature = "cli")]
#[doc(inline)]
pub use tool_adapters_cli as cli;

#[cfg(feature = "dbos")]
#[doc(inline)]
pub use tool_adapters_dbos as dbos;

#[cfg(feature = "egress")]
#[doc(inline)]
pub use tool_adapters_http::egress;

#[cfg(feature = "gateway")]
#[doc(inline)]
pub use tool_adapters_gateway as gateway;

#[cfg(feature = "inspector")]
#[doc(inline)]
pub use tool_adapters_inspector as inspector;

#[cfg(feature = "mcp")]
#[doc(inline)]
pub use tool_adapters_mcp as mcp;

#[cfg(feature = "oauth2")]
#[doc(inline)]
pub use tool_adapters_agents::oauth2;

#[cfg(feature = "openapi")]
#[doc(inline)]
pub use tool_adapters_openapi as openapi;

#[cfg(feature = "restate")]
#[doc(inline)]
pub use tool_adapters_restate as restate;

#[doc(inline)]
pub use tool_adapters_stores as stores;

/// Conversions to and from the types of other crates, and spans for the model calls of their clients.
pub mod interop {
    #[cfg(feature = "reqwest-middleware")]
    #[doc(inline)]
    pub use tool_adapters_http::middleware as reqwest;
    #[cfg(any(feature = "async-openai", feature = "genai"))]
    #[doc(inline)]
    pub use tool_adapters_interop::ConvertError;
    #[cfg(feature = "async-openai")]
    #[doc(inline)]
    pub use tool_adapters_interop::async_openai;
    #[cfg(feature = "genai")]
    #[doc(inline)]
    pub use tool_adapters_interop::genai;
    #[cfg(feature = "rig")]
    #[doc(inline)]
    pub use tool_adapters_interop::rig;
}

/// Providers: declarations of tools in a provider's form, and protocols that read and write its
/// messages.
///
/// - [`declare`](fn@declare): tools in a provider's form, with a [`Report`] on what the form cannot
///   express
/// - [`protocol`]: a provider's bytes as [`Event`](providers::Event)s, and requests and results in
///   the provider's form
/// - [`lint`](fn@lint): the findings for all providers at once
/// - [`manifest`](providers::manifest): the manifest with the declarations of each provider
/// - [`provider_tools`](providers::provider_tools): tools that providers run themselves
pub mod providers {
    #[doc(inline)]
    pub use tool_adapters_providers::{
        AcceptedMedia, AcceptedParts, ChatHost, Declarations, DeclareOptions, Event, Finish,
        Framing, Host, JsonError, LintReport, ModelSettings, PartKind, PartProblem, PartRefusal,
        Protocol, ProtocolError, Provider, ReasoningBack, ReasoningEffort, RefusedParts, Report,
        Request, SettingsError, StructuredOutput, TokenLimit, UnknownProvider, anthropic,
        cache_prompt, declare, declare_searchable, declare_tools, declare_with, estimate_tokens,
        gemini, lint, lint_for, manifest, openai_responses, protocol, provider_tools, report,
        unread_message, without_files,
    };
}

/// Spans, costs and metrics for other systems.
pub mod telemetry {
    #[doc(inline)]
    pub use tool_adapters_http::observer;
    #[cfg(feature = "otel")]
    #[doc(inline)]
    pub use tool_adapters_telemetry::otel;
    #[doc(inline)]
    pub use tool_adapters_telemetry::prices;
    #[cfg(feature = "metrics")]
    #[doc(inline)]
    pub use tool_adapters_telemetry::prometheus;
}

/// Models over HTTP and over a WebSocket.
pub mod transport {
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use tool_adapters_models::http;
    #[cfg(feature = "websocket")]
    #[doc(inline)]
    pub use tool_adapters_models::websocket;
    #[cfg(any(feature = "http", feature = "websocket"))]
    #[doc(inline)]
    pub use tool_adapters_models::{ProvidedKey, ProviderModel, RetryPolicy};
}

#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use interop::ConvertError;
pub use providers::{
    Declarations, DeclareOptions, LintReport, Protocol, Provider, Report, UnknownProvider, declare,
    declare_searchable, declare_tools, declare_with, lint, lint_for, protocol,
};
