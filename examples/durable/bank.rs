//! The tools, whose effects are lines of a file, and the model, which does what the user says.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use tool_core::session::{Message, Model, ModelRequest, ModelStep};
use tool_core::{ToolCall, ToolError, toolset};

/// The file with the effects: one line each.
const ACCOUNT: &str = "account";
/// The file with the questions to the model: one line each.
const ASKED: &str = "asked";

/// The bank, in a folder that all workers share.
#[derive(Clone)]
pub(crate) struct Bank {
    pub(crate) folder: PathBuf,
}

#[toolset(discover = false)]
impl Bank {
    /// Pay a bill.
    #[tool(category = "action")]
    async fn pay(&self, bill: u32) -> Result<String, ToolError> {
        append(&self.folder, ACCOUNT, &format!("pay {bill}"))?;
        halt(&self.folder, &format!("inside pay {bill}")).await;
        Ok(format!("bill {bill} is paid"))
    }

    /// Give the money of a bill back.
    #[tool(category = "action", confirm)]
    async fn refund(&self, bill: u32) -> Result<String, ToolError> {
        append(&self.folder, ACCOUNT, &format!("refund {bill}"))?;
        Ok(format!("bill {bill} is refunded"))
    }
}

/// A model that carries out the user's list, for example `pay 1, refund 1`, by one call in each step. A real model is
/// `HttpModel::new(Provider::Anthropic, "claude-sonnet-5")`.
pub(crate) struct Clerk {
    pub(crate) folder: PathBuf,
}

impl Model for Clerk {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let Some(Message::User(said)) = request.history.first() else {
            return Ok(ModelStep::says("What can I do for you?"));
        };
        let list = said.text().into_owned();
        let jobs = list.split(", ").collect::<Vec<_>>();
        let made = request.history.iter().filter(|message| is_call(message));
        let made = made.count();
        let job = jobs.get(made).copied().unwrap_or("the end");
        halt(&self.folder, &format!("before {job}")).await;
        append(
            &self.folder,
            ASKED,
            &format!("step {}", request.history.len()),
        )?;
        let step = match jobs.get(made).and_then(|job| job.split_once(' ')) {
            Some((tool, bill)) => {
                let arguments = format!(r#"{{"bill": {bill}}}"#);
                ModelStep::calls([ToolCall::new(format!("call_{made}"), tool, arguments)])
            }
            None => ModelStep::says(summary(request.history)),
        };
        Ok(step)
    }
}

fn is_call(message: &Message) -> bool {
    matches!(message, Message::Assistant { calls, .. } if !calls.is_empty())
}

/// Returns what the model knows of its calls, one line each.
fn summary(history: &[Message]) -> String {
    let lines = history.iter().skip(1).filter_map(|message| match message {
        Message::Result { result, .. } => Some(result.text.clone()),
        Message::User(note) => Some(note.text().into_owned()),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds a line to a file, which is on the disk when this returns.
fn append(folder: &Path, file: &str, line: &str) -> Result<(), ToolError> {
    let mut options = OpenOptions::new();
    let opened = options.create(true).append(true).open(folder.join(file));
    let mut file = opened?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()?;
    Ok(())
}

fn lines(folder: &Path, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the effects of all workers, in order.
pub(crate) fn effects(folder: &Path) -> Vec<String> {
    lines(folder, ACCOUNT)
}

/// Returns the questions that the model has answered, in order.
pub(crate) fn asked(folder: &Path) -> Vec<String> {
    lines(folder, ASKED)
}

/// Halts the worker at a point, if it is to be killed there. See [`kill_at`].
async fn halt(folder: &Path, point: &str) {
    let wanted = std::fs::read_to_string(folder.join("halt")).unwrap_or_default();
    if wanted != point {
        return;
    }
    // It fails if the folder is gone, and then nobody waits.
    let _ = std::fs::write(folder.join("halted"), point);
    std::future::pending::<()>().await;
}

/// Makes the next worker halt at a point, so that it can be killed there: `before pay 2` is between two steps, and
/// `inside pay 2` is inside a step, after the effect.
pub(crate) fn kill_at(folder: &Path, point: &str) -> std::io::Result<()> {
    std::fs::write(folder.join("halt"), point)
}

/// Returns true once a worker has halted, and lets the next one go on.
pub(crate) fn has_halted(folder: &Path) -> std::io::Result<bool> {
    if !folder.join("halted").exists() {
        return Ok(false);
    }
    std::fs::remove_file(folder.join("halt"))?;
    std::fs::remove_file(folder.join("halted"))?;
    Ok(true)
}
