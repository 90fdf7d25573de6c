//! The books of one session: what its turn has spent, and what it remembers. Plain state, no locks and no clock.

use super::attempts::Attempts;
use crate::name::Name;
use crate::runtime::store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
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
pub(super) struct Ledger {
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
    pub(super) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
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
    pub(super) fn settle(&mut self, settlement: &Settlement<'_>) {
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
    pub(super) fn next_turn(&mut self, history: usize) -> u64 {
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

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// The turns that are remembered, the current one among them.
    #[cfg(test)]
    pub(super) fn turns(&self) -> usize {
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
