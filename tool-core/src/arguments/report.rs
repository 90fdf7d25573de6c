//! The answer to a model whose arguments do not fit.

use super::Problem;
use serde_json::Value;
use std::fmt::Write as _;

/// How many problems are listed.
const LISTED: usize = 20;

/// The message: every problem, and arguments that would have been accepted, where some are known.
pub(crate) fn report(tool: &str, problems: &[Problem], example: Option<&Value>) -> String {
    let mut text = format!("invalid arguments for `{tool}`:");
    for problem in problems.iter().take(LISTED) {
        let place = if problem.pointer.is_empty() { "arguments" } else { &problem.pointer };
        let _ = write!(text, "\n- {place}: {}", problem.text());
    }
    if let Some(more) = problems.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = write!(text, "\nand {more} more");
    }
    if let Some(example) = example {
        let _ = write!(text, "\nexample of valid arguments: {example}");
    }
    text
}
