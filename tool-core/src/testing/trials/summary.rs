//! The outcomes of many trials.

use crate::testing::trials::junit;
use crate::testing::trials::outcome::TrialOutcome;
use crate::testing::trials::table;
use std::fmt;
use std::io;
use std::path::Path;

/// The outcomes of many trials: a table for people, and JUnit XML for a build server.
///
/// ```
/// use tool_core::testing::{ScriptedModel, Trial, Trials};
/// use tool_core::{Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let mut trials = Trials::new("front desk");
/// for (name, prompt) in [("greets", "Good morning"), ("says goodbye", "Bye")] {
///     let trial = Trial::new(name, prompt);
///     trials.add(trial.run(&runtime, |_run| ScriptedModel::new().says("Good morning!")).await);
/// }
/// println!("{trials}");
/// assert!(trials.junit_xml().contains(r#"<testsuite name="front desk" tests="2""#));
/// trials.assert_passed();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trials {
    name: String,
    pub(crate) outcomes: Vec<TrialOutcome>,
}

impl Trials {
    /// Creates a list without outcomes. The name is that of the test suite.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outcomes: Vec::new(),
        }
    }

    /// Adds the outcome of a trial.
    pub fn add(&mut self, outcome: TrialOutcome) {
        self.outcomes.push(outcome);
    }

    /// Returns the outcomes, in order.
    pub fn outcomes(&self) -> &[TrialOutcome] {
        &self.outcomes
    }

    /// Returns true if every trial has passed.
    pub fn has_passed(&self) -> bool {
        self.outcomes.iter().all(TrialOutcome::has_passed)
    }

    /// Returns the outcomes as JUnit XML, which most build servers show. Each trial is a test case.
    /// It fails if its rate was not reached, and a mistake in the trial is an error. Problems of
    /// runs are in `system-out` if the rate was reached all the same.
    pub fn junit_xml(&self) -> String {
        junit::of(&self.name, &self.outcomes)
    }

    /// Writes the outcomes as [JUnit XML](Self::junit_xml) into a file. Creates its folder.
    ///
    /// # Errors
    ///
    /// The file or its folder cannot be written.
    pub fn save_junit(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, self.junit_xml())
    }

    /// Asserts that every trial has passed.
    ///
    /// # Panics
    ///
    /// Panics with the table and every problem.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.has_passed(), "not all trials passed\n{self}");
    }
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&table::of(&self.outcomes))
    }
}
