//! The fourth step: the arguments. What decodes goes on at once; what does not is put right, or refused with every
//! problem. L28

use super::admit::Gate;
use super::{Governed, execute, held};
use crate::__private::{Call, Rejected};
use crate::arguments::{Prepared, Problem};
use crate::call::{Settings, guard, repair, too_long};
use crate::compare::Fingerprint;
use crate::response::ToolResponse;
use crate::runtime::store::Charge;

#[inline]
pub(super) fn within_cap(text: &str, settings: &Settings) -> Result<(), Problem> {
    if text.len() <= settings.argument_bytes { Ok(()) } else { Err(too_long(text.len(), settings.argument_bytes)) }
}

/// The slow path: finds out what is wrong, puts right what can be, and starts the tool again.
pub(super) async fn repaired(call: &Governed<'_>, gate: &Gate<'_>) -> ToolResponse {
    let settings = call.core.toolbox.context.settings();
    let Prepared { text, coerced, confirm_duplicate } = match repair(call.tool, call.text, settings) {
        Ok(prepared) => prepared,
        Err(problems) => return refused(call, gate, &problems).await,
    };
    gate.confirm_duplicate(confirm_duplicate);
    let frame = call.answer().frame(&text, settings, true, Some(gate));
    let mut response = match guard::start(call.tool, Call(&frame)) {
        Ok(invocation) => execute::drive(call, gate, invocation).await,
        Err(Rejected::Held) => held::go_on(call, gate, &text, true).await,
        Err(Rejected::Arguments(error)) => {
            refused(call, gate, &[Problem::refused(error.path(), error.message())]).await
        }
        Err(Rejected::Context(error)) => call.without_context(gate, error).await,
    };
    if !coerced.is_empty() {
        response.rare().coerced = coerced;
    }
    response
}

/// VALIDATION; the third time for the same text `LOOP_DETECTED`. R-L1
pub(super) async fn refused(call: &Governed<'_>, gate: &Gate<'_>, problems: &[Problem]) -> ToolResponse {
    let attempt = gate.admission(Fingerprint::opaque(call.tool.name(), call.text), Charge::Attempt);
    match gate.ask(&attempt).await {
        Ok(()) => call.answer().refuse(problems),
        Err(error) => call.answer().fail(error),
    }
}
