//! How a server is reached.

use super::remote::Listener;
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use std::process::Command;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncWrite};

pub(super) enum Source {
    Command(Command),
    Url(String),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

/// Why a server's tools could not be imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The process could not be started.
    Start(io::Error),
    /// The server does not answer as the protocol has it.
    Protocol(String),
    /// It does not answer in time.
    Timeout,
    /// It lists more tools than anybody has, or its list has no end.
    Endless,
    /// What was trusted could not be written down.
    Pins(super::PinError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the server could not be started: {error}"),
            Self::Protocol(error) => write!(f, "the server does not speak the protocol: {error}"),
            Self::Timeout => f.write_str("the server did not answer in time"),
            Self::Endless => f.write_str("the server's list of tools has no end"),
            Self::Pins(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

impl Source {
    /// What carries the messages, in OpenTelemetry's words.
    pub(super) fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Command(_) => Some("pipe"),
            Self::Url(_) => Some("tcp"),
            Self::Streams(..) => None,
        }
    }

    pub(super) async fn connect(
        self,
        listener: Listener,
        probe: bool,
    ) -> Result<RunningService<RoleClient, Listener>, ImportError> {
        let lifecycle = if probe {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
        } else {
            ClientLifecycleMode::Initialize
        };
        let connected = match self {
            Self::Command(command) => {
                let child =
                    TokioChildProcess::new(tokio::process::Command::from(command)).map_err(ImportError::Start)?;
                listener.serve_with_lifecycle(child, lifecycle).await
            }
            Self::Url(url) => {
                listener.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await
            }
            Self::Streams(from, to) => listener.serve_with_lifecycle((from, to), lifecycle).await,
        };
        connected.map_err(|error: ClientInitializeError| ImportError::Protocol(error.to_string()))
    }
}
