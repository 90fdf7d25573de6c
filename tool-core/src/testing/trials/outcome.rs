//! The outcome of a trial.

use crate::trace::{Cost, TokenUsage};
use std::time::Duration;

/// The outcome of a [`Trial`](crate::testing::Trial): its runs, with every problem of each.
///
/// Its `Display` is a table of one line, and the problems below it.
#[derive(Clone, Debug)]
#[must_use]
pub struct TrialOutcome {
    pub(crate) name: String,
    pub(crate) repetitions: u32,
    pub(crate) reach: f64,
    pub(crate) runs: Vec<TrialRun>,
    pub(crate) mistakes: Vec<String>,
}

/// One run of a trial.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrialRun {
    /// The number of the run, from 1.
    pub number: u32,
    /// The problems, empty for a run that passed. Texts of the model are shortened and escaped.
    pub problems: Vec<String>,
    /// The calls that the model made, in order, shortened and escaped.
    pub calls: Vec<String>,
    /// The text of the answer, as the model wrote it.
    pub answer: Option<String>,
    /// The tokens of all answers, also of those that failed. A run that timed out has none.
    pub usage: TokenUsage,
    /// The cost; `None` if a price is not known.
    pub cost: Option<Cost>,
    /// The time that the run took.
    pub duration: Duration,
}

impl TrialRun {
    /// Returns true if the run has no problem.
    pub fn has_passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl TrialOutcome {
    pub(crate) fn new(name: &str, repetitions: u32, reach: f64) -> Self {
        Self {
            name: name.to_owned(),
            repetitions,
            reach,
            runs: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    /// Returns the name of the trial.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the runs, in order.
    pub fn runs(&self) -> &[TrialRun] {
        &self.runs
    }

    /// Returns the mistakes in the trial itself, for example a tool that the session does not have.
    /// Such a trial is not run, and does not pass.
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    /// Returns the number of runs that passed.
    pub fn passed_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.has_passed()).count()
    }

    /// Returns the part of the runs that passed, from 0 to 1.
    #[allow(clippy::cast_precision_loss, reason = "no one runs a trial that often")]
    pub fn rate(&self) -> f64 {
        self.passed_runs() as f64 / f64::from(self.repetitions.max(1))
    }

    /// Returns the rate that has to be reached.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Returns true if the trial has no mistakes and enough runs passed.
    pub fn has_passed(&self) -> bool {
        // Four of five runs reach 0.8, whatever a division says.
        self.mistakes.is_empty() && self.rate() + 1e-9 >= self.reach
    }

    /// Returns the tokens of all runs.
    pub fn usage(&self) -> TokenUsage {
        let mut usage = TokenUsage::default();
        for run in &self.runs {
            usage += run.usage;
        }
        usage
    }

    /// Returns the cost of all runs; `None` if the price of one is not known.
    pub fn cost(&self) -> Option<Cost> {
        if self.runs.is_empty() {
            return None;
        }
        self.runs.iter().map(|run| run.cost).sum()
    }

    /// Returns the time of all runs.
    pub fn duration(&self) -> Duration {
        self.runs.iter().map(|run| run.duration).sum()
    }

    /// Asserts that the trial has passed.
    ///
    /// # Panics
    ///
    /// Panics with the table and every problem.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.has_passed(), "the trial failed\n{self}");
    }
}
