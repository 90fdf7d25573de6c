//! Hashes of each tool's declaration at its first use.
//!
//! A server may change a declaration after a person has reviewed it. A tool whose declaration differs from its pin in any
//! member is not run.

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tool_core::text::hex;

/// The members that are pinned: all that a model reads or the host acts on.
const MEMBERS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A hash of each member of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    pub(crate) fn new(tool: &Tool) -> Self {
        let mut declared = serde_json::to_value(tool).unwrap_or_default();
        // Equal members have the same text, whatever the order of their keys.
        declared.sort_all_objects();
        let hash = |member: &&str| {
            let text = declared.get(*member).unwrap_or(&Value::Null).to_string();
            hex(&Sha256::digest(text))
        };
        Self(MEMBERS.iter().map(|member| ((*member).to_owned(), hash(member))).collect())
    }

    /// Returns the members that differ.
    pub(crate) fn changed_members(&self, other: &Self) -> Vec<&'static str> {
        MEMBERS.into_iter().filter(|member| self.0.get(*member) != other.0.get(*member)).collect()
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

/// Pinned declarations of tools, in a file or in memory. Clones share the same pins.
#[derive(Clone, Debug, Default)]
pub struct Pins(Arc<PinStore>);

#[derive(Debug, Default)]
struct PinStore {
    path: Option<PathBuf>,
    servers: Mutex<ServerPins>,
}

/// An error of reading or writing pins.
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
    /// The file has no valid pins.
    #[error("invalid pins in {path}: {source}")]
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
}

impl Pins {
    /// Creates pins that last as long as the process.
    pub fn memory() -> Self {
        Self::default()
    }

    /// Opens pins in a JSON file, which is meant for version control. The first import creates a missing file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists and cannot be read. Ignoring it would trust every tool again.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, PinError> {
        let path = path.as_ref().to_owned();
        let servers = match std::fs::read(&path) {
            Ok(bytes) => match serde_json::from_slice::<PinFile>(&bytes) {
                Ok(PinFile { version: VERSION, servers }) => servers,
                Ok(PinFile { version, .. }) => return Err(PinError::Version { path, version }),
                Err(source) => return Err(PinError::Invalid { path, source }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => ServerPins::new(),
            Err(source) => return Err(PinError::Io { path, source }),
        };
        Ok(Self(Arc::new(PinStore { path: Some(path), servers: Mutex::new(servers) })))
    }

    /// Removes the pin of a tool, so that the next import trusts its declaration again. Returns false if the tool was
    /// not pinned.
    pub fn forget(&self, server: &str, tool: &str) -> Result<bool, PinError> {
        let mut servers = self.lock();
        let removed = servers.get_mut(server).is_some_and(|tools| tools.remove(tool).is_some());
        if removed {
            self.write(&servers)?;
        }
        Ok(removed)
    }

    fn lock(&self) -> MutexGuard<'_, ServerPins> {
        self.0.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, server: &str, tool: &str) -> Option<Fingerprint> {
        self.lock().get(server)?.get(tool).cloned()
    }

    /// Pins these tools. Pins of other tools stay, so that a tool that disappears and returns is compared with its pin.
    pub(crate) fn pin(&self, server: &str, tools: &ToolPins) -> Result<(), PinError> {
        let mut servers = self.lock();
        let pinned = servers.entry(server.to_owned()).or_default();
        let before = pinned.len();
        pinned.extend(tools.iter().map(|(tool, fingerprint)| (tool.clone(), fingerprint.clone())));
        if pinned.len() == before { Ok(()) } else { self.write(&servers) }
    }

    /// Replaces the file atomically.
    fn write(&self, servers: &ServerPins) -> Result<(), PinError> {
        let Some(path) = &self.0.path else { return Ok(()) };
        let failed = |source: io::Error| PinError::Io { path: path.clone(), source };
        let mut text = serde_json::to_vec_pretty(&PinFile { version: VERSION, servers: servers.clone() })
            .map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut temporary = path.clone().into_os_string();
        temporary.push(format!(".{}", std::process::id()));
        std::fs::write(&temporary, text).map_err(failed)?;
        std::fs::rename(&temporary, path).map_err(failed)
    }
}
