//! The address of a server, and the connection to it.

use crate::mcp::client::credentials::{AuthorizedClient, Credentials, parse_url};
use crate::mcp::client::error::ImportError;
use crate::mcp::client::notices::{LimitedNotices, ListChanges, RateLimit};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, Transport};
use std::env;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::process::ChildStderr;

pub(crate) type RunningClient = RunningService<RoleClient, ListChanges>;

/// The address of a server.
pub(crate) enum ServerAddress {
    /// A command, and the variables of this process that it gets beside the default ones.
    Command(Command, Vec<String>),
    Url(String),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl ServerAddress {
    /// Returns OpenTelemetry's name of the transport, if it is known.
    pub(crate) fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Command(..) => Some("pipe"),
            Self::Url(_) => Some("tcp"),
            Self::Streams(..) => None,
        }
    }

    pub(crate) async fn connect(
        self,
        changes: ListChanges,
        probe: bool,
        credentials: &Arc<Credentials>,
    ) -> Result<RunningClient, ImportError> {
        match self {
            Self::Command(mut command, from_parent) => {
                clean_environment(&mut command, &from_parent);
                credentials.note_command(&command);
                let child = TokioChildProcess::builder(tokio::process::Command::from(command)).stderr(Stdio::piped());
                let (child, errors) = child.spawn().map_err(ImportError::Start)?;
                if let Some(errors) = errors {
                    tokio::spawn(log_errors(errors, child.id(), Arc::clone(credentials)));
                }
                serve(changes, child, probe, credentials).await
            }
            Self::Url(url) => {
                let url = parse_url(&url)?;
                credentials.check_encrypted(&url)?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = credentials.header_map()?;
                let client = AuthorizedClient::new(&url, Arc::clone(credentials))?;
                serve(changes, StreamableHttpClientTransport::with_client(client, config), probe, credentials).await
            }
            Self::Streams(input, output) => {
                serve(changes, AsyncRwTransport::new_client(input, output), probe, credentials).await
            }
        }
    }
}

async fn serve(
    changes: ListChanges,
    transport: impl Transport<RoleClient> + 'static,
    probe: bool,
    credentials: &Credentials,
) -> Result<RunningClient, ImportError> {
    let lifecycle = if probe {
        ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
    } else {
        ClientLifecycleMode::Initialize
    };
    let transport = LimitedNotices::new(transport, &changes);
    let connected = changes.serve_with_lifecycle(transport, lifecycle).await;
    connected.map_err(|error| credentials.protocol_error(&error))
}

/// Logs what a server writes to its standard error. A long line is logged in parts.
async fn log_errors(errors: ChildStderr, process: Option<u32>, credentials: Arc<Credentials>) {
    let (mut errors, mut line, mut limit) = (BufReader::new(errors), Vec::new(), RateLimit::new("lines"));
    while let Ok(1..) = (&mut errors).take(MAX_LINE).read_until(b'\n', &mut line).await {
        if limit.admits() {
            let text = credentials.display(String::from_utf8_lossy(&line).trim_end());
            tracing::debug!(process, text, "a server wrote to its standard error");
        }
        line.clear();
    }
}

/// Maximum number of bytes of a line that are read at once.
const MAX_LINE: u64 = 4_000;

/// The variables that a server gets from this process: those that programs need to start, as in the protocol's SDKs.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// Removes this process's variables from a command, except for [`INHERITED`] and named ones. Variables that were set on the
/// command stay.
fn clean_environment(command: &mut Command, from_parent: &[String]) {
    let own = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
    let own = own.collect::<Vec<_>>();
    command.env_clear();
    for name in INHERITED.iter().copied().chain(from_parent.iter().map(String::as_str)) {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, value) in own {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}
