//! The results of `idempotent` tools, kept for equal calls of the same session where the policy says so.

use super::Governed;
use crate::compare::Fingerprint;
use crate::response::ToolResponse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// The results that one session keeps.
#[derive(Default)]
pub(crate) struct Reuse(Mutex<VecDeque<(u128, Instant, ToolResponse)>>);

const KEPT: usize = 32;

/// The result of an equal call, where it is young enough. It is this call's answer, and says whose it was.
pub(super) fn recall(call: &Governed<'_>, text: &str) -> Option<ToolResponse> {
    let (key, lifetime) = (key(call, text)?, call.policy().reuse_results?);
    let mut kept = call.core.reuse.0.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|(_, since, _)| since.elapsed() < lifetime);
    let (_, _, response) = kept.iter().find(|(of, ..)| *of == key)?;
    let mut response = response.clone();
    response.drop_intents();
    let whose = response.slim.call_id.replace(Arc::clone(call.call_id)).unwrap_or_default();
    response.slim.duration = call.began.elapsed();
    response.rare().warnings.push(format!("the result of call `{whose}`, which asked for the same"));
    Some(response)
}

/// Keeps a success.
pub(super) fn keep(call: &Governed<'_>, text: &str, response: &ToolResponse) {
    let Some(key) = key(call, text).filter(|_| response.is_ok()) else { return };
    let mut kept = call.core.reuse.0.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back((key, Instant::now(), response.clone()));
}

/// Whether results of this tool are kept.
#[inline]
pub(super) fn applies(call: &Governed<'_>) -> bool {
    call.policy().reuse_results.is_some() && call.definition().flags.idempotent
}

fn key(call: &Governed<'_>, text: &str) -> Option<u128> {
    applies(call).then(|| Fingerprint::of(call.definition(), call.tool.name(), text).fast())
}
