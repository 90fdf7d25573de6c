//! Hashes of each tool's declaration at its first use.
//!
//! A server may change a declaration after a person has reviewed it. A tool whose declaration
//! differs from its pin in any member is not run.

use crate::client::declared::Declared;
use crate::durable_folder::sync_folder;
use crate::original::unknown_members;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool_core::text::hex;

/// The kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Declaration {
    Tool = 1,
    Prompt = 2,
    /// A resource, or a template.
    Resource = 4,
}

impl Declaration {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// Returns the key of a pin. That of a tool is its name.
    pub(crate) fn key(self, name: &str) -> String {
        match self {
            Self::Tool => name.to_owned(),
            Self::Prompt => format!("prompt:{name}"),
            Self::Resource => format!("resource:{name}"),
        }
    }

    /// Returns the members that are pinned one by one, and the rest of the declaration, such as its
    /// `_meta` and its icons.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "name",
                "title",
                "description",
                "inputSchema",
                "outputSchema",
                "annotations",
                REST,
            ],
            Self::Prompt => &["name", "title", "description", "arguments", REST],
            Self::Resource => &[
                "uri",
                "uriTemplate",
                "name",
                "title",
                "description",
                "mimeType",
                "annotations",
                REST,
            ],
        }
    }
}

const REST: &str = "other members";

/// The name of the unknown members among the other ones. No server can send it, as it would be an
/// unknown member.
const UNKNOWN: &str = "unknown members";

/// A hash of each member of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    /// Returns the fingerprint of an entry of a list. Members that the type does not know count as
    /// other members, but for those of tasks, which are not passed on.
    pub(crate) fn of_declared<T: Serialize>(declared: &Declared<T>, kind: Declaration) -> Self {
        let typed = serde_json::to_value(&declared.item).unwrap_or_default();
        let mut sent = declared.sent.clone();
        sent.remove("execution");
        let unknown = unknown_members(&Value::Object(sent), &typed);
        Self::of_value(typed, unknown, kind)
    }

    fn of_value(mut declared: Value, unknown: Option<Value>, kind: Declaration) -> Self {
        if let (Some(unknown), Some(members)) = (unknown, declared.as_object_mut()) {
            members.insert(UNKNOWN.to_owned(), unknown);
        }
        if let (Declaration::Resource, Some(members)) = (kind, declared.as_object_mut()) {
            // They follow the contents.
            members.remove("size");
            members
                .get_mut("annotations")
                .and_then(|hints| hints.as_object_mut()?.remove("lastModified"));
        }
        // Equal members have the same text, whatever the order of their keys.
        declared.sort_all_objects();
        // The query of an icon's URL is often a signature, which is new each time.
        let icons = declared
            .get_mut("icons")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten();
        for source in icons.filter_map(|icon| icon.get_mut("src")) {
            if let Some((url, _)) = source
                .as_str()
                .filter(|url| url.starts_with("http"))
                .and_then(|url| url.split_once('?'))
            {
                *source = url.into();
            }
        }
        let mut hash = |member: &str| {
            let taken = match declared.as_object_mut() {
                Some(members) if member != REST => members.remove(member).unwrap_or_default(),
                _ => declared.take(),
            };
            hex(&Sha256::digest(taken.to_string()))
        };
        Self(
            kind.members()
                .iter()
                .map(|member| ((*member).to_owned(), hash(member)))
                .collect(),
        )
    }

    /// Returns the kind of the declaration. Its key does not tell, as a tool may be named
    /// `prompt:x`.
    pub(crate) fn kind(&self) -> Declaration {
        match (
            self.0.contains_key("inputSchema"),
            self.0.contains_key("uri"),
        ) {
            (true, _) => Declaration::Tool,
            (false, true) => Declaration::Resource,
            (false, false) => Declaration::Prompt,
        }
    }

    /// Returns the members that differ from a pin. A pin of a former version has no hash of the
    /// other members.
    pub(crate) fn changed_members(&self, pin: &Self) -> Vec<&'static str> {
        let is_changed = |member: &str| match pin.0.get(member) {
            None if member == REST => false,
            pinned => self.0.get(member) != pinned,
        };
        self.kind()
            .members()
            .iter()
            .copied()
            .filter(|member| is_changed(member))
            .collect()
    }

    /// Returns true if a pin is of a former version, and only lacks the other members.
    fn completes(&self, pin: &Self) -> bool {
        !pin.0.contains_key(REST) && self.changed_members(pin).is_empty()
    }
}

