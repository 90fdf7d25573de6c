//! What rig makes of a response.

use ::rig_core::message::{ImageMediaType, MimeType, ToolResultContent};
use ::rig_core::tool::{ToolErrorKind, ToolExecutionError, ToolOutput};
use tool_core::call::{ErrorBody, ResultForm};
use tool_core::{Content, ErrorKind, ToolResponse};

pub(super) fn of(response: &ToolResponse) -> Result<ToolOutput, ToolExecutionError> {
    let shown = response.for_model(ResultForm::Plain);
    if let Some(error) = response.error() {
        return Err(failure(error, shown.text));
    }
    match shown.content() {
        Some(parts) if !parts.is_empty() => ToolOutput::content(parts.into_iter().map(part).collect()),
        _ => Ok(ToolOutput::text(shown.text)),
    }
}

fn failure(error: &ErrorBody, told: String) -> ToolExecutionError {
    ToolExecutionError::new(kind(error.kind), error.message.clone())
        .with_model_feedback(told)
        .with_retryable(error.retryable)
        .with_code(error.kind.as_str())
}

fn kind(kind: ErrorKind) -> ToolErrorKind {
    match kind {
        ErrorKind::Validation => ToolErrorKind::InvalidArgs,
        ErrorKind::NotFound => ToolErrorKind::NotFound,
        ErrorKind::Timeout => ToolErrorKind::Timeout,
        ErrorKind::Cancelled => ToolErrorKind::Cancelled,
        ErrorKind::RateLimit | ErrorKind::BudgetExceeded | ErrorKind::LoopDetected => ToolErrorKind::RateLimited,
        ErrorKind::Auth | ErrorKind::Denied | ErrorKind::ConfirmationRequired | ErrorKind::ModeRestricted => {
            ToolErrorKind::PermissionDenied
        }
        ErrorKind::Transient => ToolErrorKind::Provider,
        _ => ToolErrorKind::Other,
    }
}

/// rig knows texts and images; all else is told as what it is.
fn part(part: Content) -> ToolResultContent {
    match part {
        Content::Text { text } => ToolResultContent::text(text),
        Content::Image { data, mime_type } => {
            ToolResultContent::image_base64(data, ImageMediaType::from_mime_type(&mime_type), None)
        }
        other => ToolResultContent::json(serde_json::json!(other)),
    }
}
