//! What has to hold of a conversation whose processes were killed.

use crate::office::{ACTIONS, Effects, TRANSLATIONS};
use crate::places::SharedStore;
use crate::script::{PAYMENT, PROMPTS, actions, tool_of};
use crate::setting::{JournalKind, Setting};
use crate::tally::Tally;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use tempfile::TempDir;
use tool_adapters::agent::AgentLoop;
use tool_core::session::{History, Message, is_note};
use tool_core::testing::ScriptedModel;
use tool_core::{ErrorKind, Session, ToolCall};

/// The words by which the model learns that a call may have had its effect.
const UNKNOWN: &str = "unknown whether the call took effect";
/// The words of the journal, in the answer to a call that an engine runs again.
const UNKNOWN_BY_JOURNAL: &str = "unknown whether it took effect, and it was not run again";
/// The words of a lost call that does no harm.
const HARMLESS: &str = "call it again if you need it";
/// The words of a payment that waits.
const WAITS: &str = "needs a person's approval";
/// The words of the note about a payment that has run.
const HAS_RUN: &str = "A person has approved it, and it has run.";

/// What the model has read of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Unknown,
    Harmless,
    Waits,
    Other,
}

impl Outcome {
    fn of(text: &str, is_error: bool) -> Self {
        match () {
            () if !is_error => Self::Done,
            () if text.contains(UNKNOWN) || text.contains(UNKNOWN_BY_JOURNAL) => Self::Unknown,
            () if text.contains(HARMLESS) => Self::Harmless,
            () if text.contains(WAITS) => Self::Waits,
            () => Self::Other,
        }
    }
}

/// A conversation as the stores and the ledger have it.
pub struct Finding<'a> {
    setting: &'a Setting,
    effects: Effects,
    outcomes: HashMap<String, Outcome>,
    /// The notes about the payment, the oldest first.
    notes: Vec<String>,
    /// The kills after which an engine may have run a call again that does no harm.
    reruns: u32,
    problems: Vec<String>,
}

impl<'a> Finding<'a> {
    /// Reads what is stored of a conversation.
    pub async fn read(setting: &'a Setting, store: &impl SharedStore, reruns: u32) -> Self {
        let stored = store.load(&setting.key(), 0).await.expect("it loads");
        let messages = stored.map(|stored| stored.messages).unwrap_or_default();
        let mut finding = Self {
            setting,
            effects: Effects::read(&setting.folder),
            outcomes: HashMap::new(),
            notes: Vec::new(),
            reruns,
            problems: Vec::new(),
        };
        finding.read_messages(&messages);
        finding.check_next_model(store).await;
        finding
    }

    fn read_messages(&mut self, messages: &[Message]) {
        let mut calls = HashSet::new();
        for message in messages {
            match message {
                Message::Assistant { calls: made, .. } => {
                    for call in made {
                        let is_new = calls.insert(call.id().to_owned());
                        self.expect(is_new, || format!("`{}` was called twice", call.id()));
                    }
                }
                Message::Result {
                    call_id, result, ..
                } => {
                    let outcome = Outcome::of(&result.text, result.is_error);
                    self.expect(outcome != Outcome::Other, || {
                        format!("`{call_id}` has the result {}", result.text)
                    });
                    let earlier = self.outcomes.insert(call_id.clone(), outcome);
                    self.expect(earlier.is_none(), || format!("`{call_id}` has two results"));
                }
                Message::User(said) if is_note(&said.text()) => {
                    self.notes.push(said.text().into_owned());
                }
                _ => {}
            }
        }
        for id in &calls {
            let has_result = self.outcomes.contains_key(id);
            self.expect(has_result, || format!("`{id}` has no result"));
        }
        let expected = (0..PROMPTS.len()).flat_map(actions);
        for id in expected {
            self.expect(calls.contains(id), || format!("`{id}` was not called"));
        }
    }

