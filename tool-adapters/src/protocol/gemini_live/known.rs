//! The calls of a session, by our ids and by the server's.

use crate::protocol::ids::Wire;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(super) struct Known {
    /// By our id.
    calls: HashMap<String, Wire>,
    /// Our id of the latest call that the server gave an id.
    ours: HashMap<String, String>,
    /// Those that the server has withdrawn: they want no answer.
    cancelled: HashSet<String>,
}

/// Which answer of a call it is. L24
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The only one, or the first of several.
    First,
    /// The call goes on.
    Update,
    /// The last of several.
    Final,
}

impl Known {
    pub(super) fn add(&mut self, id: &str, wire: Wire) {
        self.ours.insert(wire.id.clone(), id.to_owned());
        self.calls.insert(id.to_owned(), wire);
    }

    /// Our ids of what the server has withdrawn. An id that it never gave stays as it is.
    pub(super) fn cancel(&mut self, ids: &[String]) -> Vec<String> {
        let ours = ids.iter().map(|id| self.ours.get(id).unwrap_or(id).clone()).collect::<Vec<_>>();
        self.cancelled.extend(ours.iter().filter(|id| self.calls.contains_key(*id)).cloned());
        ours
    }

    /// The call that an answer is to, and which one it is.
    pub(super) fn call<'a>(&'a self, id: &'a str) -> (&'a str, Option<&'a Wire>, Stage) {
        if let Some(wire) = self.calls.get(id) {
            return (id, Some(wire), Stage::First);
        }
        let update = id.rsplit_once("_update_").filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()));
        let of_update = update.map(|(id, _)| (id, Stage::Update));
        let of_final = id.strip_suffix("_final").map(|id| (id, Stage::Final));
        match of_update.or(of_final).filter(|(id, _)| self.calls.contains_key(*id)) {
            Some((id, stage)) => (id, self.calls.get(id), stage),
            None => (id, None, Stage::First),
        }
    }

    pub(super) fn is_cancelled(&self, id: &str) -> bool {
        self.cancelled.contains(id)
    }
}
