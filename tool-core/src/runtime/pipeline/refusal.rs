//! What a refusal of the store tells the model.

use super::Governed;
use crate::response::{ErrorKind, ToolError};
use crate::runtime::store::{BudgetLimit, Refusal};

/// What a refusal tells the model. R-B2, R-L1, R-L2
#[cold]
pub(super) fn refused(call: &Governed<'_>, refusal: &Refusal) -> ToolError {
    let tool = call.tool.name();
    let (kind, message) = match refusal {
        Refusal::Repeated(count) => (
            ErrorKind::LoopDetected,
            format!(
                "Loop detected: {tool} called {count} times with identical arguments. \
                 Try a different approach or rephrase your query."
            ),
        ),
        Refusal::Empty(count) => (
            ErrorKind::LoopDetected,
            format!(
                "{tool} returned empty results {count} times. \
                 Data may not exist. Try different search terms or a different tool."
            ),
        ),
        Refusal::Budget { limit, used, of } => {
            let what = match limit {
                BudgetLimit::Tool => format!("calls of `{tool}`"),
                BudgetLimit::Category(category) => format!("{} calls", category.as_str()),
                BudgetLimit::Total => "calls".to_owned(),
            };
            let mode = call.core.mode.as_str();
            let message = format!(
                "budget exceeded: {used} of {of} {what} of this {mode} turn are used; the count resets at the next turn. \
                 Answer with what you have."
            );
            (ErrorKind::BudgetExceeded, message)
        }
    };
    ToolError::new(kind, message, false)
}
