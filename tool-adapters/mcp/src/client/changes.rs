//! The changes of which a server notifies.

use crate::client::pins::Declaration;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Notify;
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};

/// A change of which a server has notified. Returned by [`ServerChanges::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerChange {
    /// The list of tools. Each list was requested again and checked before this is reported.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of their templates.
    Resources,
    /// The resource with this URI, to which the host has [subscribed](crate::ImportedToolset::subscribe). The URI comes from the server.
    Resource(String),
    /// Changes that are not known, because 64 others were waiting, a lost connection was made
    /// again, or a stream of changes had ended. Read again what matters.
    Missed,
}

/// The changes that wait for a receiver.
const CAPACITY: usize = 64;

#[derive(Clone)]
pub(crate) struct ChangeSender(Sender<ServerChange>);

impl ChangeSender {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(CAPACITY).0)
    }

    pub(crate) fn send(&self, change: ServerChange) {
        // An error says that there is no receiver.
        _ = self.0.send(change);
    }

    pub(crate) fn subscribe(&self) -> ServerChanges {
        ServerChanges(self.0.subscribe())
    }
}

/// The changes of which a server notifies, since the receiver was created by
/// [`ImportedToolset::changes`](crate::ImportedToolset::changes).
#[derive(Debug)]
pub struct ServerChanges(Receiver<ServerChange>);

impl ServerChanges {
    /// Waits for the next change. Returns `None` once the toolset is dropped. Dropping the future
    /// loses no change.
    pub async fn next(&mut self) -> Option<ServerChange> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(ServerChange::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

/// The lists that are to be requested again.
#[derive(Default)]
pub(crate) struct ChangedLists {
    kinds: AtomicU8,
    pub(crate) changed: Notify,
}

impl ChangedLists {
    pub(crate) fn note(&self, kind: Declaration) {
        self.kinds.fetch_or(kind as u8, Ordering::AcqRel);
        self.changed.notify_one();
    }

    /// Wakes the task that requests the lists, so that it sees the end of a connection.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Returns the kinds of the lists that have changed since the last time.
    pub(crate) fn take(&self) -> Vec<Declaration> {
        let kinds = self.kinds.swap(0, Ordering::AcqRel);
        Declaration::ALL
            .into_iter()
            .filter(|kind| kinds & *kind as u8 != 0)
            .collect()
    }
}

impl From<Declaration> for ServerChange {
    fn from(kind: Declaration) -> Self {
        match kind {
            Declaration::Tool => Self::Tools,
            Declaration::Prompt => Self::Prompts,
            Declaration::Resource => Self::Resources,
        }
    }
}
