//! Logins at servers: their settings in the policy, the files that keep them, and the person who
//! signs in.

use crate::problems::{Problems, join};
use crate::value::Secret;
use serde::Deserialize;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::sleep;
use tool_adapters_http::debug_only;
use tool_adapters_http::egress::EgressPolicy;
use tool_adapters_mcp::{LoginLock, LoginRequest, LoginStore, OAuthLogin, folder_of, sync_folder};
use tool_core::text::{escape_invisible, hex};

/// The login at a server, the table `oauth` of the policy.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct LoginSettings {
    /// True for the gateway's own credentials, which need no person.
    machine: bool,
    /// The file that keeps the tokens of a person.
    file: Option<PathBuf>,
    scopes: Vec<String>,
    /// The port to which the browser comes back.
    port: Option<u16>,
    /// The authorization server at which a client is registered by hand.
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    client_secret_file: Option<PathBuf>,
    /// True if a person at this terminal signs in anew.
    #[serde(skip)]
    pub(crate) is_asking: bool,
}

debug_only!(LoginSettings, |this| file: this.file);

impl LoginSettings {
    /// Returns the paths of its files.
    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let file = self
            .file
            .as_mut()
            .filter(|file| !file.as_os_str().is_empty());
        [file, self.client_secret_file.as_mut()]
            .into_iter()
            .flatten()
    }

    /// Reports settings that do not go together.
    pub(crate) fn check(&self, place: &str, problems: &Problems) {
        if self.needs_person() == self.machine {
            problems.add_unless_reported(
                &join(place, "file"),
                "expected the file that keeps the tokens, such as \"github.login.json\", or `machine = true`",
            );
        }
        if self.client_secret.is_some() && self.client_secret_file.is_some() {
            problems.add(
                &join(place, "client_secret_file"),
                "expected no `client_secret` beside it",
            );
        }
        let has_issuer = self.issuer.is_some();
        let has_id = self.client_id.is_some();
        let has_secret = self.client_secret.is_some() || self.client_secret_file.is_some();
        if self.machine && !(has_issuer && has_id && has_secret && self.port.is_none()) {
            problems.add(
                &join(place, "machine"),
                "expected `issuer`, `client_id`, one of `client_secret` and `client_secret_file`, and no `port`",
            );
        } else if has_issuer != has_id || (has_secret && !has_id) {
            problems.add(
                place,
                "expected `issuer` and `client_id`, or neither, and `client_secret` only with them",
            );
        }
    }

    /// Returns the file that has the secret of the client, and the place of the secret.
    pub(crate) fn secret_file(&mut self) -> Option<(&Path, &mut Option<Secret>)> {
        Some((self.client_secret_file.as_deref()?, &mut self.client_secret))
    }

    /// Returns true if a person signs in.
    pub(crate) fn needs_person(&self) -> bool {
        let file = self.file.as_deref();
        file.is_some_and(|file| !file.as_os_str().is_empty())
    }

    /// Returns the login at a server. The gateway itself asks no person.
    pub(crate) fn of_server(&self, server: &str, egress: Option<EgressPolicy>) -> OAuthLogin {
        let client = self.issuer.as_deref().zip(self.client_id.as_deref());
        let mut login = if let Some(file) = self.file.as_ref().filter(|_| self.needs_person()) {
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
        } else {
            let (issuer, id) = client.unwrap_or_default();
            OAuthLogin::machine(issuer, id, "")
        };
        login = login.client_name("tool-gateway");
        if let Some((issuer, id)) = client {
            login = login.client(issuer, id);
        }
        if let Some(secret) = &self.client_secret {
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

/// Returns the command by which a person signs in at a server. A shell reads any name in it as one
/// word.
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

    fn lock<'a>(&'a self, _: &'a str) -> Stored<'a, LoginLock> {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".lock");
        Box::pin(async move {
            let file = tokio::task::spawn_blocking(move || open_lock(Path::new(&path))).await??;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(LoginLock::new(file)),
                    Err(TryLockError::WouldBlock) => sleep(LOCK_POLL).await,
                    // Some file systems have no locks.
                    Err(TryLockError::Error(error))
                        if error.kind() == io::ErrorKind::Unsupported =>
                    {
                        return Ok(LoginLock::none());
                    }
                    Err(TryLockError::Error(error)) => return Err(error.into()),
                }
            }
        })
    }
}

