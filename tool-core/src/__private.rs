//! The items that generated code uses. Not public: they change without notice.

pub use crate::arguments::fields::BorrowedText as Text;
pub use crate::arguments::fields::{
    ArgumentSource, ArgumentStruct, Flattened, Slot, ValueReader, decode_arguments,
    deserialize_arguments, filled, from_text, parameters,
};
pub use crate::arguments::limits::*;
pub use crate::arguments::tool_parameter::{
    ForeignParameter, ForeignSchema, ToolParameter, schemars_features,
};
pub use crate::call::context::FromRunContext;
pub use crate::call::error::{IntoToolError, ToolError};
pub use crate::call::mode::Modes;
pub use crate::json::decoder::Decoder;
pub use crate::json::error::Error as DecodeError;
pub use crate::json::keys::Key;
pub use crate::schema::parameter::*;
pub use crate::tool::confirm_function::*;
pub use crate::tool::default_json::*;
pub use crate::tool::docs::{joined_bytes, joined_length, joined_text, own_section};
pub use crate::tool::invocation::{
    DecodedArguments, Execution, HandlerResult, Invocation, Rejection, ToolResult, context,
    lifecycle, start,
};
pub use crate::tool::locals;
pub use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate};
pub use crate::tool::registration::{Discovery, Registration, type_id_of};
pub use crate::tool::returns::*;
pub use crate::tool::spec::*;
pub use crate::tool::text_method::{completion, prompt_result, resource_result};
pub use crate::tool::wrap::SpanLabel;
pub use crate::tool::wrap_all::{ReturnedKind, TypeIsKnown};
pub use crate::trace::body::{AgentSpan, BodySpan, SpanEnding, function_id, in_agent, typed};
pub use crate::{
    __completed as completed, __default_json as default_json, __discovery as discovery,
    __failure as failure, __finish as finish, __function_id as function_id, __joined as joined,
    __joined_parts as joined_parts, __outcome as outcome, __output as output, __path as path,
    __respond as respond, __respond_text as respond_text, __returns, __returns as returns,
    __shown as shown,
};
pub use inventory;
pub use schemars;
pub use serde;
