//! The books of one session: what its turn has spent, and what it remembers. Plain state, no locks and no clock.

use super::attempts::Attempts;
use crate::name::Name;
use crate::runtime::store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::tool::Category;
use std::collections::VecDeque;

/// What a turn has made of one tool.
#[derive(Clone, Debug)]
struct Tool {
    name: Name,
    calls: u32,
    empty: u32,
}

/// The books of the current turn.
#[derive(Default)]
pub(super) struct Ledger {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    tools: Vec<Tool>,
    attempts: Attempts,
    /// The calls of earlier turns, the last ones.
    history: VecDeque<u32>,
}

/// More tools than this a turn has no use for; the counts of the first give way.
const TOOLS: usize = 1024;

impl Ledger {
    /// Counts, checks and charges. R-B2, R-L1, R-L2
    pub(super) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
        if call.charge == Charge::Free {
            return Ok(self.turn);
        }
        if call.charge != Charge::Approved {
            self.attempt(call)?;
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        self.spent(call).map_or(Ok(()), Err)?;
        if call.charge != Charge::Hold {
            self.charge(call.tool, call.category, true);
        }
        Ok(self.turn)
    }

    fn attempt(&mut self, call: &Admission<'_>) -> Result<(), Refusal> {
        // Counted even where nothing limits it now: the policy of another session on this record may.
        let count = self.attempts.count(call.arguments.fast());
        if call.limits.repeated.is_some_and(|limit| count >= limit.max(1)) {
            return Err(Refusal::Repeated(count));
        }
        let empty = self.find(call.tool).map_or(0, |tool| tool.empty);
        match call.limits.empty {
            Some(limit) if empty >= limit.max(1) => Err(Refusal::Empty(empty)),
            _ => Ok(()),
        }
    }

    /// The budget that is spent, the narrowest first.
    fn spent(&self, call: &Admission<'_>) -> Option<Refusal> {
        let of_tool = self.find(call.tool).map_or(0, |tool| tool.calls);
        let budgets = [
            (BudgetLimit::Tool, of_tool, call.max_calls),
            (
                BudgetLimit::Category(call.category),
                self.categories[call.category as usize],
                call.limits.category(call.category),
            ),
            (BudgetLimit::Total, self.total, call.limits.max_calls),
        ];
        let spent = budgets.into_iter().find(|(_, used, of)| of.is_some_and(|of| *used >= of));
        spent.map(|(limit, used, of)| Refusal::Budget { limit, used, of: of.unwrap_or_default() })
    }

    fn charge(&mut self, tool: &str, category: Category, more: bool) {
        let step = |count: &mut u32| *count = if more { count.saturating_add(1) } else { count.saturating_sub(1) };
        step(&mut self.total);
        step(&mut self.categories[category as usize]);
        step(&mut self.tool(tool).calls);
    }

    /// Records what came of a call. What belongs to a turn that is over is not recorded.
    pub(super) fn settle(&mut self, settlement: &Settlement<'_>) {
        if settlement.turn != self.turn {
            return;
        }
        if settlement.refund {
            self.charge(settlement.tool, settlement.category, false);
        }
        if settlement.empty {
            self.tool(settlement.tool).empty += 1;
        }
    }

    /// Ends the turn.
    pub(super) fn next_turn(&mut self, history: usize) -> u64 {
        self.history.push_back(self.total);
        while self.history.len() >= history.max(1) {
            self.history.pop_front();
        }
        (self.turn, self.total, self.categories) = (self.turn + 1, 0, [0; 3]);
        self.tools.clear();
        self.attempts.clear();
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

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| &*tool.name == name)
    }

    fn tool(&mut self, name: &str) -> &mut Tool {
        let at = self.tools.iter().position(|tool| &*tool.name == name).unwrap_or_else(|| {
            if self.tools.len() == TOOLS {
                self.tools.remove(0);
            }
            self.tools.push(Tool { name: name.into(), calls: 0, empty: 0 });
            self.tools.len() - 1
        });
        &mut self.tools[at]
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
