//! The second step: whether the tool serves the session's mode. R-B3

use super::Governed;
use crate::response::{ErrorKind, ToolError};
use crate::tool::Mode;

#[inline]
pub(super) fn check(call: &Governed<'_>) -> Result<(), ToolError> {
    if call.definition().modes.contains(call.core.mode) { Ok(()) } else { Err(restricted(call)) }
}

#[cold]
fn restricted(call: &Governed<'_>) -> ToolError {
    let needed = call.definition().modes.iter().map(Mode::as_str).collect::<Vec<_>>().join(" or ");
    let message = format!("`{}` needs {needed} mode; this is {} mode", call.tool.name(), call.core.mode.as_str());
    ToolError::new(ErrorKind::ModeRestricted, message, false)
}
