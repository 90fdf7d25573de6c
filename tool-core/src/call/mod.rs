//! Calls: the call itself, the run context that the tool sees, and the response with its data or error.

pub(crate) mod ask;
pub(crate) mod ask_error;
pub(crate) mod content;
pub(crate) mod context;
pub(crate) mod envelope;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod intent;
pub(crate) mod meta;
pub(crate) mod mode;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod questions;
pub(crate) mod raw_question;
pub(crate) mod response;
pub(crate) mod state_key;
pub(crate) mod tool_call;
pub(crate) mod truncation;

pub use crate::call::ask::Ask;
pub use crate::call::ask_error::AskError;
pub use crate::call::content::{Content, ContentError};
pub use crate::call::context::{FromRunContext, RunContext, RunContextBuilder, SessionStateHandle, UserData};
pub use crate::call::error::{ErrorBody, ErrorKind, ErrorList, IntoToolError, ResultExt, ToolError};
pub use crate::call::intent::Intent;
pub use crate::call::meta::{Confirmation, OutputKind, ResponseMeta, SCHEMA_VERSION};
pub use crate::call::mode::{Mode, Modes};
pub use crate::call::output::{IntoToolOutput, ToolOutput};
pub use crate::call::progress::{Progress, ProgressUpdate};
pub use crate::call::questions::{Answer, Question, QuestionHandler};
pub use crate::call::raw_question::RawQuestion;
pub use crate::call::response::{DataError, ModelResult, ResultForm, ToolResponse};
pub use crate::call::state_key::StateKey;
pub use crate::call::tool_call::{Arguments, ToolCall};
pub use crate::call::truncation::{SizeUnit, Truncated};
pub use tokio_util::sync::CancellationToken;
