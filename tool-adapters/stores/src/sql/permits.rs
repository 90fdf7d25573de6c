//! Permits under limits that all sessions share, in an SQL database. A request locks the row of each
//! limit, in the order of the keys, before it decides.

use crate::kept_values::milliseconds;
use crate::sql::session_row::SessionDatabase;
use crate::sql::values::{stored_id, text, unsigned};
use crate::sql::{SqlTransaction, number};
use std::time::Duration;
use tool_core::session::{LimitUse, PermitRequest, PermitVerdict, SharedLimit, StoreError};

/// Locks a limit, and reads the time at which its rate is idle. SQLite has one writer at a time.
const LOCK: &str = "INSERT INTO tool_limits AS known (key, idle_at, kept_until) VALUES ($1, 0, 0) \
    ON CONFLICT (key) DO UPDATE SET kept_until = known.kept_until RETURNING idle_at";

const NOW: &str = "SELECT now FROM tool_session_clock";

const OTHER_PLACES: &str = "SELECT count(*) FROM tool_limit_places \
    WHERE key = $1 AND holder <> $2 AND ends_at > $3";

const WRITE: &str = "UPDATE tool_limits SET idle_at = $2, kept_until = $3 WHERE key = $1";

const DROP_ENDED: &str = "DELETE FROM tool_limit_places WHERE key = $1 AND ends_at <= $2";

const TAKE_PLACE: &str = "INSERT INTO tool_limit_places (key, holder, ends_at) VALUES ($1, $2, $3) \
    ON CONFLICT (key, holder) DO UPDATE SET ends_at = excluded.ends_at";

const FREE_PLACE: &str = "DELETE FROM tool_limit_places WHERE key = $1 AND holder = $2";

/// Milliseconds for which the row of a limit is kept after its last use.
const KEPT: u64 = 3_600_000;

/// Decides about a request, and counts the call if it is granted.
pub(crate) async fn acquire<D: SessionDatabase>(
    database: &D,
    request: &PermitRequest<'_>,
) -> Result<PermitVerdict, StoreError> {
    let mut transaction = database.begin().await?;
    let mut locked = request
        .limits
        .iter()
        .enumerate()
        .map(|(at, limit)| LockedLimit {
            at,
            limit,
            key: stored_id(&limit.key).into_owned(),
        })
        .collect::<Vec<_>>();
    // In one order, so that no two requests wait for each other.
    locked.sort_by(|one, other| one.key.cmp(&other.key));

    let mut used = vec![LimitUse::default(); locked.len()];
    for limit in &locked {
        let rows = transaction.run(LOCK, &[text(&limit.key)]).await?;
        let idle_at = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        if let Some(used) = used.get_mut(limit.at) {
            used.idle_at = idle_at;
        }
    }
    // Read behind the locks, for which the request may have waited.
    let rows = transaction.run(NOW, &[]).await?;
    let now = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
    let holder = holder_text(request);
    for limit in locked.iter().filter(|limit| limit.has_places()) {
        let params = [text(&limit.key), text(&holder), number(now)];
        let rows = transaction.run(OTHER_PLACES, &params).await?;
        let places = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        if let Some(used) = used.get_mut(limit.at) {
            used.places = places;
        }
    }

    let verdict = request.decide(&mut used, now.saturating_mul(1_000));
    if verdict != PermitVerdict::Granted {
        return Ok(verdict);
    }
    let ends_at = now.saturating_add(milliseconds(request.lease));
    for limit in &locked {
        let used = used.get(limit.at).copied().unwrap_or_default();
        let idle_at = Duration::from_micros(used.idle_at);
        let kept_until = ends_at.max(milliseconds(idle_at)).saturating_add(KEPT);
        let params = [text(&limit.key), number(used.idle_at), number(kept_until)];
        transaction.run(WRITE, &params).await?;
        if limit.has_places() {
            let ended = [text(&limit.key), number(now)];
            transaction.run(DROP_ENDED, &ended).await?;
            let place = [text(&limit.key), text(&holder), number(ends_at)];
            transaction.run(TAKE_PLACE, &place).await?;
        }
    }
    transaction.commit().await?;
    Ok(verdict)
}

/// Keeps the places of a call for another lease.
pub(crate) async fn extend<D: SessionDatabase>(
    database: &D,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    let holder = holder_text(request);
    let mut transaction = database.begin().await?;
    let rows = transaction.run(NOW, &[]).await?;
    let now = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
    let ends_at = now.saturating_add(milliseconds(request.lease));
    for key in keys_with_places(request) {
        let params = [text(&key), text(&holder), number(ends_at)];
        transaction.run(TAKE_PLACE, &params).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Frees the places of a call.
pub(crate) async fn release<D: SessionDatabase>(
    database: &D,
    request: &PermitRequest<'_>,
) -> Result<(), StoreError> {
    let holder = holder_text(request);
    let mut transaction = database.begin().await?;
    for key in keys_with_places(request) {
        let params = [text(&key), text(&holder)];
        transaction.run(FREE_PLACE, &params).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// A limit whose row the transaction has locked.
struct LockedLimit<'a> {
    /// Its index in the request.
    at: usize,
    limit: &'a SharedLimit,
    key: String,
}

impl LockedLimit<'_> {
    fn has_places(&self) -> bool {
        self.limit.concurrent.is_some()
    }
}

fn holder_text(request: &PermitRequest<'_>) -> String {
    format!("{:032x}", request.holder)
}

/// Returns the keys of the limits on calls at once, sorted.
fn keys_with_places(request: &PermitRequest<'_>) -> Vec<String> {
    let limits = request.limits.iter();
    let limits = limits.filter(|limit| limit.concurrent.is_some());
    let mut keys = limits
        .map(|limit| stored_id(&limit.key).into_owned())
        .collect::<Vec<_>>();
    keys.sort_unstable();
    keys
}
