//! The attempts of a turn at one tool, counted by their arguments.
//!
//! A first attempt has nothing to be compared with, so its text is kept and nothing is made of it; the next ones most
//! often differ at a glance. Only where that leaves it open, and past the first few, arguments are hashed.

use crate::compare::Fingerprint;
use rustc_hash::FxHashMap;

/// How often each call of a tool was attempted in a turn.
///
/// Bounded: of a turn with very many different attempts, at least the last `HALF` are known. Small, because most turns
/// have one attempt at a tool: what more there is stands elsewhere.
#[derive(Default)]
pub(super) struct Attempts {
    /// Not made yet where its count is 0.
    first: Attempt,
    more: Option<Box<More>>,
}

#[derive(Default)]
struct More {
    few: [Option<Attempt>; FEW],
    many: Many,
}

#[derive(Default)]
struct Attempt {
    arguments: Arguments,
    count: u32,
}

enum Arguments {
    /// As they were sent.
    Text(String),
    /// Their hash, in two halves: as one it would have to stand at every 16th byte.
    Hash([u64; 2]),
}

/// The attempts that are compared one by one, beside the first.
const FEW: usize = 8;
/// A longer text is not kept.
const TEXT: usize = 1024;
/// The room that is kept for the next turn's first text.
const ROOM: usize = 256;

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Attempts {
    /// Counts one more, and tells how many that makes.
    #[inline]
    pub(super) fn count(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        if self.first.count == 0 && self.more.is_none() {
            self.first.make(arguments, None);
            return 1;
        }
        self.compare(arguments)
    }

    fn compare(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        let more = self.more.get_or_insert_default();
        let mut hash = None;
        let first = Some(&mut self.first).filter(|first| first.count > 0);
        for attempt in first.into_iter().chain(more.few.iter_mut().flatten()) {
            if attempt.is(arguments, &mut hash) {
                attempt.count = attempt.count.saturating_add(1);
                return attempt.count;
            }
        }
        // Once all are found by their hash, there is no first one.
        if self.first.count > 0
            && let Some(free) = more.few.iter_mut().find(|place| place.is_none())
        {
            free.insert(Attempt::default()).make(arguments, hash);
            return 1;
        }
        // From here on all are found by their hash, which text that decoded has under its tool's definition only.
        if arguments.decoded().is_some() {
            let few = std::mem::take(&mut more.few);
            let first = Some(std::mem::take(&mut self.first)).filter(|first| first.count > 0);
            for attempt in first.into_iter().chain(few.into_iter().flatten()) {
                more.many.young.insert(attempt.hash(arguments), attempt.count);
            }
        }
        more.many.count(hash.unwrap_or_else(|| halves(arguments.fast())))
    }

    /// Forgets the turn, and gives back what it took but for a little room.
    pub(super) fn clear(&mut self) {
        self.more = None;
        self.first.count = 0;
        match &mut self.first.arguments {
            Arguments::Text(text) if text.capacity() <= ROOM => text.clear(),
            other => *other = Arguments::default(),
        }
    }
}

impl Attempt {
    /// Is made once, with these arguments.
    #[inline]
    fn make(&mut self, arguments: &Fingerprint<'_>, hash: Option<[u64; 2]>) {
        self.count = 1;
        let text = arguments.decoded().filter(|text| hash.is_none() && text.len() <= TEXT);
        match (&mut self.arguments, text) {
            (Arguments::Text(kept), Some(text)) => kept.push_str(text),
            (kept, Some(text)) => *kept = Arguments::Text(text.to_owned()),
            (kept, None) => *kept = Arguments::Hash(hash.unwrap_or_else(|| halves(arguments.fast()))),
        }
    }

    /// Whether it had these arguments, whose hash is made at most once.
    fn is(&mut self, arguments: &Fingerprint<'_>, hash: &mut Option<[u64; 2]>) -> bool {
        if let Arguments::Text(text) = &self.arguments {
            match arguments.decoded() {
                // What decodes is never equal to what does not.
                None => return false,
                Some(_) if arguments.certainly_differs(text) => return false,
                Some(other) if *other == **text => return true,
                Some(_) => self.arguments = Arguments::Hash(self.hash(arguments)),
            }
        }
        self.hash(arguments) == *hash.get_or_insert_with(|| halves(arguments.fast()))
    }

    /// The hash of what it had; `of` is any attempt at the same tool.
    fn hash(&self, of: &Fingerprint<'_>) -> [u64; 2] {
        match &self.arguments {
            Arguments::Text(text) => halves(of.with_text(text).fast()),
            Arguments::Hash(hash) => *hash,
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // each takes its half
fn halves(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// Attempts by the hash of their arguments.
#[derive(Default)]
struct Many {
    young: FxHashMap<[u64; 2], u32>,
    old: FxHashMap<[u64; 2], u32>,
}

const HALF: usize = 1024;

impl Many {
    fn count(&mut self, hash: [u64; 2]) -> u32 {
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.get(&hash).copied().unwrap_or(0);
        let count = self.young.entry(hash).or_insert(before);
        *count = count.saturating_add(1);
        *count
    }
}
