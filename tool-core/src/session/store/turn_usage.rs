//! The counters of a session's turn: calls, empty results, and attempts with equal arguments.

use crate::arguments::fingerprint::Fingerprint;
use crate::session::store::session_store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::text::Name;
use rustc_hash::FxHashMap;
use std::iter;

/// The usage of the current turn.
#[derive(Default)]
#[repr(C)]
pub(crate) struct TurnUsage {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    /// The tool that was called first. It is inline, as most turns call one tool.
    first: Option<ToolUsage>,
    rest: Vec<ToolUsage>,
}

/// The usage of one tool. It is kept from turn to turn, as a session calls the same tools again.
struct ToolUsage {
    name: Name,
    calls: u32,
    empty: u32,
    attempts: Attempts,
}

/// The tools that are counted in a turn. Past this number, the counts of the earliest tool are dropped.
const MAX_TOOLS: usize = 1024;
/// The tools that are kept from turn to turn.
const KEPT_TOOLS: usize = 16;

impl TurnUsage {
    /// Counts the attempt, checks the limits, and charges the budgets. Returns the number of the turn.
    pub(crate) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
        if call.charge == Charge::Free {
            return Ok(self.turn);
        }
        let in_category = self.categories[call.category as usize];
        let total = self.total;
        let tool = self.tool(call.tool, call.name);
        if call.charge != Charge::Approved {
            tool.attempt(call)?;
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        // The narrowest budget first.
        check_budget(BudgetLimit::Tool, tool.calls, call.max_calls)?;
        check_budget(BudgetLimit::Category(call.category), in_category, call.limits.category(call.category))?;
        check_budget(BudgetLimit::Total, total, call.limits.max_calls)?;
        if call.charge != Charge::Hold {
            tool.calls = tool.calls.saturating_add(1);
            self.total = total.saturating_add(1);
            self.categories[call.category as usize] = in_category.saturating_add(1);
        }
        Ok(self.turn)
    }

