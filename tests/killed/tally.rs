//! What has become of the calls of all conversations over a store.

use std::collections::BTreeSet;
use std::fmt;

#[derive(Debug, Default)]
pub struct Tally {
    pub conversations: u32,
    pub processes: u32,
    pub kills: u32,
    /// The calls that the model has read as done.
    pub done: u32,
    /// The calls that the model has read as UNKNOWN, and that have had their effect.
    pub unknown_with_effect: u32,
    /// The calls that the model has read as UNKNOWN, and that have had none.
    pub unknown_without_effect: u32,
    /// The calls without harm whose result was lost.
    pub harmless: u32,
    /// The payments that have run by the approval of a person.
    pub approved: u32,
    /// The approvals whose process was killed before their outcome was stored.
    pub approvals_unknown: u32,
    /// The costs that a killed process has not charged.
    pub costs_lost: u32,
    /// The approvals that were left after the conversation, and were answered from the journal.
    pub answered_again: u32,
    /// The points at which processes have ended themselves.
    pub points: BTreeSet<String>,
}

/// The columns of the table.
pub const HEAD: &str = "| store | kills | processes | conversations | done | UNKNOWN, had its effect | UNKNOWN, had none | harmless, lost | approved and run | approvals UNKNOWN | costs not charged | approvals answered again |\n\
     |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [
            self.kills,
            self.processes,
            self.conversations,
            self.done,
            self.unknown_with_effect,
            self.unknown_without_effect,
            self.harmless,
            self.approved,
            self.approvals_unknown,
            self.costs_lost,
            self.answered_again,
        ];
        let cells = numbers.map(|number| number.to_string());
        write!(f, "| {} |", cells.join(" | "))
    }
}
