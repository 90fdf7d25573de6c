//! What a running tool sees of the run that it is part of.

pub(crate) mod context;
pub(crate) mod cut;
pub(crate) mod error;
pub(crate) mod extract;
pub(crate) mod intent;
pub(crate) mod meta;
pub(crate) mod mode;
pub(crate) mod model_result;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod refusal;
pub(crate) mod response;
pub(crate) mod scope;
pub(crate) mod tool_call;

#[cfg(test)]
mod tests;

pub use crate::call::context::{RunContext, RunContextBuilder};
pub use crate::call::cut::{SizeUnit, Truncated};
pub use crate::call::error::{ErrorBody, ErrorKind, IntoToolError, ToolError};
pub use crate::call::extract::{FromRunContext, SessionStateHandle, UserData};
pub use crate::call::intent::Intent;
pub use crate::call::meta::{Confirmation, ResponseMeta, SCHEMA_VERSION};
pub use crate::call::mode::{Mode, Modes};
pub use crate::call::model_result::{ModelResult, ResultForm};
pub use crate::call::output::{Content, IntoToolOutput, OutputKind, ToolOutput};
pub use crate::call::progress::{Progress, ProgressUpdate};
pub use crate::call::response::ToolResponse;
pub use crate::call::tool_call::{Arguments, ToolCall};
pub use tokio_util::sync::CancellationToken;

// ---- What a call answers: the response envelope, errors, intents, and what a tool may return.

/// What an internal error tells the model; its own text goes to the log.
pub(crate) const MASKED: &str = "An internal error occurred";
