//! The items that generated code uses. Not public: they change without notice.

pub use crate::arguments::fields::BorrowedText as Text;
pub use crate::arguments::fields::{
    ArgumentSource, ArgumentStruct, Flattened, Slot, ValueReader, decode_arguments,
    deserialize_arguments, filled, from_text,
};
pub use crate::arguments::limits::*;
pub use crate::arguments::tool_parameter::{
    ForeignParameter, ForeignSchema, ToolParameter, schemars_features,
};
pub use crate::call::approval_reason::ApprovalNeed;
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
    lifecycle,
};
pub use crate::tool::locals;
pub use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate};
pub use crate::tool::registration::{
    Discover, Discovery, MainToolsetBlock, Registration, type_id_of,
};
pub use crate::tool::returns::*;
pub use crate::tool::spec::*;
pub use crate::tool::start::{done, start, start_converted, start_endless};
pub use crate::tool::text_method::{completion, prompt_result, resource_result};
pub use crate::tool::wrap::SpanLabel;
pub use crate::tool::wrap_all::{ReturnedKind, TypeIsKnown};
pub use crate::trace::body::{
    AgentSpan, BodySpan, SpanEnding, TracedFunction, TypedBody, function, in_agent,
};
pub use crate::{
    __completed as completed, __default_json as default_json, __failure as failure,
    __finish as finish, __function as function, __joined as joined, __joined_parts as joined_parts,
    __outcome as outcome, __path as path, __respond_text as respond_text, __shown as shown,
};
pub use inventory;
pub use schemars;
pub use serde;

/// The names that generated code imports at once. They are other names than those of the language's
/// prelude, as the user's module may define those differently.
pub mod prelude {
    pub use crate::arguments::fields::ArgumentSource as __Source;
    pub use crate::schema::parameter::{Constraint as __Limit, Parameter as __Row};
    pub use crate::tool::locals::*;
    pub use std::option::Option::{self as __Option, None as __None, Some as __Some};
    pub use std::result::Result::{self as __Result, Ok as __Ok};
    pub use std::string::String as __String;
    pub use std::vec::Vec as __Vec;
}
