//! What generated code calls. Not public: it changes without notice.

mod call;
mod check;
mod fields;
mod output;
mod parameter;
mod register;
mod rest;
mod returns;
mod seen;
mod spec;
mod text;
mod traced;

pub use call::{Call, Invocation, Outcome, Rejected, Started, context, later, lifecycle};
pub(crate) use call::{Frame, Gate};
pub use check::*;
pub use fields::{ArgumentStruct, Fields, decode_arguments, deserialize_arguments};
pub use output::*;
pub use parameter::*;
pub use register::{Discovery, MakeByHand, MakeConfigured, MakeDefault, Maker, PartSpec, Registration, type_id_of};
pub(crate) use register::{Kind, Linked, specs_of};
pub use rest::Rest;
pub use returns::*;
pub use spec::*;
pub use text::Text;
pub use traced::*;

pub use crate::json::{Decoder, Error as DecodeError, Key};
pub use crate::response::{IntoToolError, ToolError};
pub use crate::run::FromRunContext;
pub use crate::tool::{Category, Confirm, DuplicateScope, Modes, OnDuplicate};
pub use crate::trace::site::{Site as TraceSite, in_agent, in_agent_async, in_tool, in_tool_async, never};
pub use crate::trace::wrap::{Label, Shape, SortCallable, SortReturned, TypeIsKnown};
pub use crate::{
    __discovery as discovery, __ends as ends, __failure as failure, __finish as finish, __outcome as outcome,
    __output as output, __respond as respond, __returns as returns, __site as site,
};
pub use {inventory, schemars, serde};

/// A default's JSON, for the schema. A default that does not serialise shows as null, which its schema refuses.
pub fn default_json<T: PublishedDefault + ?Sized>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}

/// A type whose values can be published as a default.
#[diagnostic::on_unimplemented(
    message = "the default of this parameter cannot be published, because `{Self}` is not `Serialize`",
    note = "a default stands in the schema that the model reads; derive `serde::Serialize` for `{Self}`"
)]
pub trait PublishedDefault: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + ?Sized> PublishedDefault for T {}
