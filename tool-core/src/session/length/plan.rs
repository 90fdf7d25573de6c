//! The part of a conversation that is kept.

use crate::session::length::keep::{Keep, KeepLimit, part_of};
use crate::session::message::Message;
use crate::session::notes::{is_handoff_note, is_note};
use std::collections::HashMap;

/// The messages that are kept: those from a cut on, and three before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptMessages {
    /// The first message of the user, if it is kept and before the cut.
    pub(crate) first: Option<usize>,
    /// The user's message of a turn that is cut.
    pub(crate) prompt: Option<usize>,
    /// The note that says which agent speaks, if it is before the cut.
    pub(crate) handoff: Option<usize>,
    /// The first message after the cut.
    pub(crate) from: usize,
}

impl KeptMessages {
    /// Returns true if nothing is removed.
    pub(crate) fn is_all(&self) -> bool {
        (0..self.from).all(|place| self.has(place))
    }

    /// Returns true for a message before the cut that is kept.
    pub(crate) fn has(&self, place: usize) -> bool {
        place >= self.from || self.before_cut().any(|kept| kept == place)
    }

    /// Returns the messages before the cut that are kept.
    pub(crate) fn before_cut(&self) -> impl Iterator<Item = usize> {
        let prompt = self.prompt.filter(|_| self.prompt != self.first);
        [self.first, prompt, self.handoff].into_iter().flatten()
    }
}

/// The places of a conversation at which it can be cut.
pub(crate) struct Outline {
    /// The messages before which it can be cut, in order. Nothing before a cut belongs to what
    /// follows.
    cuts: Vec<usize>,
    /// The messages that begin a turn, in order.
    turns: Vec<usize>,
    /// The last note of a handoff.
    handoff: Option<usize>,
    count: usize,
}

/// The amount of one message, in the unit of a limit.
type Amounts = Vec<u64>;

impl Outline {
    pub(crate) fn new(messages: &[Message]) -> Self {
        let last_results = last_results(messages);
        let mut cuts = Vec::new();
        // The last result of the calls so far.
        let mut reach = 0;
        for (place, message) in messages.iter().enumerate() {
            let is_result = matches!(message, Message::Result { .. });
            if !is_result && (place == 0 || reach < place) {
                cuts.push(place);
            }
            reach = reach.max(last_results.get(&place).copied().unwrap_or(0));
        }
        let turns = (0..messages.len()).filter(|place| messages.get(*place).is_some_and(is_prompt));
        Self {
            cuts,
            turns: turns.collect(),
            handoff: messages.iter().rposition(is_handoff),
            count: messages.len(),
        }
    }

    /// Returns the place at which the last turn begins.
    pub(crate) fn last_turn(&self) -> usize {
        self.turns.last().copied().unwrap_or(0)
    }

    /// Returns the place of the last step or message.
    pub(crate) fn last_cut(&self) -> usize {
        self.cuts.last().copied().unwrap_or(0)
    }

    /// Returns the longest end of the conversation that is within a limit, or the shortest one.
    pub(crate) fn longest_within(&self, keep: &Keep, max: u64, amounts: &Amounts) -> KeptMessages {
        // The amount of the messages from each place on.
        let mut after = vec![0_u64; self.count + 1];
        for place in (0..self.count).rev() {
            let amount = amounts.get(place).copied().unwrap_or(0);
            let rest = after.get(place + 1).copied().unwrap_or(0);
            if let Some(sum) = after.get_mut(place) {
                *sum = rest.saturating_add(amount);
            }
        }

        let mut shortest = self.kept_from(0, keep);
        for from in &self.cuts {
            shortest = self.kept_from(*from, keep);
            let mut amount = after.get(*from).copied().unwrap_or(0);
            for place in shortest.before_cut() {
                amount = amount.saturating_add(amounts.get(place).copied().unwrap_or(0));
            }
            if amount <= max {
                break;
            }
        }
        shortest
    }

    /// Returns what is kept with a cut at a place.
    fn kept_from(&self, from: usize, keep: &Keep) -> KeptMessages {
        let before = |place: &usize| *place < from;
        let first = self.turns.first().copied().filter(before);
        let is_inside_turn = self.turns.binary_search(&from).is_err();
        let turns_before = self.turns.partition_point(|turn| *turn < from);
        let prompt = turns_before
            .checked_sub(1)
            .and_then(|turn| self.turns.get(turn).copied());
        KeptMessages {
            first: first.filter(|_| keep.keeps_first),
            prompt: prompt.filter(|_| is_inside_turn),
            handoff: self.handoff.filter(before),
            from,
        }
    }

    /// Returns what each message counts under a limit of messages or turns.
    pub(crate) fn counts(&self, keep: &Keep) -> Amounts {
        let mut counts = match keep.limit {
            KeepLimit::Turns(_) => vec![0; self.count],
            _ => return vec![1; self.count],
        };
        for turn in &self.turns {
            if let Some(count) = counts.get_mut(*turn) {
                *count = 1;
            }
        }
        counts
    }

    /// Returns the maximum that a conversation is shortened to, if it exceeds a limit of messages
    /// or turns.
    pub(crate) fn target_count(&self, keep: &Keep) -> Option<u64> {
        let (present, max) = match keep.limit {
            KeepLimit::Messages(max) => (self.count, max),
            KeepLimit::Turns(max) => {
                // The first message of the user does not count as a turn.
                let first = usize::from(keep.keeps_first);
                (self.turns.len(), max.max(1).saturating_add(first))
            }
            KeepLimit::Tokens(_) | KeepLimit::Share(_) => return None,
        };
        let mut target = part_of(max as u64, keep.down_to).max(1);
        if matches!(keep.limit, KeepLimit::Messages(_)) {
            target = target.saturating_sub(keep.summary_messages());
        }
        (present > max).then_some(target)
    }
}

/// Returns true for a message that a user has sent. Notes of the application are written in the
/// user's place.
pub(crate) fn is_prompt(message: &Message) -> bool {
    let Message::User(said) = message else {
        return false;
    };
    !is_note(&said.text())
}

fn is_handoff(message: &Message) -> bool {
    let Message::User(said) = message else {
        return false;
    };
    is_handoff_note(&said.text())
}

/// Returns the place of the last result of each message with calls. A result belongs to the latest
/// open call with its id.
fn last_results(messages: &[Message]) -> HashMap<usize, usize> {
    let mut open = HashMap::<&str, Vec<usize>>::new();
    let mut last = HashMap::new();
    for (place, message) in messages.iter().enumerate() {
        match message {
            Message::Assistant { calls, .. } => {
                for call in calls {
                    open.entry(call.id()).or_default().push(place);
                }
            }
            Message::Result { call_id, .. } => {
                let step = open.get_mut(call_id.as_str()).and_then(Vec::pop);
                if let Some(step) = step {
                    last.insert(step, place);
                }
            }
            Message::User(_) => {}
        }
    }
    last
}
