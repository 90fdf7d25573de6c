//! Logins at servers: their settings in the policy, the files that keep them, and the person who signs in.

use crate::document::Fields;
use crate::value::Secret;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use tool_adapters_http::debug_only;
use tool_adapters_http::egress::EgressPolicy;
use tool_adapters_mcp::{LoginRequest, LoginStore, OAuthLogin};
use tool_core::text::escape_invisible;
use zeroize::Zeroizing;

/// The login at a server, the table `oauth` of the policy.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LoginSettings {
    /// `None` for the gateway's own credentials, which need no person.
    file: Option<PathBuf>,
    client: Option<RegisteredClient>,
    /// The secret of the client, and the file that has it.
    secret: Option<Secret>,
    secret_file: Option<PathBuf>,
    scopes: Vec<String>,
    port: Option<u16>,
    /// True if a person at this terminal signs in anew.
    pub(crate) is_asking: bool,
}

/// A client that is registered at an authorization server.
#[derive(Clone, PartialEq, Eq)]
struct RegisteredClient {
    issuer: String,
    id: String,
}

debug_only!(LoginSettings, |this| file: this.file);

impl LoginSettings {
    /// Reads the table. A relative path is of `folder`.
    pub(crate) fn read(mut fields: Fields<'_>, folder: &Path) -> Self {
        let is_machine = fields.flag("machine").unwrap_or_default();
        let file = fields.text("file").filter(|file| !file.is_empty());
        if file.is_some() == is_machine {
            fields.problem(
                "file",
                "expected the file that keeps the tokens, such as \"github.login.json\", or `machine = true`",
            );
        }
        let port =
            |value: &serde_json::Value| value.as_u64().and_then(|port| u16::try_from(port).ok());
        let port = fields.read("port", "a port from 0 to 65535", port);
        let scopes = fields.texts("scopes").unwrap_or_default();
        let (issuer, id) = (fields.text("issuer"), fields.text("client_id"));
        let secret = fields.text("client_secret").map(Zeroizing::new);
        let secret_file = fields
            .text("client_secret_file")
            .map(|file| folder.join(file));
        if secret.is_some() && secret_file.is_some() {
            fields.problem(
                "client_secret_file",
                "expected no `client_secret` beside it",
            );
        }
        let has_secret = secret.is_some() || secret_file.is_some();
        if is_machine && (issuer.is_none() || id.is_none() || !has_secret || port.is_some()) {
            fields.problem(
                "machine",
                "expected `issuer`, `client_id`, one of `client_secret` and `client_secret_file`, and no `port`",
            );
        } else if issuer.is_some() != id.is_some() || (has_secret && id.is_none()) {
            fields.problem(
                "",
                "expected `issuer` and `client_id`, or neither, and `client_secret` only with them",
            );
        }
        fields.finish();
        let client = issuer
            .zip(id)
            .map(|(issuer, id)| RegisteredClient { issuer, id });
        Self {
            file: file.map(|file| folder.join(file)),
            client,
            secret,
            secret_file,
            scopes,
            port,
            is_asking: false,
        }
    }

    /// Returns the file that has the secret of the client, and the place of the secret.
    pub(crate) fn secret_file(&mut self) -> Option<(&Path, &mut Option<Secret>)> {
        Some((self.secret_file.as_deref()?, &mut self.secret))
    }

