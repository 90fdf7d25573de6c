//! The places that open sessions take, of which there are as many as the policy says.
//!
//! A place belongs to one session: its member is the session's incarnation and its id. Its score is when the session
//! expires if nobody uses it, which nobody keeps up to date while it is used: those whose time has come are looked at
//! again before anyone is refused.

use super::keys::{self, Keys};
use super::link::Link;
use super::scripts;
use std::time::Duration;
use tool_core::session::StoreError;

use super::encode::milliseconds;

pub(super) struct Places {
    prefix: String,
    key: String,
}

/// As many are looked at in one round trip.
const BATCH: usize = 500;

impl Places {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), key: keys::places(prefix) }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Takes a place. False where there is none, though sessions that are over have made room.
    pub(super) async fn take(&self, link: &Link, member: &str, idle: Duration, all: u64) -> Result<bool, StoreError> {
        Ok(self.reserve(link, member, idle, all).await?
            || (self.sweep(link).await? && self.reserve(link, member, idle, all).await?))
    }

    async fn reserve(&self, link: &Link, member: &str, idle: Duration, all: u64) -> Result<bool, StoreError> {
        link.script(scripts::RESERVE.key(&self.key).arg(member).arg(milliseconds(idle)).arg(all)).await
    }

    /// Gives a place back.
    pub(super) async fn free(&self, link: &Link, member: &str) -> Result<(), StoreError> {
        link.pipeline(redis::pipe().zrem(&self.key, member).ignore()).await
    }

    /// How many are taken.
    pub(super) async fn taken(&self, link: &Link) -> Result<u64, StoreError> {
        self.sweep(link).await?;
        let (taken,) = link.pipeline(redis::pipe().zcard(&self.key)).await?;
        Ok(taken)
    }

    /// Looks at those whose sessions may be over. True where there were any.
    async fn sweep(&self, link: &Link) -> Result<bool, StoreError> {
        let mut any = false;
        loop {
            let stale: Vec<String> = link.script(scripts::STALE.key(&self.key).arg(BATCH)).await?;
            if stale.is_empty() {
                return Ok(any);
            }
            any = true;
            self.revise(link, &stale).await?;
        }
    }

    async fn revise(&self, link: &Link, members: &[String]) -> Result<(), StoreError> {
        let mut questions = redis::pipe();
        for member in members {
            let (_, id) = split(member);
            let keys = Keys::new(&self.prefix, id);
            questions.pttl(keys.session()).hmget(keys.session(), &["incarnation", "ended"]);
        }
        let answers: Vec<redis::Value> = link.pipeline(&questions).await?;
        let mut revision = scripts::REVISE.key(&self.key);
        for (member, answers) in members.iter().zip(answers.chunks(2)) {
            revision.arg(member).arg(remaining(split(member).0, answers));
        }
        link.script(&revision).await
    }
}

/// The milliseconds for which a session still lives.
fn remaining(incarnation: &str, answers: &[redis::Value]) -> i64 {
    let [remaining, fields] = answers else { return 0 };
    let fields = redis::from_redis_value_ref::<(Option<String>, Option<String>)>(fields);
    let is_live = matches!(fields, Ok((Some(found), None)) if found == incarnation);
    if is_live { redis::from_redis_value_ref(remaining).unwrap_or(0) } else { 0 }
}

/// The member for a session.
pub(super) fn member(incarnation: &str, id: &str) -> String {
    format!("{incarnation}{id}")
}

/// An incarnation is 32 hexadecimal digits.
fn split(member: &str) -> (&str, &str) {
    member.split_at_checked(32).unwrap_or((member, ""))
}
