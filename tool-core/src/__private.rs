//! What generated code calls. Not public: it changes without notice.

pub use crate::arguments::borrowed::Text;
pub use crate::arguments::fields::{ArgumentStruct, Fields, decode_arguments, deserialize_arguments};
pub use crate::arguments::limits::*;
pub use crate::arguments::rest::Rest;
pub use crate::call::error::{IntoToolError, ToolError};
pub use crate::call::extract::FromRunContext;
pub use crate::call::mode::Modes;
pub use crate::json::decoder::{Decoder, Key};
pub use crate::json::error::Error as DecodeError;
pub use crate::schema::parameter::*;
pub use crate::tool::invocation::{Call, Invocation, Outcome, Rejected, Started, context, later, lifecycle};
pub use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate};
pub use crate::tool::registration::{
    Discovery, MakeByHand, MakeConfigured, MakeDefault, Maker, PartSpec, Registration, type_id_of,
};
pub use crate::tool::returns::*;
pub use crate::tool::spec::*;
pub use crate::tool::wrap::Label;
pub use crate::tool::wrap_all::{Shape, SortCallable, SortReturned, TypeIsKnown};
pub use crate::trace::body::{Site as TraceSite, in_agent, in_agent_async, in_tool, in_tool_async, never};
pub use crate::{
    __discovery as discovery, __ends as ends, __failure as failure, __finish as finish, __outcome as outcome, __output,
    __output as output, __respond as respond, __returns, __returns as returns, __site as site,
};
pub use inventory;
pub use schemars;
pub use serde;
