//! The files of a gateway: their paths, and their contents together.

use crate::gateway::config::{self, ServerEntry};
use crate::gateway::document::{Problems, join};
use crate::gateway::policy::GatewayPolicy;
use crate::gateway::value::Expand;
use crate::mcp::PinError;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use zeroize::Zeroizing;

/// The files that a gateway reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayFiles {
    /// The servers, in the `mcpServers` JSON of MCP clients.
    pub config: PathBuf,
    /// The policies, in TOML. `None` has the defaults.
    pub policy: Option<PathBuf>,
}

/// An error of opening or reloading a gateway.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The files have these problems. Each names the file, the place in it, and what is expected.
    #[error("{}", Lines(.0))]
    Invalid(Vec<String>),
    /// A part of the gateway cannot start, such as its audit log or its store.
    #[error("{0}")]
    Start(String),
}

struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{line}")?;
        }
        Ok(())
    }
}

/// The contents of the files.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Texts {
    config: String,
    policy: String,
}

/// The contents of both files, parsed and checked.
pub(crate) struct Settings {
    pub(crate) servers: Vec<ServerEntry>,
    pub(crate) policy: GatewayPolicy,
}

/// The largest file that is read.
const MAX_FILE: u64 = 4 << 20;

impl GatewayFiles {
    /// Reads the files.
    pub(crate) async fn read(&self) -> Result<Texts, GatewayError> {
        let (mut problems, mut texts) = (Vec::new(), [String::new(), String::new()]);
        for (text, path) in texts.iter_mut().zip([Some(&self.config), self.policy.as_ref()]) {
            let Some(path) = path else { continue };
            match read(path).await {
                Ok(read) => *text = read,
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        let [config, policy] = texts;
        if problems.is_empty() { Ok(Texts { config, policy }) } else { Err(GatewayError::Invalid(problems)) }
    }

    /// Parses the contents, reads the secrets that are in files of their own, and reports every problem.
    /// `http` is the address of the option `--http`.
    pub(crate) async fn parse(&self, texts: &Texts, http: Option<SocketAddr>) -> Result<Settings, GatewayError> {
        let expand = Expand::default();
        let of_config = Problems::new(self.config.display().to_string());
        let path = self.policy.as_deref();
        let of_policy = Problems::new(path.unwrap_or(Path::new("policy")).display().to_string());
        let servers = config::parse(&texts.config, folder(&self.config), &of_config, &expand);
        let mut policy = match path {
            Some(path) => GatewayPolicy::parse(&texts.policy, folder(path), &of_policy, &expand),
            None => GatewayPolicy::default(),
        };
        policy.check_addresses(http, &of_policy);
        policy.check(&servers, &of_policy, &of_config);
        for (server, file, secret) in policy.secret_files() {
            let problem = match read(file).await.map(Zeroizing::new) {
                Ok(text) if text.trim().is_empty() => "expected a file with the secret, got an empty one".to_owned(),
                Ok(text) => {
                    *secret = Some(Zeroizing::new(text.trim_end().to_owned()));
                    continue;
                }
                Err(error) => error,
            };
            of_policy.add(&join(&join("servers", server), "oauth.client_secret_file"), problem);
        }
        let problems = of_config.into_vec().into_iter().chain(of_policy.into_vec()).collect::<Vec<_>>();
        if problems.is_empty() { Ok(Settings { servers, policy }) } else { Err(GatewayError::Invalid(problems)) }
    }
}

/// Describes an error of the pins for people who use the program.
pub(crate) fn describe_pins(error: &PinError) -> String {
    match error {
        PinError::Missing { path } => format!(
            "pins.file: expected pins in {}, but the file is missing; restore it, or create it with `tool-gateway --create-pins` \
             if it is new",
            path.display()
        ),
        error => format!("pins.file: {error}"),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

async fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = async { File::open(path).await?.take(MAX_FILE + 1).read_to_string(&mut text).await };
    match read.await {
        // A device may have no size, and no end.
        Ok(bytes) if bytes as u64 > MAX_FILE => Err(format!("expected at most {MAX_FILE} bytes, got more")),
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
}
