//! Finds results that hold nothing, which count against a tool that a model calls again and again.

use crate::call::meta::OptionalMeta;
use crate::call::{OutputKind, ToolResponse};
use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::number::ParsedNumber;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::tool::Category;

/// Returns true for an empty result, and for what the tool itself declared empty.
#[inline]
pub(crate) fn counts_as_empty(call: &GovernedCall<'_>, response: &ToolResponse) -> bool {
    let Some(data) = response.data_json() else {
        return false;
    };
    let optional = response.meta.optional.as_deref();
    if let Some(declared) = optional.and_then(|optional| optional.empty) {
        return declared;
    }
    let may_be_empty = call.definition().options.category != Category::Action && is_empty(data);
    may_be_empty
        && is_meant_as_data(response, optional)
        && !call.session.tools.is_control_tool(call.index)
}

/// Returns true if the data is the answer of the tool, although it is empty. The success of a tool
/// that returns `()`, that wants no reply or that asks for intents has no data, and content parts
/// are read in place of it.
#[cold]
fn is_meant_as_data(response: &ToolResponse, optional: Option<&OptionalMeta>) -> bool {
    let has_content = optional.is_some_and(|optional| !optional.content.is_empty());
    let has_only_intents = response.data_json() == Some("null") && !response.intents().is_empty();
    matches!(response.kind(), OutputKind::Data | OutputKind::Content)
        && !has_content
        && !has_only_intents
}

/// Returns true if the JSON of a result is empty: `null`, a blank text, `[]`, `{}`, or an object
/// with a collection among its members, all of them empty, where the other members are `null`,
/// blank, `false` or zero.
///
/// The first member that is not empty decides, so a long result is seldom read to its end.
pub(crate) fn is_empty(data: &str) -> bool {
    let mut json = Decoder::new(data);
    let empty = match json.peek() {
        0 => Ok(true),
        b'{' => is_empty_object(&mut json),
        b'[' | b'"' | b'n' => is_empty_value(&mut json),
        _ => Ok(false),
    };
    empty.unwrap_or(false) && json.end().is_ok()
}

pub(crate) fn is_empty_object(json: &mut Decoder<'_>) -> Result<bool, Error> {
    json.open()?;
    let mut members = 0;
    let mut collections = 0;
    while json.next_key(members == 0)?.is_some() {
        members += 1;
        collections += usize::from(matches!(json.peek(), b'[' | b'{'));
        if !is_empty_value(json)? {
            return Ok(false);
        }
    }
    Ok(members == 0 || collections > 0)
}

/// Reads a value up to the point that decides.
fn is_empty_value(json: &mut Decoder<'_>) -> Result<bool, Error> {
    Ok(match json.peek() {
        b'[' => {
            json.open()?;
            !json.next_element(true)?
        }
        b'{' => {
            json.open()?;
            json.next_key(true)?.is_none()
        }
        b'"' => json.string()?.trim().is_empty(),
        b'n' => json.take_null()?,
        b'f' => json.literal("false").is_ok(),
        b'-' | b'0'..=b'9' => match json.number()? {
            ParsedNumber::Unsigned(number) => number == 0,
            ParsedNumber::Float(number) => number == 0.0,
            ParsedNumber::Signed(_) | ParsedNumber::Big(_) | ParsedNumber::Rounded(_) => false,
        },
        _ => false,
    })
}
