//! The address of a server, and the connection to it.

#[cfg(feature = "auth")]
use crate::auth::{LoginError, OAuthLogin, ServerTokens};
use crate::client::credentials::{Credentials, parse_url};
use crate::client::error::{ImportError, text_with_causes};
use crate::client::http_client::AuthorizedClient;
use crate::client::line_transport::ServerLines;
use crate::client::notices::{LimitedNotices, ListChanges};
use crate::client::process::{self, ServerProcess};
use crate::lines::{Input, Output};
use process_wrap::tokio::CommandWrap;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;

pub(crate) type RunningClient = RunningService<RoleClient, ListChanges>;

/// The address of a server.
pub(crate) enum ServerAddress {
    /// A command, and the variables of this process that it gets beside the default ones.
    Command(Command, Vec<String>),
    /// A command with its environment.
    Process(CommandWrap),
    Url(String),
    /// Streams, until they are connected.
    Streams(Option<(Input, Output)>),
}

impl ServerAddress {
    /// Returns OpenTelemetry's name of the transport, if it is known.
    pub(crate) fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Command(..) | Self::Process(_) => Some("pipe"),
            Self::Url(_) => Some("tcp"),
            Self::Streams(_) => None,
        }
    }

    /// Returns true if a lost connection can be made again.
    pub(crate) fn can_reconnect(&self) -> bool {
        !matches!(self, Self::Streams(_))
    }

    /// Returns the tokens of a login at the server.
    #[cfg(feature = "auth")]
    pub(crate) fn tokens(&self, login: OAuthLogin) -> Result<Arc<ServerTokens>, ImportError> {
        let Self::Url(url) = self else {
            let problem = "expected a server with a URL; one over streams has no login";
            return Err(LoginError::Settings(problem.to_owned()).into());
        };
        Ok(ServerTokens::new(login, &parse_url(url)?)?)
    }

    /// Connects to the server, and returns its process, if it has one. A server that does not know
    /// `initialize` is asked by `server/discover`.
    pub(crate) async fn connect(
        &mut self,
        changes: ListChanges,
        probe: bool,
        credentials: &Arc<Credentials>,
    ) -> Result<(RunningClient, Option<ServerProcess>), ImportError> {
        match self.connect_once(changes.clone(), probe, credentials).await {
            Err(ConnectError::NoSessions(_)) if !probe && self.can_reconnect() => {
                let again = self.connect_once(changes, true, credentials).await;
                again.map_err(ConnectError::into_import_error)
            }
            connected => connected.map_err(ConnectError::into_import_error),
        }
    }

    async fn connect_once(
        &mut self,
        changes: ListChanges,
        probe: bool,
        credentials: &Arc<Credentials>,
    ) -> Result<(RunningClient, Option<ServerProcess>), ConnectError> {
        if let Self::Command(command, from_parent) = self {
            clean_environment(command, from_parent);
            credentials.note_command(command);
            *self = Self::Process(process::prepare(std::mem::replace(
                command,
                Command::new(""),
            )));
        }
        let tasks = changes.tasks.clone();
        let calls = changes.calls.clone();
        match self {
            Self::Command(..) => {
                Err(ImportError::Protocol("the command has no environment".into()).into())
            }
            Self::Process(command) => {
                let (process, output, input) =
                    ServerProcess::start(command, credentials).map_err(ImportError::Start)?;
                let streams: (Input, Output) = (Box::new(output), Box::new(input));
                let transport = ServerLines::new(streams, Some(process.clone()), tasks, calls);
                match serve(changes, (transport, None), probe).await {
                    Ok(running) => Ok((running, Some(process))),
                    Err(error) => {
                        let shown = start_error(&error, &process, credentials).await;
                        Err(ConnectError::of(&error, shown))
                    }
                }
            }
            Self::Url(url) => {
                let url = parse_url(url)?;
                credentials.check_encrypted(&url)?;
                credentials.check_proxied(&url).await?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = credentials.header_map()?;
                config.retry_config = Arc::new(stream_pauses());
                // A session that has expired is a lost connection: its lists are checked first.
                config.reinit_on_expired_session = false;
                let client = AuthorizedClient::new(&url, Arc::clone(credentials), &changes)?;
                let others = calls.over_http(client.clone());
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let served = serve(changes, (transport, Some(others)), probe).await;
                let failed = |error| ConnectError::of(&error, protocol_error(&error, credentials));
                Ok((served.map_err(failed)?, None))
            }
            Self::Streams(streams) => {
                let taken = || ImportError::Protocol("its streams are closed".into());
                let transport =
                    ServerLines::new(streams.take().ok_or_else(taken)?, None, tasks, calls);
                let served = serve(changes, (transport, None), probe).await;
                let failed = |error| ConnectError::of(&error, protocol_error(&error, credentials));
                Ok((served.map_err(failed)?, None))
            }
        }
    }
}