/// Fingerprints by tool.
pub(crate) type ToolPins = BTreeMap<String, Fingerprint>;

type ServerPins = BTreeMap<String, ToolPins>;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinFile {
    version: u32,
    servers: ServerPins,
}

/// Pinned declarations of tools, in a file or in memory. Clones share the same pins, and so do all
/// processes that open the same file.
///
/// ```
/// use tool_adapters::mcp::{McpClient, Pins};
///
/// # use tool_adapters::mcp::Server;
/// # use tool_core::{ToolContext, tool};
/// # /// Add two numbers.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 { a + b }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("mcp.pins.json");
/// # let server = Server::from_tools(ToolContext::builder().with(add).build()?)?;
/// # let (ours, theirs) = tokio::io::duplex(64 * 1024);
/// # let (input, output) = tokio::io::split(theirs);
/// # tokio::spawn(async move { server.serve_streams(input, output).await });
/// # let (input, output) = tokio::io::split(ours);
/// let pins = Pins::create(&path)?; // once, by hand; later `Pins::file(&path)?`
/// let sums = McpClient::streams("sums", input, output).pins(pins.clone()).connect().await?;
/// assert!(sums.quarantined().is_empty()); // all tools are new, and now pinned
///
/// // After a review of a changed tool: the next import trusts it as it is then.
/// assert!(pins.forget("sums", "add")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pins(Arc<PinStore>);

#[derive(Debug)]
enum PinStore {
    Memory(Mutex<ServerPins>),
    File(PathBuf),
}

/// An error of reading or writing pins.
///
/// ```
/// use tool_adapters::mcp::{PinError, Pins};
///
/// /// Opens the pins. A missing file is an error, as an empty one would trust every tool again.
/// fn pins(path: &str) -> Result<Pins, PinError> {
///     match Pins::file(path) {
///         Err(PinError::Missing { path }) if std::env::var_os("FIRST_START").is_some() => Pins::create(path),
///         opened => opened,
///     }
/// }
///
/// assert!(matches!(pins("no/such/mcp.pins.json"), Err(PinError::Missing { .. })));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The file could not be read or written.
    #[error("failed to access the pins in {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file does not exist.
    #[error(
        "expected pins in {path}, but the file is missing; restore it, or create it with `Pins::create` if it is new"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file that is to be created exists.
    #[error("the pins in {path} exist; open them with `Pins::file`")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The end of the file is missing.
    #[error("the pins in {path} end early; restore the file")]
    Cut {
        /// The file.
        path: PathBuf,
    },
    /// The file has no valid pins.
    #[error("invalid pins in {path}; restore the file: {source}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error in its JSON.
        source: serde_json::Error,
    },
    /// The file was written by another version of this library.
    #[error("expected version {VERSION} of the pins in {path}, got {version}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Another process held the lock of the file for 10 s.
    #[error("another process holds the lock of the pins in {path}; end it and import again")]
    Locked {
        /// The file.
        path: PathBuf,
    },
}

/// Maximum number of pins of a server, which may list other names each time.
pub(crate) const MAX_PINS: usize = 20_000;

/// The pins of tools, and the tools that could not be pinned.
pub(crate) struct MergedPins {
    /// The pins that the tools had before.
    pub(crate) known: ToolPins,
    /// The new tools for which there was no room.
    pub(crate) left_out: ToolPins,
}

impl Pins {
    /// Creates pins that last as long as the process.
    pub fn memory() -> Self {
        Self(Arc::new(PinStore::Memory(Mutex::default())))
    }