    /// Returns true if a person signs in.
    pub(crate) fn needs_person(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the login at a server. The gateway itself asks no person.
    pub(crate) fn of_server(&self, server: &str, egress: Option<EgressPolicy>) -> OAuthLogin {
        let mut login = match (&self.file, &self.client) {
            (Some(file), _) => {
                let asked = if self.is_asking {
                    OAuthLogin::browser(|request| std::future::ready(show_page(&request)))
                } else {
                    let command = login_command(server);
                    OAuthLogin::stored(format!(
                        "expected a login, got none that is good; run `{command}`"
                    ))
                };
                asked.store(LoginFile {
                    path: file.clone(),
                    is_new: self.is_asking,
                })
            }
            (None, client) => {
                let (issuer, id) = client
                    .as_ref()
                    .map(|client| (&*client.issuer, &*client.id))
                    .unwrap_or_default();
                OAuthLogin::machine(issuer, id, "")
            }
        };
        login = login.client_name("tool-gateway");
        if let Some(RegisteredClient { issuer, id }) = &self.client {
            login = login.client(issuer, id);
        }
        if let Some(secret) = &self.secret {
            login = login.client_secret(&***secret);
        }
        if let Some(port) = self.port {
            login = login.redirect_port(port);
        }
        if let Some(egress) = egress {
            login = login.egress(egress);
        }
        login.scopes(&self.scopes)
    }
}

/// Returns the command by which a person signs in at a server. A shell reads any name in it as one word.
pub(crate) fn login_command(server: &str) -> String {
    let name = escape_invisible(server);
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let name = if is_plain {
        name
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    };
    format!("tool-gateway --login {name}")
}

/// Prints the page on which a person signs in.
fn show_page(request: &LoginRequest) -> io::Result<()> {
    let [server, issuer, url] =
        [&request.server, &request.issuer, &request.url].map(|text| escape_invisible(text));
    let mut output = io::stdout().lock();
    writeln!(
        output,
        "{server} asks you to sign in at {issuer}. Open this page in a browser on this machine:\n{url}"
    )?;
    output.flush()
}

/// A file that keeps the login at one server. Its user only can read it.
struct LoginFile {
    path: PathBuf,
    /// True if the login that it has is not used.
    is_new: bool,
}

type Stored<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>>;

impl LoginStore for LoginFile {
    fn load<'a>(&'a self, _: &'a str) -> Stored<'a, Option<tool_core::Secret>> {
        Box::pin(async {
            if self.is_new {
                return Ok(None);
            }
            match tokio::fs::read_to_string(&self.path).await {
                Ok(text) => Ok(Some(text.into())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn save<'a>(&'a self, _: &'a str, login: Option<tool_core::Secret>) -> Stored<'a, ()> {
        let path = self.path.clone();
        Box::pin(async move {
            Ok(tokio::task::spawn_blocking(move || write(&path, login.as_ref())).await??)
        })
    }
}

/// Replaces the file as a whole, so that a reader sees the earlier login or this one.
fn write(path: &Path, login: Option<&tool_core::Secret>) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let Some(login) = login else {
        return fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
    };
    let mut new = path.as_os_str().to_owned();
    new.push(format!(
        ".{}-{}",
        std::process::id(),
        WRITTEN.fetch_add(1, Ordering::Relaxed)
    ));
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    let written = file
        .write_all(login.expose().as_bytes())
        .and_then(|()| file.sync_all());
    written
        .and_then(|()| fs::rename(&new, path))
        .inspect_err(|_| _ = fs::remove_file(&new))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_any_name_of_a_server_as_one_word() {
        let names = [
            "$(touch /tmp/x)",
            "`id`",
            "a; id",
            "a' ; id #",
            "''",
            "a\nid",
            "a b",
            "*",
            "~",
            "a\u{202e}b",
            "\\",
            "!!",
        ];
        for name in names {
            let command = login_command(name);
            assert!(
                !command.chars().any(|c| c.is_control() || c == '\u{202e}'),
                "{command:?}"
            );
            let script = format!("tool-gateway() {{ printf '%s|' \"$@\"; }}\n{command}");
            let script = script.replace("tool-gateway", "tool_gateway");
            let output = Command::new("sh")
                .arg("-c")
                .arg(script)
                .output()
                .expect("a shell");
            let words = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(words, format!("--login|{}|", escape_invisible(name)));
        }
        assert_eq!(
            login_command("git-hub_1.x"),
            "tool-gateway --login git-hub_1.x"
        );
    }
}
