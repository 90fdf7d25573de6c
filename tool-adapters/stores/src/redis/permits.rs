//! Permits under limits that all sessions share. A script on the server decides. On one server it
//! decides about all limits of a call in one round trip; in a cluster each limit may be on another
//! server, and is asked after the one before it.

use crate::kept_values::milliseconds;
use crate::redis::connection::Connection;
use crate::redis::keys::KeySpace;
use crate::redis::scripts::{
    ACQUIRE_PERMIT, AcquirePermit, EXTEND_PERMIT, ExtendPermit, OrEmpty, RETURN_PERMIT,
    ReturnPermit, ScriptArguments,
};
use std::time::Duration;
use tool_core::session::{
    PermitLimit, PermitRefusal, PermitRequest, PermitVerdict, SharedLimit, StoreError,
};

/// The keys of a limit.
struct LimitKeys {
    rate: String,
    places: String,
}

impl LimitKeys {
    fn new(keys: &KeySpace, limit: &SharedLimit) -> Self {
        let base = keys.limit(&limit.key);
        Self {
            rate: format!("{base}:rate"),
            places: format!("{base}:places"),
        }
    }
}

/// A limit of a request, and its index there.
#[derive(Clone, Copy)]
struct IndexedLimit<'a> {
    limit: &'a SharedLimit,
    index: usize,
}

/// Limits that have counted a call.
struct CountedLimits<'a> {
    limits: Vec<IndexedLimit<'a>>,
    /// The indices of those of which the call has a place since then.
    places: Vec<usize>,
}

/// The answer of one question.
enum Answer {
    /// The indices are of limits of which the call has a place since now.
    Granted(Vec<usize>),
    Refused(PermitRefusal),
}

/// Decides about a request, and counts the call if it is granted.
pub(crate) async fn acquire(
    connection: &Connection,
    keys: &KeySpace,
    request: &PermitRequest<'_>,
) -> Result<PermitVerdict, StoreError> {
    let mut refusal: Option<PermitRefusal> = None;
    let mut counted = Vec::new();
    for question in questions(connection, request) {
        // After a refusal, the other limits say only how long the call has to wait for them.
        let counts = refusal.is_none();
        match ask(connection, keys, request, &question, counts).await {
            Ok(Answer::Granted(places)) if counts => counted.push(CountedLimits {
                limits: question,
                places,
            }),
            Ok(Answer::Granted(_)) => {}
            Ok(Answer::Refused(other)) => {
                let is_longer = |before: PermitRefusal| before.retry_after < other.retry_after;
                if refusal.is_none_or(is_longer) {
                    refusal = Some(other);
                }
            }
            Err(error) => {
                give_back(connection, keys, request, &counted).await;
                return Err(error);
            }
        }
    }
    let Some(refusal) = refusal else {
        return Ok(PermitVerdict::Granted);
    };
    give_back(connection, keys, request, &counted).await;
    Ok(PermitVerdict::Refused(refusal))
}

/// Returns the limits that are asked together. In a cluster every request asks in the order of the
/// keys, so that of two calls which need the same limits one gets them all.
fn questions<'a>(
    connection: &Connection,
    request: &PermitRequest<'a>,
) -> Vec<Vec<IndexedLimit<'a>>> {
    let limits = request.limits.iter().enumerate();
    let mut limits: Vec<_> = limits
        .map(|(index, limit)| IndexedLimit { limit, index })
        .collect();
    if !connection.is_cluster() {
        return vec![limits];
    }
    limits.sort_by(|one, other| one.limit.key.cmp(&other.limit.key));
    limits.into_iter().map(|limit| vec![limit]).collect()
}

async fn ask(
    connection: &Connection,
    keys: &KeySpace,
    request: &PermitRequest<'_>,
    limits: &[IndexedLimit<'_>],
    counts: bool,
) -> Result<Answer, StoreError> {
    let mut call = ACQUIRE_PERMIT.call();
    for limit in limits {
        let keys = LimitKeys::new(keys, limit.limit);
        call.key(keys.rate).key(keys.places);
    }
    let arguments = AcquirePermit {
        holder: holder_name(request),
        lease: milliseconds(request.lease),
        counts,
    };
    arguments.add_to(&mut call);
    for IndexedLimit { limit, .. } in limits {
        call.arg(OrEmpty(limit.rate.map(|rate| rate.interval())))
            .arg(OrEmpty(limit.rate.map(|rate| rate.calls)))
            .arg(OrEmpty(limit.concurrent));
    }
    let answer: Vec<String> = connection.script(&call).await?;
    decode(&answer, limits).ok_or_else(|| StoreError::new("the server sent an unexpected answer"))
}

fn decode(answer: &[String], limits: &[IndexedLimit<'_>]) -> Option<Answer> {
    let index = |text: &str| Some(limits.get(text.parse::<usize>().ok()?)?.index);
    let words = answer.iter().map(String::as_str).collect::<Vec<_>>();
    match words.as_slice() {
        ["granted", places @ ..] => {
            let places: Option<Vec<usize>> = places.iter().map(|place| index(place)).collect();
            Some(Answer::Granted(places?))
        }
        ["refused", limit, by, wait] => Some(Answer::Refused(PermitRefusal {
            limit: index(limit)?,
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

/// Gives back what was counted for a call that another limit refuses. What cannot be given back
/// stays counted: a place until its lease ends, and a call of a rate.
async fn give_back(
    connection: &Connection,
    keys: &KeySpace,
    request: &PermitRequest<'_>,
    counted: &[CountedLimits<'_>],
) {
    for CountedLimits { limits, places } in counted {
        for IndexedLimit { limit, index } in limits {
            let keys = LimitKeys::new(keys, limit);
            let mut call = RETURN_PERMIT.key(&[keys.rate, keys.places][..]);
            let arguments = ReturnPermit {
                holder: holder_name(request),
                interval: OrEmpty(limit.rate.map(|rate| rate.interval())),
                has_place: places.contains(index),
            };
            arguments.add_to(&mut call);
            if let Err(error) = connection.script::<u8>(&call).await {
                tracing::debug!(%error, "a refused call stays counted");
            }
        }
    }
}

/// Keeps the places of a call for another lease.
pub(crate) async fn extend(
    connection: &Connection,
    keys: &KeySpace,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    for question in questions(connection, request) {
        let mut call = EXTEND_PERMIT.call();
        let mut has_places = false;
        for IndexedLimit { limit, .. } in question {
            if limit.concurrent.is_some() {
                call.key(LimitKeys::new(keys, limit).places);
                has_places = true;
            }
        }
        if !has_places {
            continue;
        }
        let arguments = ExtendPermit {
            holder: holder_name(request),
            lease: milliseconds(request.lease),
        };
        arguments.add_to(&mut call);
        let () = connection.script(&call).await?;
    }
    Ok(())
}

/// Frees the places of a call.
pub(crate) async fn release(
    connection: &Connection,
    keys: &KeySpace,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    let name = holder_name(request);
    let mut removals = Vec::new();
    for limit in request.limits {
        if limit.concurrent.is_some() {
            let mut removal = redis::cmd("ZREM");
            removal.arg(LimitKeys::new(keys, limit).places).arg(&name);
            removals.push(removal);
        }
    }
    connection.each(removals).await.map(drop)
}

fn holder_name(request: &PermitRequest<'_>) -> String {
    format!("{:032x}", request.holder)
}
