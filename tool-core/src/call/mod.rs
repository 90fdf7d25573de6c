//! Calls: the call itself, the run context that the tool sees, and the response with its data or
//! error.
//!
//! | in a tool you want to | use |
//! |---|---|
//! | know the call, its session, its deadline or the host's data | [`RunContext`] |
//! | return more than data: content parts, intents, no reply | [`ToolOutput`] |
//! | fail, with a kind that a program can match | [`ToolError`] |
//! | report progress, or log | [`RunContext::update`], [`RunContext::log`] |
//! | ask the user, the user's model, or for the user's folders | [`RunContext::ask`], [`RunContext::sample`], [`RunContext::roots`] |
//! | keep a value in the session | [`StateKey`] |
//!
//! | in a program that calls tools you want to | use |
//! |---|---|
//! | make a call | [`ToolCall`] |
//! | read its data, its error or its metadata | [`ToolResponse`], [`ErrorBody`], [`ResponseMeta`] |
//! | give the model what it reads | [`ToolResponse::for_model`] |
//! | answer the questions of tools | [`HostHandlers`] |
//!
//! ```
//! use tool_core::call::ErrorKind;
//! use tool_core::{RunContext, ToolContext, ToolError, tool};
//!
//! /// Book a table.
//! #[tool]
//! fn book(ctx: &RunContext, guests: u32) -> Result<String, ToolError> {
//!     ctx.update("asking the kitchen");
//!     if guests > 8 {
//!         return Err(ToolError::conflict("the largest table has 8 seats; book two tables"));
//!     }
//!     Ok(format!("a table for {guests}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_core::RegistryErrors> {
//! let tools = ToolContext::builder().with(book).build()?;
//! let response = tools.call("book", r#"{"guests": 12}"#, &RunContext::detached()).await;
//! assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::Conflict));
//! # Ok(())
//! # }
//! ```

pub(crate) mod approval_form;
pub(crate) mod approval_reason;
pub(crate) mod ask;
pub(crate) mod ask_error;
pub(crate) mod asker;
pub(crate) mod content;
pub(crate) mod context;
pub(crate) mod envelope;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod handlers;
pub(crate) mod handoff;
pub(crate) mod host_request;
pub(crate) mod intent;
pub(crate) mod log;
pub(crate) mod log_message;
pub(crate) mod meta;
pub(crate) mod mode;
pub(crate) mod newest_items;
pub(crate) mod original;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod questions;
pub(crate) mod raw_question;
pub(crate) mod response;
pub(crate) mod roots;
pub(crate) mod sampling;
pub(crate) mod state_key;
pub(crate) mod tool_call;
pub(crate) mod tool_call_form;
pub(crate) mod truncation;

pub use crate::call::approval_reason::{ApprovalNeed, ApprovalReason, ApprovalSource};
pub use crate::call::ask::Ask;
pub use crate::call::ask_error::AskError;
pub use crate::call::content::{Content, ContentError};
#[doc(hidden)]
pub use crate::call::context::MissingUserData;
pub use crate::call::context::{FromRunContext, RunContext, RunContextBuilder, UserData};
pub use crate::call::error::{
    ErrorBody, ErrorKind, ErrorList, IntoToolError, ResultExt, ToolError,
};
pub use crate::call::handlers::HostHandlers;
pub use crate::call::handoff::Handoff;
pub use crate::call::host_request::{HostRequest, RequestHandler};
pub use crate::call::intent::Intent;
pub use crate::call::log_message::{LogLevel, LogMessage};
pub use crate::call::meta::{Confirmation, OutputKind, ResponseMeta, SCHEMA_VERSION};
pub use crate::call::mode::{Mode, Modes};
#[doc(hidden)]
pub use crate::call::original::{Original, OriginalPart, Shorten};
pub use crate::call::output::{IntoToolOutput, ToolOutput};
pub use crate::call::progress::{CountedWork, Progress, ProgressUpdate};
pub use crate::call::questions::{Answer, Question};
pub use crate::call::raw_question::RawQuestion;
pub use crate::call::response::{DataError, ModelResult, ResultForm, ToolResponse};
pub use crate::call::roots::{Root, RootsRequest};
pub use crate::call::sampling::{Role, SamplingAnswer, SamplingMessage, SamplingRequest};
pub use crate::call::state_key::StateKey;
pub use crate::call::tool_call::{Arguments, ToolCall};
pub use crate::call::truncation::{SizeUnit, Truncated};
pub use tokio_util::sync::CancellationToken;
