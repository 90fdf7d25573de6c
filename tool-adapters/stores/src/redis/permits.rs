//! Permits under limits that all sessions share. A script on the server decides, in one round trip.

use crate::redis::connection::{Connection, hash_tag, milliseconds, part};
use crate::redis::scripts::{
    ACQUIRE_PERMIT, EXTEND_PERMIT, OrEmpty, PermitHolder, ScriptArguments,
};
use std::time::Duration;
use tool_core::session::{
    PermitLimit, PermitRefusal, PermitRequest, PermitVerdict, SharedLimit, StoreError,
};

/// The keys of a limit. They have other last parts than those of sessions and conversations.
struct LimitKeys {
    rate: String,
    places: String,
}

impl LimitKeys {
    fn new(prefix: &str, limit: &SharedLimit) -> Self {
        let named = format!("{}:{}", hash_tag(prefix), part(&limit.key));
        Self {
            rate: format!("{named}:rate"),
            places: format!("{named}:places"),
        }
    }
}

/// Decides about a request, and counts the call if it is granted.
pub(crate) async fn acquire(
    connection: &Connection,
    prefix: &str,
    request: &PermitRequest<'_>,
) -> Result<PermitVerdict, StoreError> {
    let mut call = ACQUIRE_PERMIT.prepare_invoke();
    for limit in request.limits {
        let keys = LimitKeys::new(prefix, limit);
        call.key(keys.rate).key(keys.places);
    }
    holder(request).add_to(&mut call);
    for limit in request.limits {
        call.arg(OrEmpty(limit.rate.map(|rate| rate.interval())))
            .arg(OrEmpty(limit.rate.map(|rate| rate.calls)))
            .arg(OrEmpty(limit.concurrent));
    }
    let answer: Vec<String> = connection.script(&call).await?;
    decode(&answer).ok_or_else(|| StoreError::new("the server sent an unexpected answer"))
}

fn decode(answer: &[String]) -> Option<PermitVerdict> {
    let words = answer.iter().map(String::as_str).collect::<Vec<_>>();
    match words.as_slice() {
        ["granted"] => Some(PermitVerdict::Granted),
        ["refused", limit, by, wait] => Some(PermitVerdict::Refused(PermitRefusal {
            limit: limit.parse().ok()?,
            by: match *by {
                "rate" => PermitLimit::Rate,
                "concurrent" => PermitLimit::Concurrent,
                _ => return None,
            },
            retry_after: Duration::from_micros(wait.parse().ok()?),
        })),
        _ => None,
    }
}

/// Keeps the places of a call for another lease.
pub(crate) async fn extend(
    connection: &Connection,
    prefix: &str,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    let mut call = EXTEND_PERMIT.prepare_invoke();
    for limit in with_places(request) {
        call.key(LimitKeys::new(prefix, limit).places);
    }
    holder(request).add_to(&mut call);
    connection.script(&call).await
}

/// Frees the places of a call.
pub(crate) async fn release(
    connection: &Connection,
    prefix: &str,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    let name = holder_name(request);
    let mut removal = redis::pipe();
    for limit in with_places(request) {
        let places = LimitKeys::new(prefix, limit).places;
        removal.zrem(places, &name).ignore();
    }
    connection.pipeline(&removal).await
}

fn with_places<'a>(request: &PermitRequest<'a>) -> impl Iterator<Item = &'a SharedLimit> {
    let limits = request.limits.iter();
    limits.filter(|limit| limit.concurrent.is_some())
}

fn holder_name(request: &PermitRequest<'_>) -> String {
    format!("{:032x}", request.holder)
}

fn holder(request: &PermitRequest<'_>) -> PermitHolder {
    PermitHolder {
        holder: holder_name(request),
        lease: milliseconds(request.lease),
    }
}