/// The time between two looks at a lock that another process has.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Opens the file whose lock is that of a login. It has no contents, and stays.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The end of the name of a file that is about to replace a login. Random characters follow it.
const NEW: &str = ".new-";

/// The time after which such a file is what a killed process has left.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Replaces the file as a whole, so that a reader sees the earlier login or this one.
fn write(path: &Path, login: Option<&tool_core::Secret>) -> io::Result<()> {
    remove_left_behind(path);
    let Some(login) = login else {
        return fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
    };
    // In containers many processes have the same id.
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let mut new = path.as_os_str().to_owned();
    new.push(format!("{NEW}{}", hex(&random)));
    let replace = || {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(login.expose().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    };
    replace().inspect_err(|_| _ = fs::remove_file(&new))
}

/// Removes the files that killed processes have left. They have secrets.
fn remove_left_behind(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Ok(files) = fs::read_dir(folder_of(path)) else {
        return;
    };
    for file in files.flatten() {
        let other = file.file_name();
        let random = other.to_str().and_then(|other| other.strip_prefix(&*name));
        if !random.is_some_and(|random| random.starts_with(NEW)) {
            continue;
        }
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > LEFT_BEHIND) {
            _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;
    use tokio::time::timeout;

    #[tokio::test]
    async fn one_gateway_at_a_time_locks_a_login() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("github.login.json");
        let [first, second] = [path.clone(), path].map(|path| LoginFile {
            path,
            is_new: false,
        });
        let lock = first.lock("github").await.expect("it is free");
        let waiting = timeout(Duration::from_millis(200), second.lock("github"));
        assert!(waiting.await.is_err(), "the first one has it");
        drop(lock);
        assert!(second.lock("github").await.is_ok());
    }

    /// Makes a file beside a login, with the age of one that a killed process has left.
    fn leave_behind(path: &Path) {
        let file = File::create(path).expect("created");
        let killed = std::time::SystemTime::now() - 2 * LEFT_BEHIND;
        file.set_modified(killed).expect("its time is set");
    }

    #[test]
    fn a_login_is_saved_beside_what_a_killed_save_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("github.login.json");
        // The form of earlier versions, with the id of this process.
        for counter in 0..64 {
            let left = format!("github.login.json.{}-{counter}", std::process::id());
            leave_behind(&folder.path().join(left));
        }
        write(&path, Some(&"{}".into())).expect("saved");
        assert_eq!(fs::read_to_string(&path).expect("a login"), "{}");
    }

    #[test]
    fn a_save_removes_what_killed_saves_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("github.login.json");
        let other = folder.path().join("git.login.json.new-0123");
        let at_work = folder.path().join("github.login.json.new-4567");
        leave_behind(&folder.path().join("github.login.json.new-0123"));
        leave_behind(&other);
        File::create(&at_work).expect("created");
        write(&path, Some(&"{}".into())).expect("saved");

        let files = fs::read_dir(folder.path()).expect("files").flatten();
        let mut left = files.map(|file| file.path()).collect::<Vec<_>>();
        left.sort();
        assert_eq!(left, [other, path, at_work]);
    }

    #[test]
    fn a_removed_login_leaves_no_secret_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("github.login.json");
        leave_behind(&folder.path().join("github.login.json.new-0123"));
        write(&path, None).expect("removed");
        let files = fs::read_dir(folder.path()).expect("files");
        assert_eq!(files.count(), 0);
    }

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
