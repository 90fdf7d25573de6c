//! Models over HTTP: streams of server-sent events or JSON lines, and whole answers.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::agent::AgentLoop;
//! use tool_adapters::transport::http::HttpModel;
//!
//! # async fn talk(session: tool_core::Session, key: &str, other_key: &str) {
//! let mut agent = AgentLoop::new(session, HttpModel::new(Provider::OpenAiChat, "gpt-5").api_key(key));
//! let reply = agent.prompt("What is on my calendar?").await;
//!
//! // The history continues with a model of another provider.
//! agent.set_model(HttpModel::new(Provider::Anthropic, "claude-sonnet-5").api_key(other_key));
//! let reply = agent.prompt("And tomorrow?").await;
//! # }
//! ```
//!
//! # Providers
//!
//! The chapter on providers in the book lists each provider with its base URL, its path, its key
//! and the environment variables that set them.
//!
//! A base URL or a key that the program sets takes precedence over the environment. A key of the
//! environment is not sent to a base URL that the program sets. For a server with OpenAI's
//! protocol, use `OpenAiChat` with a base URL.
//!
//! Bedrock takes an API key, or with the feature `aws` AWS credentials: see `AwsBedrock`.
//! [`AzureOpenAi`] and [`VertexAi`] know the URLs of these clouds, and [`HttpModel::at`] those of hosts with OpenAI's
//! protocol. OpenAI Realtime and Gemini Live need the feature `websocket`.
//!
//! # What goes back
//!
//! A step of the history goes back to the server that sent it as it came, with reasoning, signatures and members that the
//! protocol does not know, and to other servers as its text and calls. What the documents of a server say about it decides
//! where it refuses what others need; [`server_like`](HttpModel::server_like), [`reasoning_back`](HttpModel::reasoning_back) and
//! [`token_limit`](HttpModel::token_limit) decide before that. The chapter on providers in the book has the table of servers.
//!
//! A history that was cut is repaired in the request. [`history_repairs`](HttpModel::history_repairs) says what was changed.
//!
//! # Errors and retries
//!
//! An error is AUTH (401, 403), `RATE_LIMIT` (429), TRANSIENT or PERMANENT, with the provider's
//! message. It never contains the key, a header of the program, or a password or a query of the
//! base URL. Redirects are errors, as they would carry the key to another host. So is `http` to
//! another machine with a key, unless it is [allowed](HttpModel::allow_unencrypted).
//!
//! Failed connections, the statuses 408, 409, 429 and 5xx, and broken streams are retried by the
//! [`RetryPolicy`](crate::agent::RetryPolicy) and the provider's `Retry-After`. A call runs only after its answer has ended,
//! so a retry runs no call twice. Nothing counts of an answer that breaks off, or of which a part
//! cannot be read: the request is retried, unless [`on_event`](HttpModel::on_event) has shown a
//! part of the answer. Then the reply ends with the error, which says what was lost. If you name
//! another model with [`or`](HttpModel::or), it is asked once the attempts of the first are used
//! up.
//!
//! Dropping the future of a step closes the connection.
//!
//! # Recordings
//!
//! A [`Recording`] writes the exchanges of a model to a file, without keys, and replays them in tests. It is for HTTP only:
//! live models over a WebSocket are not recorded.
//!
//! # Spans
//!
//! Each attempt is an `http` span inside another span, or once the process collects spans
//! ([`start`](tool_core::trace::start)). The usage of its answer counts once for the span around
//! it. The agent loop records it on its `llm` span. Without the loop, or if the answer breaks off,
//! the usage that was received counts.

mod answer;
#[cfg(feature = "aws")]
pub(crate) mod aws;
#[cfg(feature = "aws")]
mod aws_bedrock;
mod exchange;
mod failure;
mod hosts;
mod idempotency;
mod model;
mod recording;
mod refused_files;
mod settings;
mod token_count;

#[cfg(feature = "aws")]
pub use crate::http::aws_bedrock::AwsBedrock;
pub use crate::http::exchange::{Timeouts, client_builder};
pub use crate::http::hosts::{AzureOpenAi, VertexAi};
pub use crate::http::model::{HttpModel, HttpTransport};
pub use crate::http::recording::{Recording, RecordingError};
pub use crate::http::token_count::TokenCount;
pub use tool_adapters_providers::StructuredOutput;

/// AWS credentials, for [`AwsBedrock::with_credentials`].
#[cfg(feature = "aws")]
pub use aws_credential_types;

/// The HTTP client, for a [`client`](HttpModel::client) of your own.
pub use reqwest;
