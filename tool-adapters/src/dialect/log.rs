//! The changes of a projection.

use crate::report::{Change, ChangeKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Gathers changes. A schema that is reached twice is reported once.
#[derive(Default)]
pub(super) struct Log(Vec<Change>);

impl Log {
    pub(super) fn add(&mut self, pointer: &str, keyword: &str, kind: ChangeKind, detail: impl Into<String>) {
        self.0.push(Change { pointer: pointer.to_owned(), keyword: keyword.to_owned(), kind, detail: detail.into() });
    }

    /// In the order of the walk; of one keyword what cost most.
    pub(super) fn finish(self) -> Vec<Change> {
        if self.0.len() < 2 {
            return self.0;
        }
        let mut kept: Vec<Change> = Vec::with_capacity(self.0.len());
        let mut at = HashMap::with_capacity(self.0.len());
        for change in self.0 {
            match at.entry((change.pointer.clone(), change.keyword.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(kept.len());
                    kept.push(change);
                }
                Entry::Occupied(entry) => {
                    if let Some(known) = kept.get_mut(*entry.get())
                        && cost(known.kind) < cost(change.kind)
                    {
                        *known = change;
                    }
                }
            }
        }
        kept
    }
}

fn cost(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::Rewritten => 0,
        ChangeKind::Closed => 1,
        ChangeKind::Described => 2,
        ChangeKind::Weakened => 3,
        ChangeKind::Dropped => 4,
    }
}