/// The longest pause before the stream of a session that has ended is requested again.
const MAX_STREAM_PAUSE: Duration = Duration::from_secs(30);

/// Returns the pauses before the stream of a session that has ended is requested again.
fn stream_pauses() -> ExponentialBackoff {
    let mut pauses = ExponentialBackoff::default();
    pauses.max_delay = Some(MAX_STREAM_PAUSE);
    pauses
}

/// The reason why a connection was not made.
enum ConnectError {
    /// The server does not know `initialize`, or names other revisions.
    NoSessions(ImportError),
    Other(ImportError),
}

impl ConnectError {
    fn of(error: &ClientInitializeError, shown: ImportError) -> Self {
        let ClientInitializeError::JsonRpcError(error) = error else {
            return Self::Other(shown);
        };
        let names_revisions = error
            .data
            .as_ref()
            .is_some_and(|data| data.get("supported").is_some());
        let is_unknown = error.code == ErrorCode::METHOD_NOT_FOUND;
        if is_unknown || names_revisions {
            Self::NoSessions(shown)
        } else {
            Self::Other(shown)
        }
    }

    fn into_import_error(self) -> ImportError {
        match self {
            Self::NoSessions(error) | Self::Other(error) => error,
        }
    }
}

impl From<ImportError> for ConnectError {
    fn from(error: ImportError) -> Self {
        Self::Other(error)
    }
}

async fn serve(
    changes: ListChanges,
    (transport, others): (
        impl Transport<RoleClient> + 'static,
        Option<Receiver<ServerJsonRpcMessage>>,
    ),
    probe: bool,
) -> Result<RunningClient, ClientInitializeError> {
    let lifecycle = if probe {
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: None,
        }
    } else {
        ClientLifecycleMode::Initialize
    };
    let transport = LimitedNotices::new(transport, others, &changes);
    changes.serve_with_lifecycle(transport, lifecycle).await
}

/// Returns the error of a process that did not become a server.
async fn start_error(
    error: &ClientInitializeError,
    process: &ServerProcess,
    credentials: &Credentials,
) -> ImportError {
    let is_lost = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    match if is_lost {
        process.status().await
    } else {
        None
    } {
        Some(status) => ImportError::Ended {
            status,
            lines: process.last_lines(),
        },
        None => protocol_error(error, credentials),
    }
}

/// Returns the error of a connection that was not made, without rmcp's names of types.
fn protocol_error(error: &ClientInitializeError, credentials: &Credentials) -> ImportError {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            credentials.protocol_failure("it closed the connection")
        }
        ClientInitializeError::TransportError { error, .. } => {
            ImportError::Connection(credentials.display(&text_with_causes(&*error.error)).into())
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            credentials.protocol_failure("expected an answer to `initialize`, got another message")
        }
        ClientInitializeError::JsonRpcError(error) => {
            let text = format!(
                "it answered `initialize` with the error {}: {}",
                error.code.0, error.message
            );
            ImportError::Connection(credentials.display(&text).into())
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            protocol_error(fallback, credentials)
        }
        error => credentials.protocol_failure(&error.to_string()),
    }
}

/// The variables that a server gets from this process: those that programs need to start, as in the
/// protocol's SDKs.
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

/// Removes this process's variables from a command, except for [`INHERITED`] and named ones.
/// Variables that were set on the command stay.
fn clean_environment(command: &mut Command, from_parent: &[String]) {
    let own = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
    let own = own.collect::<Vec<_>>();
    command.env_clear();
    for name in INHERITED
        .iter()
        .copied()
        .chain(from_parent.iter().map(String::as_str))
    {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::transport::common::client_side_sse::SseRetryPolicy;

    #[test]
    fn a_lost_stream_is_requested_at_least_each_half_minute() {
        for times in [5, 10, 100] {
            let pause = stream_pauses().retry(times);
            assert_eq!(pause, Some(Duration::from_secs(30)), "{times}");
        }
    }
}