    /// Checks that the history is one that every provider takes as it is.
    async fn check_next_model(&mut self, store: &impl SharedStore) {
        let without_journal = Setting {
            journal: JournalKind::Nothing,
            ..self.setting.clone()
        };
        let runtime = without_journal.runtime(store.clone());
        let session = move || without_journal.session(&runtime);
        let id = &self.setting.id;
        let opened = AgentLoop::open(store.clone(), id, session, ScriptedModel::new()).await;
        let agent = opened.expect("the conversation opens");
        let mut history = History::new();
        history.extend(agent.history().messages().iter().cloned());
        let repairs = history.repair();
        self.expect(repairs.is_empty(), || {
            format!("the history needs repairs: {repairs:?}")
        });
    }

    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }

    /// Checks what the model has read of each call against the effects.
    pub fn check_calls(&mut self, tally: &mut Tally) {
        let effects = std::mem::take(&mut self.effects);
        for (id, outcome) in self.outcomes.clone() {
            if tool_of(&id) == "find" {
                tally.done += u32::from(outcome == Outcome::Done);
                tally.harmless += u32::from(outcome == Outcome::Harmless);
                continue;
            }
            let count = effects.count(&id);
            let may_repeat = self.reruns > 0 && tool_of(&id) == "file";
            self.expect(count <= 1 || may_repeat, || {
                format!("`{id}` had its effect {count} times")
            });
            if id == PAYMENT {
                continue;
            }
            match outcome {
                Outcome::Done => {
                    tally.done += 1;
                    self.expect(effects.has_ended(&id), || {
                        format!("`{id}` is shown as done, and had no effect")
                    });
                }
                Outcome::Unknown if count > 0 => tally.unknown_with_effect += 1,
                Outcome::Unknown => tally.unknown_without_effect += 1,
                Outcome::Harmless => {
                    tally.harmless += 1;
                    self.expect(tool_of(&id) == "file", || {
                        format!("`{id}` is shown as one without harm")
                    });
                }
                Outcome::Waits | Outcome::Other => self
                    .problems
                    .push(format!("`{id}` is shown as {outcome:?}")),
            }
        }
        self.effects = effects;
    }

    /// Checks that the payment has run by one approval, or that the model knows that it may have.
    pub async fn check_payment(&mut self, session: &Session, tally: &mut Tally) {
        let has_run = self.notes.iter().any(|note| note.contains(HAS_RUN));
        let is_unknown = self
            .notes
            .iter()
            .any(|note| note.contains(UNKNOWN) || note.contains(UNKNOWN_BY_JOURNAL));
        let paid = self.effects.count(PAYMENT) > 0;
        let tokens = self.setting.tokens();
        tally.approved += u32::from(has_run);
        tally.approvals_unknown += u32::from(is_unknown);

        self.expect(!has_run || self.effects.has_ended(PAYMENT), || {
            "the payment is shown as done, and had no effect".to_owned()
        });
        self.expect(!paid || has_run || is_unknown, || {
            "the payment has run, and the model does not know".to_owned()
        });
        for token in &tokens {
            let outcome = self.outcomes.get(PAYMENT).copied();
            self.expect(outcome == Some(Outcome::Waits), || {
                format!("a person has a token, and the model has read {outcome:?}")
            });
            self.expect(has_run || is_unknown, || {
                "a person has approved the payment, and the model has read nothing of it".to_owned()
            });
            let again = session.approve(token).await;
            let kind = again.error().map(|error| error.kind);
            let is_used_up = kind == Some(ErrorKind::NotFound);
            // One whose call is UNKNOWN may be left, and is answered from the journal.
            tally.answered_again += u32::from(!is_used_up);
            self.expect(is_used_up || is_unknown, || {
                format!("the approval is good for a second run: {kind:?}")
            });
        }
        self.expect(tokens.len() <= 1, || {
            format!("the person was asked {} times", tokens.len())
        });
        let payments = Effects::read(&self.setting.folder).count(PAYMENT);
        self.expect(payments <= 1, || {
            format!("the payment has run {payments} times")
        });
        self.expect(!paid || !tokens.is_empty(), || {
            "the payment has run without a person".to_owned()
        });
    }

    /// Checks the actions that are left in a turn: what ran was charged, and nothing else but calls that may have run.
    pub fn check_budget(&mut self, turn: usize, left: u32) {
        let mut ran = 0;
        let mut may_have = 0;
        for id in actions(turn) {
            let has_begun = self.effects.count(id) > 0;
            let outcome = self.outcomes.get(id);
            let is_lost = matches!(outcome, Some(Outcome::Unknown | Outcome::Harmless));
            ran += u32::from(has_begun);
            may_have += u32::from(!has_begun && is_lost);
        }
        // Each approval that was lost may have been charged.
        let lost = self
            .notes
            .iter()
            .filter(|note| note.contains(UNKNOWN) || note.contains(UNKNOWN_BY_JOURNAL));
        let lost = u32::try_from(lost.count()).unwrap_or(u32::MAX);
        may_have += if turn == 0 { lost } else { 0 };
        let spent = ACTIONS - left;
        self.expect((ran..=ran + may_have).contains(&spent), || {
            format!(
                "turn {turn}: {ran} actions ran, {may_have} more may have, and {spent} were charged"
            )
        });
    }

    /// Checks the cost that is left in the session.
    pub fn check_cost(&mut self, left: u32, tally: &mut Tally) {
        let mut done = 0;
        let mut ran = 0;
        for (id, outcome) in &self.outcomes {
            if tool_of(id) == "translate" {
                done += u64::from(*outcome == Outcome::Done);
                ran += u64::from(self.effects.count(id) > 0);
            }
        }
        let spent = TRANSLATIONS - u64::from(left);
        tally.costs_lost += u32::try_from(ran.saturating_sub(spent)).unwrap_or(u32::MAX);
        self.expect((done..=ran).contains(&spent), || {
            format!("{done} translations are done, {ran} ran, and {spent} were charged")
        });
    }

    /// Returns all problems.
    pub fn into_problems(self) -> Vec<String> {
        self.problems
    }
}

/// Makes calls until one is refused, and returns how many were not. Their effects go to another ledger.
pub async fn left(setting: &Setting, store: impl SharedStore, tool: &str) -> u32 {
    let folder = TempDir::new().expect("a folder");
    let elsewhere = Setting {
        folder: folder.path().to_owned(),
        journal: JournalKind::Nothing,
        ..setting.clone()
    };
    let runtime = elsewhere.runtime(store);
    let session = elsewhere.session(&runtime).await.expect("it opens");
    let mut made = 0;
    loop {
        // Equal calls would be a loop.
        let arguments = json!({"number": 1_000 + made});
        let call = ToolCall::new(format!("probe-{tool}-{made}"), tool, arguments);
        let response = session.call(call).await;
        match response.error() {
            None => made += 1,
            Some(error) if error.kind == ErrorKind::BudgetExceeded => return made,
            Some(error) => panic!("the probe failed: {error:?}"),
        }
    }
}
