//! The books of one session: what its turn has spent, and what it remembers. Plain state, no locks and no clock.

use crate::arguments::equality::Fingerprint;
use crate::session::store::admission::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::text::Name;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What a turn has made of one tool. Its place is kept from turn to turn: a session calls the same tools again.
struct Tool {
    name: Name,
    calls: u32,
    empty: u32,
    attempts: Attempts,
}

/// The books of the current turn.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Ledger {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    /// The tool that was called first stands here, as most turns call one.
    first: Option<Tool>,
    rest: Vec<Tool>,
    /// The calls of earlier turns, the last ones.
    history: VecDeque<u32>,
}

/// More tools than this a turn has no use for; the counts of the first give way.
const TOOLS: usize = 1024;
/// The tools whose places are kept from turn to turn.
const KEPT: usize = 16;

impl Ledger {
    /// Counts, checks and charges. R-B2, R-L1, R-L2
    pub(crate) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
        if call.charge == Charge::Free {
            return Ok(self.turn);
        }
        let of_category = self.categories[call.category as usize];
        let total = self.total;
        let tool = self.tool(call.tool, call.name);
        if call.charge != Charge::Approved {
            tool.attempt(call)?;
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        // The narrowest budget first.
        within(BudgetLimit::Tool, tool.calls, call.max_calls)?;
        within(BudgetLimit::Category(call.category), of_category, call.limits.category(call.category))?;
        within(BudgetLimit::Total, total, call.limits.max_calls)?;
        if call.charge != Charge::Hold {
            tool.calls = tool.calls.saturating_add(1);
            self.total = total.saturating_add(1);
            self.categories[call.category as usize] = of_category.saturating_add(1);
        }
        Ok(self.turn)
    }

    /// Records what came of a call. What belongs to a turn that is over is not recorded.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        if settlement.turn != self.turn {
            return;
        }
        if settlement.refund {
            let back = |count: &mut u32| *count = count.saturating_sub(1);
            back(&mut self.total);
            back(&mut self.categories[settlement.category as usize]);
            back(&mut self.tool(settlement.tool, None).calls);
        }
        if settlement.empty {
            self.tool(settlement.tool, None).empty += 1;
        }
    }

    /// Ends the turn.
    pub(crate) fn next_turn(&mut self, history: usize) -> u64 {
        self.history.push_back(self.total);
        while self.history.len() >= history.max(1) {
            self.history.pop_front();
        }
        (self.turn, self.total, self.categories) = (self.turn + 1, 0, [0; 3]);
        for tool in self.first.iter_mut().chain(&mut self.rest) {
            (tool.calls, tool.empty) = (0, 0);
            tool.attempts.clear();
        }
        // What a turn of very many tools took is given back.
        self.rest.truncate(KEPT);
        self.rest.shrink_to(KEPT);
        self.turn
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// The turns that are remembered, the current one among them.
    #[cfg(test)]
    pub(crate) fn turns(&self) -> usize {
        self.history.len() + 1
    }

    /// What the turn has made of a tool. `known`: its name, where that can be kept without a copy.
    #[inline]
    fn tool(&mut self, name: &str, known: Option<&Name>) -> &mut Tool {
        let is_first = self.first.as_ref().is_none_or(|first| first.is(name));
        if is_first { self.first.get_or_insert_with(|| Tool::new(name, known)) } else { self.other(name, known) }
    }

    fn other(&mut self, name: &str, known: Option<&Name>) -> &mut Tool {
        let at = self.rest.iter().position(|tool| tool.is(name)).unwrap_or_else(|| {
            if self.rest.len() == TOOLS {
                self.rest.remove(0);
            }
            self.rest.push(Tool::new(name, known));
            self.rest.len() - 1
        });
        &mut self.rest[at]
    }
}

impl Tool {
    fn new(name: &str, known: Option<&Name>) -> Self {
        let name = known.cloned().unwrap_or_else(|| name.into());
        Self { name, calls: 0, empty: 0, attempts: Attempts::default() }
    }

    /// Names of one tool most often stand at one place, which is cheaper to compare than what they say.
    #[inline]
    fn is(&self, name: &str) -> bool {
        std::ptr::eq(&raw const *self.name, name) || *self.name == *name
    }

    #[inline]
    fn attempt(&mut self, call: &Admission<'_>) -> Result<(), Refusal> {
        // Counted even where nothing limits it now: the policy of another session on this record may.
        let count = self.attempts.count(&call.arguments);
        if call.limits.repeated.is_some_and(|limit| count >= limit.max(1)) {
            return Err(Refusal::Repeated(count));
        }
        match call.limits.empty {
            Some(limit) if self.empty >= limit.max(1) => Err(Refusal::Empty(self.empty)),
            _ => Ok(()),
        }
    }
}

#[inline]
fn within(limit: BudgetLimit, used: u32, of: Option<u32>) -> Result<(), Refusal> {
    match of {
        Some(of) if used >= of => Err(Refusal::Budget { limit, used, of }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-L4
    #[test]
    fn the_history_is_that_of_the_last_turns() {
        let mut ledger = Ledger::default();
        for turn in 1..100 {
            assert_eq!(ledger.next_turn(5), turn);
            assert_eq!(ledger.turns() as u64, (turn + 1).min(5));
        }
    }
}

// ---- The attempts of a turn at one tool, counted by their arguments.
//
// A first attempt has nothing to be compared with, so its text is kept and nothing is made of it; the next ones most
// often differ at a glance. Only where that leaves it open, and past the first few, arguments are hashed.

/// How often each call of a tool was attempted in a turn.
///
/// Bounded: of a turn with very many different attempts, at least the last `HALF` are known. Small, because most turns
/// have one attempt at a tool: what more there is stands elsewhere.
#[derive(Default)]
pub(crate) struct Attempts {
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
    pub(crate) fn count(&mut self, arguments: &Fingerprint<'_>) -> u32 {
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
    pub(crate) fn clear(&mut self) {
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
