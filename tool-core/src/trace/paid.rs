//! What a span pays: each use once, told or seen, and no more entries than it can keep.

use super::scope::Own;
use super::spend::{ModelUse, Spent};
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// The entries of one span; what comes after them is summed up by model.
const ENTRIES: usize = 256;

impl Own {
    /// Takes what was spent. What is `told` of a question takes the place of what was seen of it; what was seen of another
    /// response stays, as an attempt that broke off is paid as well. S6
    pub(super) fn pay(&mut self, mut spent: Spent, told: bool) {
        if told && spent.used.usage.is_empty() {
            // It says nothing of tokens: what was seen of them stays.
            if let Some(seen) = self.spent.iter_mut().find(|other| other.observed && other.asked) {
                return seen.used.tool_calls.append(&mut spent.used.tool_calls);
            }
        } else if told {
            self.spent.retain(|other| !(other.observed && other.asked && may_be_same(&other.used, &spent.used)));
        } else if spent.observed && spent.asked {
            let empty = |other: &mut Spent| !other.observed && other.asked && other.used.usage.is_empty();
            for mut said in self.spent.extract_if(.., empty) {
                spent.used.tool_calls.append(&mut said.used.tool_calls);
            }
        }
        if self.spent.len() >= ENTRIES
            && let Some(same) = self.spent.iter_mut().rev().find(|other| other.sums_with(&spent))
        {
            return same.sum(&spent);
        }
        // Most spans pay once, and a vector begins with room for more.
        self.spent.reserve_exact(usize::from(self.spent.is_empty()));
        self.spent.push(spent);
    }

    /// Takes away what was only seen of a response; whether there was any.
    pub(super) fn forget_seen(&mut self, id: &str) -> bool {
        let before = self.spent.len();
        self.spent.retain(|spent| !(spent.observed && spent.used.response_id.as_deref() == Some(id)));
        self.spent.len() < before
    }
}

/// Whether both may be of one response: they are not where each has an id of its own.
fn may_be_same(one: &ModelUse, other: &ModelUse) -> bool {
    match (&one.response_id, &other.response_id) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

impl Spent {
    fn sums_with(&self, other: &Self) -> bool {
        self.used.model == other.used.model
            && self.used.provider == other.used.provider
            && self.cost.is_some() == other.cost.is_some()
            && !self.observed
            && !other.observed
    }

    fn sum(&mut self, other: &Self) {
        self.used.usage += other.used.usage;
        self.cost = self.cost.zip(other.cost).map(|(mine, more)| mine + more);
        self.times += other.times;
        // It is of many responses now.
        self.used.response_id = None;
    }
}

/// The responses that were counted, the newest: numbers that stand for them. The same id, model and tokens are the same
/// response; some servers use an id again and again.
#[derive(Default)]
pub(super) struct Seen {
    hasher: RandomState,
    known: HashSet<u64>,
    oldest_first: VecDeque<u64>,
}

const REMEMBERED: usize = 8_192;

impl Seen {
    /// Whether the response is a new one. From here on it is none.
    pub(super) fn add(&mut self, used: &ModelUse) -> bool {
        let Some(id) = &used.response_id else { return true };
        self.insert(self.hasher.hash_one((id, &used.model, used.usage)))
    }

    /// A response of this id was told.
    pub(super) fn tell(&mut self, id: &str) {
        self.insert(self.hasher.hash_one(id));
    }

    /// Whether one of this id was.
    pub(super) fn was_told(&self, id: &str) -> bool {
        self.known.contains(&self.hasher.hash_one(id))
    }

    fn insert(&mut self, number: u64) -> bool {
        if self.known.contains(&number) {
            return false;
        }
        if self.oldest_first.len() == REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.oldest_first.push_back(number);
        self.known.insert(number)
    }
}
