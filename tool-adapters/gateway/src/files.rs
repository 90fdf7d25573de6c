//! The files of a gateway: their paths, and their contents together.

use crate::config::{self, Input, ServerEntry};
use crate::policy::GatewayPolicy;
use crate::problems::{Problems, join};
use crate::value::{EditorVariables, Expand, Secret, text_of};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tool_adapters_mcp::PinError;
use zeroize::Zeroizing;

/// The files that a gateway reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayFiles {
    /// The servers, in the JSON of MCP clients such as `mcp.json`.
    pub config: PathBuf,
    /// The policies, in TOML. `None` has the defaults.
    pub policy: Option<PathBuf>,
}

/// An error of opening or reloading a gateway.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The files have these problems. Each names the file, the place in it, and what is expected.
    #[error("{}", ProblemLines(.0))]
    Invalid(Vec<String>),
    /// A part of the gateway cannot start, such as its audit log or its store.
    #[error("{0}")]
    Start(String),
}

struct ProblemLines<'a>(&'a [String]);

impl fmt::Display for ProblemLines<'_> {
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

/// The outcome of parsing the contents of both files.
pub(crate) struct Parsed {
    pub(crate) settings: Result<Settings, GatewayError>,
    /// Warnings about settings that were read.
    pub(crate) warnings: Vec<String>,
}

impl Parsed {
    pub(crate) fn log_warnings(&self) {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
    }