    /// Opens pins in a JSON file, which is meant for version control. Each import reads the file
    /// again, and adds its pins to those of other processes.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is missing, cut or invalid. Ignoring it would trust every tool
    /// again. The first time,
    /// [`create`](Self::create) creates the file.
    ///
    /// ```
    /// use tool_adapters::mcp::{PinError, Pins};
    ///
    /// # fn main() -> Result<(), PinError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("mcp.pins.json");
    /// assert!(matches!(Pins::file(&path), Err(PinError::Missing { .. })));
    /// Pins::create(&path)?;
    /// let pins = Pins::file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn file(path: impl AsRef<Path>) -> Result<Self, PinError> {
        let path = path.as_ref();
        read(path)?;
        Ok(Self(Arc::new(PinStore::File(
            path.canonicalize()
                .map_err(|source| io_error(path, source))?,
        ))))
    }

    /// Creates a file without pins, so that the next imports trust what they find. Its lock is a
    /// file beside it, with the ending `.lock`, and both belong to this user only. A user who may
    /// write the folder may replace the pins, so give that permission to the program's user alone.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, PinError> {
        let path = path.as_ref();
        let _lock = lock(path)?;
        if path.symlink_metadata().is_ok() {
            return Err(PinError::Exists {
                path: path.to_owned(),
            });
        }
        write(path, &ServerPins::new())?;
        Self::file(path)
    }

    /// Removes the pin of a tool, so that the next import trusts its declaration again. Returns
    /// false if the tool was not pinned. A prompt is `prompt:NAME`, and a resource `resource:URI`.
    pub fn forget(&self, server: &str, tool: &str) -> Result<bool, PinError> {
        self.change(|servers| {
            let removed = servers
                .get_mut(server)
                .is_some_and(|tools| tools.remove(tool).is_some());
            Ok((removed, removed))
        })
    }

    /// Pins tools that have no pin, and completes pins of a former version, if `pin_new`. Pins of
    /// other tools stay, so that a tool that disappears and returns is compared with its pin.
    pub(crate) async fn merge(
        &self,
        server: &str,
        tools: ToolPins,
        pin_new: bool,
    ) -> Result<MergedPins, PinError> {
        let pins = self.clone();
        let server = server.to_owned();
        let merge = move || {
            pins.change(|servers| {
                let pinned = servers.entry(server).or_default();
                let mut merged = MergedPins {
                    known: ToolPins::new(),
                    left_out: ToolPins::new(),
                };
                let mut completed = ToolPins::new();
                let mut new = Vec::new();
                for (tool, found) in tools {
                    let Some(pin) = pinned.get(&tool) else {
                        new.push((tool, found));
                        continue;
                    };
                    merged.known.insert(tool.clone(), pin.clone());
                    if found.completes(pin) {
                        completed.insert(tool, found);
                    }
                }
                if !pin_new {
                    return Ok((merged, false));
                }

                // Prompts and resources take no room from tools.
                new.sort_by_key(|(_, found)| found.kind() as u8);
                let room = MAX_PINS.saturating_sub(pinned.len());
                let left_out = new.split_off(room.min(new.len()));
                merged.left_out.extend(left_out);
                let has_changed = !new.is_empty() || !completed.is_empty();
                pinned.extend(completed);
                pinned.extend(new);
                Ok((merged, has_changed))
            })
        };
        match &*self.0 {
            PinStore::Memory(_) => merge(),
            // Files and their locks block.
            PinStore::File(path) => tokio::task::spawn_blocking(merge)
                .await
                .unwrap_or_else(|error| Err(io_error(path, io::Error::other(error)))),
        }
    }

    /// Changes the pins. `change` returns its result, and true if the pins have to be written.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut ServerPins) -> Result<(T, bool), PinError>,
    ) -> Result<T, PinError> {
        match &*self.0 {
            PinStore::Memory(servers) => Ok(change(&mut servers.lock())?.0),
            PinStore::File(path) => {
                let _lock = lock(path)?;
                let mut servers = read(path)?;
                let (result, changed) = change(&mut servers)?;
                if changed {
                    write(path, &servers)?;
                }
                Ok(result)
            }
        }
    }
}

/// Items for the gateway, beside the public interface. They may change in a patch version.
#[doc(hidden)]
impl Pins {
    /// Copies the pins of a file, which does not change.
    pub fn copy(path: &Path) -> Result<Self, PinError> {
        Ok(Self(Arc::new(PinStore::Memory(Mutex::new(read(path)?)))))
    }
}

fn io_error(path: &Path, source: io::Error) -> PinError {
    PinError::Io {
        path: path.to_owned(),
        source,
    }
}

