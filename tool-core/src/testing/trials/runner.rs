//! Runs a trial as often as it says.

use crate::session::{Model, Runtime, Session};
use crate::testing::trials::outcome::TrialOutcome;
use crate::testing::trials::run::run_once;
use crate::testing::trials::trial::Trial;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// # Running
impl Trial {
    /// Runs the trial in sessions of a runtime. `model` makes the model of each run, whose number
    /// begins with 1.
    ///
    /// The runs follow each other. What they spend goes to a collector of the trial, and not to
    /// that of the process.
    pub async fn run<M: Model>(
        &self,
        runtime: &Runtime,
        model: impl FnMut(u32) -> M,
    ) -> TrialOutcome {
        let open = |_run| runtime.session(session_id(), self.mode);
        self.run_in(open, model).await
    }

    /// Runs the trial in sessions that you open: with a principal, user data, or tools of their
    /// own. Give each an id of its own.
    ///
    /// ```
    /// use tool_core::testing::{ScriptedModel, Trial};
    /// use tool_core::{Mode, Runtime, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let open = |run| runtime.session(format!("greeting-{run}"), Mode::Text).principal("ada");
    /// let trial = Trial::new("greets", "Good morning");
    /// trial.run_in(open, |_run| ScriptedModel::new().says("Good morning!")).await.assert_passed();
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_in<M, S, E>(
        &self,
        mut open: impl FnMut(u32) -> S,
        mut model: impl FnMut(u32) -> M,
    ) -> TrialOutcome
    where
        M: Model,
        S: IntoFuture<Output = Result<Session, E>>,
        E: fmt::Display,
    {
        let mut outcome = TrialOutcome::new(&self.name, self.repetitions, self.reach);
        outcome.mistakes = self.wrong_settings();
        if !outcome.mistakes.is_empty() {
            return outcome;
        }
        for run in 1..=self.repetitions {
            let session = match open(run).await {
                Ok(session) => session,
                Err(error) => {
                    let mistake = format!("the session of run {run} did not open: {error}");
                    outcome.mistakes.push(mistake);
                    return outcome;
                }
            };
            outcome.mistakes = self.expected.mistakes(&session);
            if outcome.mistakes.is_empty() {
                let run = Box::pin(run_once(self, &session, run, || model(run))).await;
                outcome.runs.push(run);
            }
            session.end().await;
            if !outcome.mistakes.is_empty() {
                return outcome;
            }
        }
        outcome
    }

    fn wrong_settings(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.repetitions == 0 {
            mistakes.push(
                "a trial needs at least one run; call `repeat` with another number".to_owned(),
            );
        }
        if !(0.0..=1.0).contains(&self.reach) {
            mistakes.push(format!(
                "the rate to reach is from 0 to 1, got {}; 0.8 is four of five runs",
                self.reach
            ));
        }
        mistakes
    }
}

/// Returns an id that no other session has, also in a store that processes share.
fn session_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);

    let mut bytes = [0; 8];
    // Without random bytes the number still tells the sessions of this process apart.
    let _ = getrandom::fill(&mut bytes);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("trial-{}-{number}", crate::text::hex(&bytes))
}
