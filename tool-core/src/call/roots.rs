//! The user's folders, as running tools ask for them.

use crate::call::host_request::HostRequest;
use crate::text::{escape_invisible, truncate};

/// The number of roots.
const MAX_ROOTS: usize = 1_000;
/// The bytes of a root's URI.
const MAX_URI: usize = 4_096;
/// The characters of a root's name.
const MAX_NAME: usize = 200;

/// A folder or a file that the user lets tools work with.
///
/// It is what the client says. A tool that opens files must check the path as it checks one that a
/// model gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Root {
    /// The URI, for example `file:///home/ada/project`, of at most 4,096 bytes.
    pub uri: String,
    /// The name for people, if there is one.
    pub name: Option<String>,
}

impl Root {
    /// Creates a root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// A request of a running tool for the user's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootsRequest {
    /// The session's id; empty outside a session.
    pub session: String,
    /// The id of the call, which the model gave; empty if it has none.
    pub call_id: String,
    /// The name of the tool that asks.
    pub tool: String,
    /// The name that the tool gave the request ([`Ask::named`](super::Ask::named)).
    pub key: Option<String>,
}

impl HostRequest for RootsRequest {
    type Answer = Vec<Root>;
}

/// Returns the roots that tools may see.
pub(crate) fn checked_roots(roots: Vec<Root>) -> Vec<Root> {
    let is_plain =
        |root: &Root| root.uri.len() <= MAX_URI && escape_invisible(&root.uri) == root.uri;
    let named = |root: Root| Root {
        name: root
            .name
            .map(|name| escape_invisible(&truncate(&name, MAX_NAME))),
        ..root
    };
    roots
        .into_iter()
        .filter(is_plain)
        .take(MAX_ROOTS)
        .map(named)
        .collect()
}