fn read(path: &Path) -> Result<ServerPins, PinError> {
    let bytes = std::fs::read(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => PinError::Missing {
            path: path.to_owned(),
        },
        _ => io_error(path, source),
    })?;
    if bytes.last() != Some(&b'\n') {
        return Err(PinError::Cut {
            path: path.to_owned(),
        });
    }
    match serde_json::from_slice::<PinFile>(&bytes) {
        Ok(PinFile {
            version: VERSION,
            servers,
        }) => Ok(servers),
        Ok(PinFile { version, .. }) => Err(PinError::Version {
            path: path.to_owned(),
            version,
        }),
        Err(source) => Err(PinError::Invalid {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Returns the path beside a file that has this suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(suffix);
    beside.into()
}

/// Returns the options for a file that only this user reads and writes.
fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens the file of the lock. Refuses a link, which could lead to the file of another program.
fn open_lock(path: &Path) -> io::Result<File> {
    // A new file is never behind a link.
    match private_file().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened,
    }
    let named = path.symlink_metadata()?;
    if named.is_file() {
        let file = private_file().open(path)?;
        if is_same(&named, &file.metadata()?) {
            return Ok(file);
        }
    }
    Err(io::Error::other(format!(
        "expected a file without links at {}, got another; remove it",
        path.display()
    )))
}

/// Returns true if both describe the same file, which has this name only.
#[cfg(unix)]
fn is_same(named: &Metadata, open: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (named.dev(), named.ino(), named.nlink()) == (open.dev(), open.ino(), 1)
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, open: &Metadata) -> bool {
    open.is_file()
}

/// Locks the pins until the returned file is dropped. The lock is a file of its own, as the pins
/// are replaced.
fn lock(path: &Path) -> Result<File, PinError> {
    let failed = |source| io_error(path, source);
    let file = open_lock(&beside(path, ".lock")).map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(PinError::Locked {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}

const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Replaces the file atomically and durably. The lock has to be held.
fn write(path: &Path, servers: &ServerPins) -> Result<(), PinError> {
    let replace = || {
        let mut text = serde_json::to_vec_pretty(&PinFile {
            version: VERSION,
            servers: servers.clone(),
        })?;
        text.push(b'\n');
        let temporary = beside(path, ".new");
        // What a killed writer has left, or a link that another program has put there. The link is
        // removed, not its target.
        if temporary.symlink_metadata().is_ok() {
            std::fs::remove_file(&temporary)?;
        }
        let mut file = private_file().create_new(true).open(&temporary)?;
        file.write_all(&text)?;
        if let Some(metadata) = path.symlink_metadata().ok().filter(Metadata::is_file) {
            file.set_permissions(metadata.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        sync_folder(path)
    };
    replace().map_err(|source| io_error(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fingerprint(kind: Declaration) -> Fingerprint {
        Fingerprint::of_value(json!({"name": "x"}), None, kind)
    }

    fn resources(from: usize, count: usize) -> ToolPins {
        let keys = (from..from + count).map(|at| format!("resource:a://{at}"));
        keys.map(|key| (key, fingerprint(Declaration::Resource)))
            .collect()
    }

    // T33
    #[tokio::test]
    async fn full_pins_leave_out_new_ones_only() {
        let pins = Pins::memory();
        let first = resources(0, MAX_PINS);
        pins.merge("acme", first, true).await.expect("pins");

        let more = resources(MAX_PINS - 1, 3);
        let merged = pins.merge("acme", more, true).await.expect("pins");
        assert_eq!(merged.known.len(), 1);
        assert_eq!(merged.left_out.len(), 2);
    }

    // T33
    #[tokio::test]
    async fn tools_are_pinned_before_resources() {
        let pins = Pins::memory();
        let first = resources(0, MAX_PINS - 1);
        pins.merge("acme", first, true).await.expect("pins");

        let mut more = resources(MAX_PINS, 1);
        more.insert("work".to_owned(), fingerprint(Declaration::Tool));
        let merged = pins.merge("acme", more, true).await.expect("pins");
        let left_out = merged.left_out.into_keys().collect::<Vec<_>>();
        assert_eq!(left_out, [format!("resource:a://{MAX_PINS}")]);
    }
}
