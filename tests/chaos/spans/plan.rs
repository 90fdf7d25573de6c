//! The plan of a tree, drawn from a seed so that a failure can be repeated.

use crate::dice::Dice;
use std::sync::atomic::{AtomicU32, Ordering};
use tool_core::trace::SpanKind;

fn one_in(dice: &mut Dice, times: u64) -> bool {
    dice.below(times) == 0
}

/// The ways in which a span opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `trace::agent` and similar, awaited in place.
    Future,
    /// Created here, and awaited inside of another span.
    Carried,
    /// Created here, and awaited inside of a context or a collector.
    Sent,
    /// A function with `#[agent]`.
    Attribute,
    /// A handle, which ends, fails or is dropped.
    Handle,
    /// A tool that is called by name.
    Dispatched,
    /// A tool that is called in a session.
    Governed,
    /// The function of the tool, called directly.
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Join,
    Detach,
    /// After this many polls of the waiting task.
    Abort(u8),
}

/// The ways in which a task inherits its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Inherits,
    Nothing,
    /// The future of a span that was created before the spawn.
    Made,
}

/// A model usage, or another cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Told,
    Seen,
    /// A cost without a model.
    Paid,
}

#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub number: u32,
    pub told: Word,
    /// The response id, one of few that repeat.
    pub response: Option<u32>,
}

/// A span that opens if its step is reached.
#[derive(Debug)]
pub struct Opened {
    pub node: u32,
    pub kind: SpanKind,
    pub how: How,
    /// The span in which it is awaited, if it is carried there.
    pub around: u32,
    pub fails: bool,
    pub body: Vec<Step>,
}

#[derive(Debug)]
pub enum Step {
    Span(Opened),
    /// A span around synchronous work.
    Sync(Opened),
    All(Vec<Vec<Step>>),
    Race(Vec<Step>, Vec<Step>),
    /// Polled a number of times, and then dropped.
    Limit(u8, Vec<Step>),
    /// Created and never polled.
    Unpolled(Opened),
    Spawn(Takes, Wait, Vec<Step>),
    Blocking(bool, Vec<Step>),
    Catch(Vec<Step>),
    Panic,
    Pause(u8),
    Use(Use),
    /// Makes a report of the spans so far.
    Look,
    /// Under a span of another process.
    Import(u32, Vec<Step>),
    /// With another customer id.
    Customer(u8, Vec<Step>),
    /// With its own collector.
    Apart(Vec<Step>),
}

static NODES: AtomicU32 = AtomicU32::new(1);
static USES: AtomicU32 = AtomicU32::new(1);

/// A number above every span and usage number.
pub fn nodes() -> u32 {
    NODES.load(Ordering::Relaxed)
}

pub struct Planner {
    dice: Dice,
    left: u32,
    tree: u32,
}

impl Planner {
    pub fn new(seed: u64, tree: u32) -> Self {
        let mut dice = Dice::new(seed ^ (u64::from(tree) << 32));
        let left = 4 + u32::try_from(dice.below(28)).unwrap();
        Self { dice, left, tree }
    }

    /// Draws the steps of a tree.
    pub fn tree(&mut self) -> Vec<Step> {
        let mut steps = vec![Step::Pause(1)];
        while self.left > 0 {
            steps.extend(self.steps(0));
        }
        steps
    }

    fn steps(&mut self, depth: u32) -> Vec<Step> {
        let count = 1 + self.dice.below(3);
        (0..count).map(|_| self.step(depth)).collect()
    }

    fn step(&mut self, depth: u32) -> Step {
        if depth > 7 || self.left == 0 {
            return if one_in(&mut self.dice, 2) {
                self.used()
            } else {
                Step::Pause(self.small(3))
            };
        }
        self.left -= 1;
        let inner = depth + 1;
        match self.dice.below(30) {
            0..=10 => Step::Span(self.opened(inner, false)),
            11 => Step::Sync(self.opened(inner, true)),
            12 | 13 => {
                let width = 2 + self.dice.below(2);
                Step::All((0..width).map(|_| self.steps(inner)).collect())
            }
            14 => Step::Race(self.steps(inner), self.steps(inner)),
            15 => Step::Limit(self.small(4), self.steps(inner)),
            16 => Step::Unpolled(self.opened(inner, false)),
            17 | 18 => Step::Spawn(self.takes(), self.wait(), self.steps(inner)),
            19 => Step::Blocking(!one_in(&mut self.dice, 3), self.sync_steps(inner)),
            20 => Step::Catch(self.steps(inner)),
            21 if one_in(&mut self.dice, 3) => Step::Panic,
            22 => Step::Import(
                u32::try_from(self.dice.below(1 << 30)).unwrap() + 1,
                self.steps(inner),
            ),
            23 => Step::Customer(self.small(3), self.steps(inner)),
            24 => Step::Apart(self.steps(inner)),
            25 | 26 => Step::Pause(self.small(3)),
            27 if one_in(&mut self.dice, 8) => Step::Look,
            _ => self.used(),
        }
    }

    fn sync_steps(&mut self, depth: u32) -> Vec<Step> {
        let count = 1 + self.dice.below(3);
        let step = |planner: &mut Self| match planner.dice.below(10) {
            0..=3 if depth < 8 => Step::Sync(planner.opened(depth + 1, true)),
            4 if depth < 8 => Step::Catch(planner.sync_steps(depth + 1)),
            5 if one_in(&mut planner.dice, 3) => Step::Panic,
            _ => planner.used(),
        };
        (0..count).map(|_| step(self)).collect()
    }

    fn opened(&mut self, depth: u32, sync: bool) -> Opened {
        let node = NODES.fetch_add(2, Ordering::Relaxed);
        let kinds = [
            SpanKind::Agent,
            SpanKind::Tool,
            SpanKind::Llm,
            SpanKind::Section,
            SpanKind::Http,
        ];
        let kind = kinds[usize::from(self.small(5))];
        let tools = [How::Dispatched, How::Dispatched, How::Governed, How::Direct];
        let others = [
            How::Future,
            How::Future,
            How::Future,
            How::Carried,
            How::Sent,
            How::Handle,
        ];
        let how = match kind {
            SpanKind::Tool => tools[usize::from(self.small(4))],
            SpanKind::Agent if one_in(&mut self.dice, 3) => How::Attribute,
            _ => others[usize::from(self.small(6))],
        };
        let body = if sync {
            self.sync_steps(depth)
        } else {
            self.steps(depth)
        };
        Opened {
            node,
            kind,
            how,
            around: node + 1,
            fails: one_in(&mut self.dice, 5),
            body,
        }
    }

    fn takes(&mut self) -> Takes {
        [
            Takes::Inherits,
            Takes::Inherits,
            Takes::Nothing,
            Takes::Made,
        ][usize::from(self.small(4))]
    }

    fn wait(&mut self) -> Wait {
        [
            Wait::Join,
            Wait::Join,
            Wait::Detach,
            Wait::Abort(self.small(4)),
        ][usize::from(self.small(4))]
    }

    fn used(&mut self) -> Step {
        let told = [Word::Told, Word::Seen, Word::Seen, Word::Paid][usize::from(self.small(4))];
        // Each tree has its own response ids.
        let response = (told != Word::Paid && one_in(&mut self.dice, 3))
            .then(|| 1 + self.tree * 4 + u32::from(self.small(4)));
        Step::Use(Use {
            number: USES.fetch_add(1, Ordering::Relaxed),
            told,
            response,
        })
    }

    fn small(&mut self, below: u64) -> u8 {
        u8::try_from(self.dice.below(below)).unwrap()
    }
}