    /// Records the outcome of a call. Ignores calls of turns that are over.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        if settlement.turn != self.turn {
            return;
        }
        if settlement.refund {
            let refund = |count: &mut u32| *count = count.saturating_sub(1);
            refund(&mut self.total);
            refund(&mut self.categories[settlement.category as usize]);
            refund(&mut self.tool(settlement.tool, None).calls);
        }
        if settlement.empty {
            self.tool(settlement.tool, None).empty += 1;
        }
    }

    /// Begins the next turn, and returns its number.
    pub(crate) fn next_turn(&mut self) -> u64 {
        (self.turn, self.total, self.categories) = (self.turn + 1, 0, [0; 3]);
        for tool in self.first.iter_mut().chain(&mut self.rest) {
            (tool.calls, tool.empty) = (0, 0);
            tool.attempts.clear();
        }
        // Frees the memory of a turn with very many tools.
        self.rest.truncate(KEPT_TOOLS);
        self.rest.shrink_to(KEPT_TOOLS);
        self.turn
    }

    /// Returns the number of the turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the usage of a tool. `shared_name` is the name in a form that can be kept without a copy.
    #[inline]
    fn tool(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage {
        if self.first.as_ref().is_none_or(|first| first.is(name)) {
            self.first.get_or_insert_with(|| ToolUsage::new(name, shared_name))
        } else {
            self.other_tool(name, shared_name)
        }
    }

    fn other_tool(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage {
        let index = self.rest.iter().position(|tool| tool.is(name)).unwrap_or_else(|| {
            if self.rest.len() == MAX_TOOLS {
                self.rest.remove(0);
            }
            self.rest.push(ToolUsage::new(name, shared_name));
            self.rest.len() - 1
        });
        &mut self.rest[index]
    }
}

impl ToolUsage {
    fn new(name: &str, shared_name: Option<&Name>) -> Self {
        let name = shared_name.cloned().unwrap_or_else(|| name.into());
        Self { name, calls: 0, empty: 0, attempts: Attempts::default() }
    }

    /// Compares names by address first, as the names of one tool usually share their text.
    #[inline]
    fn is(&self, name: &str) -> bool {
        std::ptr::eq(&raw const *self.name, name) || *self.name == *name
    }

    #[inline]
    fn attempt(&mut self, call: &Admission<'_>) -> Result<(), Refusal> {
        // Counted even without a limit: another process may open this session with another policy.
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
fn check_budget(limit: BudgetLimit, used: u32, of: Option<u32>) -> Result<(), Refusal> {
    match of {
        Some(of) if used >= of => Err(Refusal::Budget { limit, used, of }),
        _ => Ok(()),
    }
}

/// The attempts at one tool in a turn, counted by their arguments.
///
/// The first attempt only keeps its text. The next few usually differ from it at a glance; where they do not, and from the
/// tenth on, arguments are hashed. Of very many different attempts, at least the last [`GENERATION`] are known.
#[derive(Default)]
struct Attempts {
    /// Unused while its count is 0.
    first: Attempt,
    few: Vec<Attempt>,
    hashed: Option<Box<HashedAttempts>>,
}

#[derive(Default)]
struct Attempt {
    /// The arguments, as they were sent. Unused if there is a hash.
    text: String,
    /// The hash of the arguments.
    hash: Option<u64>,
    count: u32,
}

/// The attempts that are compared one by one, beside the first.
const FEW: usize = 8;
/// The longest text that is kept.
const MAX_TEXT: usize = 1024;
/// The capacity that is kept for the text of the next turn's first attempt.
const KEPT_CAPACITY: usize = 256;

impl Attempts {
    /// Counts an attempt, and returns the number of attempts with equal arguments.
    #[inline]
    fn count(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        if self.first.count == 0 && self.hashed.is_none() {
            self.first.begin(arguments, None);
            return 1;
        }
        self.compare(arguments)
    }

    fn compare(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        let mut hash = None;
        if self.first.count > 0 {
            for attempt in iter::once(&mut self.first).chain(&mut self.few) {
                if attempt.matches(arguments, &mut hash) {
                    attempt.count = attempt.count.saturating_add(1);
                    return attempt.count;
                }
            }
            if self.few.len() < FEW {
                let mut attempt = Attempt::default();
                attempt.begin(arguments, hash);
                self.few.push(attempt);
                return 1;
            }
            // The kept texts are hashed under the definition of their tool, which only decoded arguments carry.
            if arguments.accepted().is_some() {
                let hashed = self.hashed.get_or_insert_default();
                for attempt in iter::once(std::mem::take(&mut self.first)).chain(self.few.drain(..)) {
                    hashed.young.insert(attempt.hash(arguments), attempt.count);
                }
            }
        }
        self.hashed.get_or_insert_default().count(hash.unwrap_or_else(|| arguments.fast()))
    }

    /// Forgets the turn, and frees its memory except for some room for the next first text.
    fn clear(&mut self) {
        self.few = Vec::new();
        self.hashed = None;
        let mut text = std::mem::take(&mut self.first).text;
        text.clear();
        text.shrink_to(KEPT_CAPACITY);
        self.first.text = text;
    }
}

impl Attempt {
    /// Fills an unused attempt.
    #[inline]
    fn begin(&mut self, arguments: &Fingerprint<'_>, hash: Option<u64>) {
        self.count = 1;
        match arguments.accepted().filter(|text| hash.is_none() && text.len() <= MAX_TEXT) {
            Some(text) => self.text.push_str(text),
            None => self.hash = Some(hash.unwrap_or_else(|| arguments.fast())),
        }
    }

    /// Returns true if the attempt had equal arguments. Computes their hash at most once.
    fn matches(&mut self, arguments: &Fingerprint<'_>, hash: &mut Option<u64>) -> bool {
        if self.hash.is_none() {
            match arguments.accepted() {
                // Arguments that decode never equal arguments that do not.
                None => return false,
                Some(_) if arguments.certainly_differs(&self.text) => return false,
                Some(other) if other == self.text => return true,
                Some(_) => self.hash = Some(self.hash(arguments)),
            }
        }
        self.hash(arguments) == *hash.get_or_insert_with(|| arguments.fast())
    }

    /// Returns the hash of this attempt's arguments. `tool` is the fingerprint of any attempt at the same tool.
    fn hash(&self, tool: &Fingerprint<'_>) -> u64 {
        self.hash.unwrap_or_else(|| tool.with_text(&self.text).fast())
    }
}

/// Attempts by the hash of their arguments, in two generations.
#[derive(Default)]
struct HashedAttempts {
    young: FxHashMap<u64, u32>,
    old: FxHashMap<u64, u32>,
}

/// The attempts of a generation.
const GENERATION: usize = 1024;

impl HashedAttempts {
    fn count(&mut self, hash: u64) -> u32 {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.get(&hash).copied().unwrap_or(0);
        let count = self.young.entry(hash).or_insert(before);
        *count = count.saturating_add(1);
        *count
    }
}
