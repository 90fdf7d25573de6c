//! The places of open sessions, of which there are as many as the policy allows.
//!
//! A place belongs to one session: its member is the session's incarnation and id. Its score is the
//! time at which someone looks at the session again before another one is refused. A session takes
//! its place before it opens, with a score that is soon: if the process dies in between, the place
//! is free again. The score is not updated at each use of the session, but when its time has come.
//! A session that ends frees its place afterwards; if that fails, the place is free at its score.

use crate::redis::connection::Connection;
use crate::redis::keys::{KeySpace, split_incarnation};
use crate::redis::scripts::{
    REVISE_SLOTS, STALE_SLOTS, ScriptArguments, StaleSlots, TAKE_SLOT, TakeSlot,
};
use crate::redis::session_keys::SessionKeys;
use redis::Value;
use std::time::{Duration, Instant};
use tool_core::session::StoreError;

/// Number of places that are looked at in one round trip.
const SWEEP_BATCH: usize = 500;
/// Time for which a place is taken for a session that is about to open.
const RESERVED: Duration = Duration::from_secs(10);
/// Time in which the session has to open then. The rest is for the command on its way.
const OPENS_IN: Duration = Duration::from_secs(5);

/// A place that was taken for a session.
pub(crate) struct Reservation {
    since: Instant,
}

impl Reservation {
    /// Returns true if the session may still open.
    pub(crate) fn is_valid(&self) -> bool {
        self.since.elapsed() < OPENS_IN
    }
}

/// The places of the open sessions of a store.
pub(crate) struct OpenSessions {
    keys: KeySpace,
    key: String,
}

impl OpenSessions {
    pub(crate) fn new(keys: KeySpace) -> Self {
        Self {
            key: keys.open_sessions(),
            keys,
        }
    }

    /// Takes a place for a session that is about to open. Returns `None` if there is none.
    pub(crate) async fn reserve(
        &self,
        connection: &Connection,
        member: &str,
        idle: u64,
        max_sessions: u64,
    ) -> Result<Option<Reservation>, StoreError> {
        let since = Instant::now();
        let mut call = TAKE_SLOT.key(&self.key);
        let arguments = TakeSlot {
            member,
            reserved: u64::try_from(RESERVED.as_millis()).unwrap_or(u64::MAX),
            idle,
            max_sessions,
        };
        arguments.add_to(&mut call);
        let is_taken: u8 = connection.script(&call).await?;
        Ok((is_taken != 0).then_some(Reservation { since }))
    }

    /// Frees the place of a session that is over or has not opened. If that fails, it is free
    /// later.
    pub(crate) async fn free(&self, connection: &Connection, member: &str) {
        let mut removal = redis::cmd("ZREM");
        removal.arg(&self.key).arg(member);
        if let Err(error) = connection.command::<()>(removal).await {
            tracing::debug!(%error, "the place of a session is free later");
        }
    }

    /// Returns the number of places that are taken.
    pub(crate) async fn count(&self, connection: &Connection) -> Result<u64, StoreError> {
        self.sweep(connection).await?;
        let mut count = redis::cmd("ZCARD");
        count.arg(&self.key);
        connection.command(count).await
    }

    /// Frees the places of sessions that are over, and updates those of others whose time has come.
    /// Returns true if there were any.
    pub(crate) async fn sweep(&self, connection: &Connection) -> Result<bool, StoreError> {
        let mut is_changed = false;
        loop {
            let mut query = STALE_SLOTS.key(&self.key);
            StaleSlots { limit: SWEEP_BATCH }.add_to(&mut query);
            let stale: Vec<String> = connection.script(&query).await?;
            if stale.is_empty() {
                return Ok(is_changed);
            }
            is_changed = true;
            let mut queries = Vec::with_capacity(2 * stale.len());
            for member in &stale {
                let session = SessionKeys::new(&self.keys, split_incarnation(member).1);
                let mut time = redis::cmd("PTTL");
                time.arg(session.record());
                let mut fields = redis::cmd("HMGET");
                fields.arg(session.record()).arg("incarnation").arg("ended");
                queries.extend([time, fields]);
            }
            let answers = connection.each(queries).await?;
            let mut revision = REVISE_SLOTS.key(&self.key);
            for (member, answers) in stale.iter().zip(answers.chunks(2)) {
                revision
                    .arg(member)
                    .arg(remaining(split_incarnation(member).0, answers));
            }
            let () = connection.script(&revision).await?;
        }
    }
}

/// Returns the milliseconds until a session expires, or 0 if it is over.
fn remaining(incarnation: &str, answers: &[Value]) -> i64 {
    let [remaining, fields] = answers else {
        return 0;
    };
    let fields = redis::from_redis_value_ref::<(Option<String>, Option<String>)>(fields);
    let is_live = matches!(fields, Ok((Some(found), None)) if found == incarnation);
    if is_live {
        redis::from_redis_value_ref(remaining).unwrap_or(0)
    } else {
        0
    }
}
