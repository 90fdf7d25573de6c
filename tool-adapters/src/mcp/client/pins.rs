//! What each tool looked like when it was first trusted. A server may say one thing when it is looked at and another
//! later, so a tool whose declaration has changed in any member is not run until somebody has looked again.

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tool_core::text::hex;

/// The members that are pinned. A model reads or a host goes by each of them.
const MEMBERS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A hash of each member of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    pub(crate) fn of(tool: &Tool) -> Self {
        let declared = serde_json::to_value(tool).unwrap_or_default();
        let hash = |member: &&str| {
            let mut text = String::new();
            write_sorted(declared.get(*member).unwrap_or(&Value::Null), &mut text);
            hex(&Sha256::digest(text.as_bytes()))
        };
        Self(MEMBERS.iter().map(|member| ((*member).to_owned(), hash(member))).collect())
    }

    /// The members in which they differ.
    pub(crate) fn differs(&self, other: &Self) -> Vec<&'static str> {
        MEMBERS.into_iter().filter(|member| self.0.get(*member) != other.0.get(*member)).collect()
    }
}

/// One text for all values that are equal.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted = members.iter().collect::<BTreeMap<_, _>>();
            text.push('{');
            for (key, member) in sorted {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(member, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

type Trusted = BTreeMap<String, BTreeMap<String, Fingerprint>>;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    /// By server, then by tool.
    servers: Trusted,
}

/// What tools looked like when they were first trusted, in a file or in memory. A clone is the same.
#[derive(Clone, Default)]
pub struct Pins(Arc<Inner>);

#[derive(Default)]
struct Inner {
    path: Option<PathBuf>,
    trusted: Mutex<Trusted>,
}

/// Why pins could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub struct PinError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pins in {}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for PinError {}

impl Pins {
    /// Pins that are forgotten with the process.
    pub fn memory() -> Self {
        Self::default()
    }

    /// Pins in a file: one of JSON, to be read and kept under version control. It need not be there yet; one that is
    /// there and cannot be read is an error, as otherwise everything would be trusted anew.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, PinError> {
        let path = path.as_ref().to_owned();
        let failed = |why: String| PinError { path: path.clone(), why };
        let trusted = match std::fs::read(&path) {
            Ok(bytes) => {
                let written = serde_json::from_slice::<Written>(&bytes).map_err(|error| failed(error.to_string()))?;
                if written.version != 1 {
                    return Err(failed(format!("version {} is not known here", written.version)));
                }
                written.servers
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Trusted::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        Ok(Self(Arc::new(Inner { path: Some(path), trusted: Mutex::new(trusted) })))
    }

    /// Forgets what a tool looked like, so that the next import trusts it as it is then. Whether there was anything to
    /// forget.
    pub fn forget(&self, server: &str, tool: &str) -> Result<bool, PinError> {
        let mut trusted = self.lock();
        let known = trusted.get_mut(server).is_some_and(|tools| tools.remove(tool).is_some());
        if known { self.write(&trusted).map(|()| true) } else { Ok(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Trusted> {
        self.0.trusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, server: &str, tool: &str) -> Option<Fingerprint> {
        self.lock().get(server)?.get(tool).cloned()
    }

    /// Trusts these tools as they are. Pins of others stay, so that one which goes and comes back is held against them.
    pub(crate) fn trust(&self, server: &str, tools: &BTreeMap<String, Fingerprint>) -> Result<(), PinError> {
        let mut trusted = self.lock();
        let known = trusted.entry(server.to_owned()).or_default();
        let before = known.len();
        known.extend(tools.iter().map(|(tool, fingerprint)| (tool.clone(), fingerprint.clone())));
        if known.len() == before { Ok(()) } else { self.write(&trusted) }
    }

    /// In one go, so that a reader finds the old pins or the new ones.
    fn write(&self, trusted: &Trusted) -> Result<(), PinError> {
        let Some(path) = &self.0.path else { return Ok(()) };
        let failed = |error: std::io::Error| PinError { path: path.clone(), why: error.to_string() };
        let written = Written { version: 1, servers: trusted.clone() };
        let mut text = serde_json::to_vec_pretty(&written).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}", std::process::id()));
        std::fs::write(&beside, text).map_err(failed)?;
        std::fs::rename(&beside, path).map_err(failed)
    }
}

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins").field("path", &self.0.path).finish_non_exhaustive()
    }
}