    /// Logs the warnings, and returns the settings.
    pub(crate) fn logged(self) -> Result<Settings, GatewayError> {
        self.log_warnings();
        self.settings
    }
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
        let mut problems = Vec::new();
        let mut texts = [String::new(), String::new()];
        for (text, path) in texts
            .iter_mut()
            .zip([Some(&self.config), self.policy.as_ref()])
        {
            let Some(path) = path else { continue };
            match read(path).await {
                Ok(read) => *text = read,
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        let [config, policy] = texts;
        if problems.is_empty() {
            Ok(Texts { config, policy })
        } else {
            Err(GatewayError::Invalid(problems))
        }
    }

    /// Parses the contents, reads the secrets that are in files of their own, and reports every
    /// problem. `http` is the address of the option `--http`.
    pub(crate) async fn parse(&self, texts: &Texts, http: Option<SocketAddr>) -> Parsed {
        let of_config = Problems::new(self.config.display().to_string());
        let path = self.policy.as_deref();
        let of_policy = Problems::new(path.unwrap_or(Path::new("policy")).display().to_string());
        let mut policy = self.parse_policy(texts, &of_policy);
        let mut expand = self.config_variables(&policy);
        let config::Config { servers, .. } = config::parse(&texts.config, &of_config, &mut expand);
        policy.check_addresses(http, &of_policy);
        policy.check(&servers, &of_policy, &of_config);
        policy.set_approved(&servers);
        for (server, file, secret) in policy.secret_files() {
            let problem = match read(file).await.map(Zeroizing::new) {
                Ok(text) if text.trim().is_empty() => {
                    "expected a file with the secret, got an empty one".to_owned()
                }
                Ok(text) => {
                    *secret = Some(Zeroizing::new(text.trim_end().to_owned()));
                    continue;
                }
                Err(error) => error,
            };
            of_policy.add(
                &join(&join("servers", server), "oauth.client_secret_file"),
                problem,
            );
        }
        let (mut problems, mut warnings) = of_config.split();
        let of_policy = of_policy.split();
        problems.extend(of_policy.0);
        warnings.extend(of_policy.1);
        let settings = if problems.is_empty() {
            Ok(Settings { servers, policy })
        } else {
            Err(GatewayError::Invalid(problems))
        };
        Parsed { settings, warnings }
    }

    /// Reads and parses the files, and logs the warnings.
    pub(crate) async fn settings(
        &self,
        http: Option<SocketAddr>,
    ) -> Result<Settings, GatewayError> {
        let texts = self.read().await?;
        self.parse(&texts, http).await.logged()
    }

    fn parse_policy(&self, texts: &Texts, problems: &Problems) -> GatewayPolicy {
        match self.policy.as_deref() {
            Some(path) => {
                let folder = folder(path);
                let expand = Expand::default().files_in(folder);
                GatewayPolicy::parse(&texts.policy, folder, problems, &expand)
            }
            None => GatewayPolicy::default(),
        }
    }

    /// Returns the variables of the servers' file.
    fn config_variables(&self, policy: &GatewayPolicy) -> Expand {
        let workspace = policy
            .file
            .workspace_folder
            .clone()
            .unwrap_or_else(|| config::workspace_of(&self.config));
        let mut inputs = ANSWERS.lock().clone();
        inputs.extend(policy.file.inputs.clone());
        Expand::default().editor(EditorVariables { workspace, inputs })
    }

    /// Asks for the inputs that servers use and that have no value. An answer holds for as long as
    /// the process runs.
    pub(crate) async fn ask_inputs(
        &self,
        mut ask: impl FnMut(&Input) -> std::io::Result<String>,
    ) -> Result<(), GatewayError> {
        let texts = self.read().await?;
        // Problems are reported by the parse that follows.
        let ignored = Problems::new("");
        let mut expand = self.config_variables(&self.parse_policy(&texts, &ignored));
        let config = config::parse(&texts.config, &ignored, &mut expand);
        for id in expand.missing_inputs() {
            let known = config.inputs.iter().find(|input| input.id == id).cloned();
            let input = known.unwrap_or_else(|| Input {
                description: id.clone(),
                id,
                ..Input::default()
            });
            let answer = ask(&input)
                .map_err(|error| GatewayError::Start(format!("input {}: {error}", input.id)))?;
            ANSWERS.lock().insert(input.id, Zeroizing::new(answer));
        }
        Ok(())
    }
}

/// The answers that a person has given on the terminal.
static ANSWERS: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

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
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

async fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = async {
        File::open(path)
            .await?
            .take(MAX_FILE + 1)
            .read_to_end(&mut bytes)
            .await
    };
    read.await.map_err(|error| error.to_string())?;
    text_of(bytes, MAX_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    // C13
    #[tokio::test]
    async fn inputs_are_asked_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("mcp.json");
        let text = r#"{
            "inputs": [{"type": "promptString", "id": "asked-once", "description": "A key", "password": true}],
            "servers": {
                "one": {"command": "x", "args": ["${input:asked-once}", "${input:asked-once}", "${input:of-policy}"]},
                "two": {"command": "x", "env": {"A": "${input:asked-once}"}},
                "off": {"command": "${input:never}", "disabled": true}
            }
        }"#;
        std::fs::write(&config, text).expect("written");
        let policy = folder.path().join("policy.toml");
        std::fs::write(&policy, "[inputs]\nof-policy = 'p-1'").expect("written");
        let files = GatewayFiles {
            config,
            policy: Some(policy),
        };
        let texts = files.read().await.expect("texts");
        let error = files
            .parse(&texts, None)
            .await
            .settings
            .err()
            .expect("no value")
            .to_string();
        assert!(
            error.contains("set `inputs.asked-once` in the policy") && !error.contains("never"),
            "{error}"
        );
        let mut asked = Vec::new();
        for _ in 0..2 {
            let ask = |input: &Input| {
                asked.push((input.description.clone(), input.is_password));
                Ok("a-1".to_owned())
            };
            files.ask_inputs(ask).await.expect("answers");
        }
        assert_eq!(asked, [("A key".to_owned(), true)]);
        let Ok(settings) = files.parse(&texts, None).await.settings else {
            panic!("settings")
        };
        let config::Target::Command { arguments, .. } = &settings.servers[0].target else {
            panic!("a command")
        };
        assert_eq!(arguments, &["a-1", "a-1", "p-1"]);
    }
}
