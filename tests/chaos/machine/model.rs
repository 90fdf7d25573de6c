//! The reference model: the responses and the memory of a session.

use std::collections::{BTreeMap, HashMap};
use tool_core::ErrorKind;

#[derive(Clone, Debug)]
pub enum Op {
    Call(&'static str, u8),
    Bad(&'static str, u8),
    Unknown,
    NextTurn,
    Approve(usize),
    Deny(usize),
    /// The host clears the suppressions that tools have set.
    Unsuppress,
    End,
}

/// The outcome of a step: the kind and the figures of the response, or the new turn.
#[derive(Debug, PartialEq)]
pub enum Said {
    Ok,
    Refused(ErrorKind, Vec<u32>),
    Turn(u64, Option<String>),
    Over,
    Nothing,
}

/// The observable state of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub audio: bool,
    pub transcript: bool,
    pub message: Option<String>,
    pub ending: bool,
    pub ended: bool,
    pub values: BTreeMap<String, u8>,
    pub intents: usize,
    pub ran: usize,
}

pub const TOTAL: u32 = 6;
pub const RETRIEVAL: u32 = 4;
pub const ACTION: u32 = 2;
pub const NOTES: u32 = 5;

#[derive(Default)]
pub struct Model {
    voice: bool,
    turn: u64,
    calls: HashMap<&'static str, u32>,
    empty: HashMap<&'static str, u32>,
    attempts: HashMap<(&'static str, bool, u8), u32>,
    waiting: Vec<Option<u8>>,
    handed: bool,
    seen: Seen,
}

fn refused(kind: ErrorKind) -> Said {
    Said::Refused(kind, Vec::new())
}

impl Model {
    pub fn new(voice: bool) -> Self {
        Self {
            voice,
            ..Self::default()
        }
    }

    pub fn seen(&self) -> Seen {
        self.seen.clone()
    }

    pub fn does(&mut self, op: &Op) -> Said {
        match op {
            Op::End => {
                self.seen.ended = true;
                Said::Nothing
            }
            Op::NextTurn => self.next_turn(),
            Op::Unsuppress => {
                if !self.seen.ended {
                    self.seen.audio = false;
                }
                Said::Nothing
            }
            _ if self.seen.ended => refused(ErrorKind::SessionInactive),
            Op::Unknown => refused(ErrorKind::NotFound),
            Op::Call("speak", _) if !self.voice => refused(ErrorKind::ModeRestricted),
            Op::Call(tool, n) => self.call(tool, *n),
            Op::Bad(tool, n) => self
                .attempt(tool, true, *n)
                .unwrap_or(refused(ErrorKind::Validation)),
            Op::Approve(at) => match self.waiting.get(*at).copied().flatten() {
                None => refused(ErrorKind::NotFound),
                Some(n) => self.spent("send").unwrap_or_else(|| {
                    self.waiting[*at] = None;
                    self.run("send", n)
                }),
            },
            Op::Deny(at) => match self.waiting.get_mut(*at).and_then(Option::take) {
                None => refused(ErrorKind::NotFound),
                Some(_) => refused(ErrorKind::Denied),
            },
        }
    }

    fn next_turn(&mut self) -> Said {
        self.seen.ended |= self.seen.ending;
        if self.seen.ended {
            return Said::Over;
        }
        self.turn += 1;
        (self.calls, self.empty, self.attempts) = Default::default();
        let message = self.seen.message.clone().filter(|_| !self.handed);
        if !self.voice {
            let Seen { intents, ran, .. } = self.seen;
            self.seen = Seen {
                intents,
                ran,
                ..Seen::default()
            };
        } else if message.is_none() {
            self.seen.message = None;
        }
        self.handed = self.voice && message.is_some();
        Said::Turn(self.turn, message)
    }

    fn call(&mut self, tool: &'static str, n: u8) -> Said {
        if let Some(said) = self.attempt(tool, false, n).or_else(|| self.spent(tool)) {
            return said;
        }
        if tool == "send" && n >= 2 {
            self.waiting.push(Some(n));
            return refused(ErrorKind::ConfirmationRequired);
        }
        self.run(tool, n)
    }

    /// Counts the attempt, and returns the refusal by a loop limit.
    fn attempt(&mut self, tool: &'static str, bad: bool, n: u8) -> Option<Said> {
        let count = self.attempts.entry((tool, bad, n)).or_default();
        *count += 1;
        let empty = self.empty.get(tool).copied().unwrap_or_default();
        let loops = |count| Some(Said::Refused(ErrorKind::LoopDetected, vec![count]));
        if *count >= 3 {
            loops(*count)
        } else if empty >= 2 {
            loops(empty)
        } else {
            None
        }
    }

    /// Returns the narrowest budget that is spent.
    fn spent(&self, tool: &str) -> Option<Said> {
        let of = |tool: &str| self.calls.get(tool).copied().unwrap_or_default();
        let total = self.calls.values().sum::<u32>();
        let budgets = match tool {
            "note" => vec![(of(tool), NOTES), (total, TOTAL)],
            "search" => vec![(of(tool), RETRIEVAL), (total, TOTAL)],
            "send" => vec![(of(tool), ACTION), (total, TOTAL)],
            _ => vec![(total, TOTAL)],
        };
        let spent = budgets.into_iter().find(|(used, of)| used >= of);
        spent.map(|(used, of)| Said::Refused(ErrorKind::BudgetExceeded, vec![used, of]))
    }

    fn run(&mut self, tool: &'static str, n: u8) -> Said {
        *self.calls.entry(tool).or_default() += 1;
        self.seen.ran += 1;
        match (tool, n) {
            ("search", n) if n % 2 == 0 => *self.empty.entry(tool).or_default() += 1,
            // The tool emits an intent and fails.
            ("note", 5) => return refused(ErrorKind::Transient),
            ("note", n) => {
                self.seen.intents += 1;
                match n {
                    0 => self.seen.audio = true,
                    1 => self.seen.transcript = true,
                    2 | 6 => {
                        self.seen.message = Some(format!("message {n}"));
                        self.handed = false;
                    }
                    3 => self.seen.ending |= self.voice,
                    n => _ = self.seen.values.insert("acme.n".to_owned(), n),
                }
            }
            _ => {}
        }
        Said::Ok
    }
}
