//! What is known here of a session that lives in Redis.

use super::encode;
use redis::{FromRedisValue, ParsingError, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use tool_core::serde_json;
use tool_core::session::{AuditEntry, SessionState, StoreError};

/// What a script tells of a session beside its answer.
pub(super) struct News {
    turn: u64,
    is_over: bool,
    version: u64,
    /// The state, where it is newer than what was known.
    state: Option<Vec<(String, String)>>,
    /// How many entries the log has had.
    entries: u64,
    /// The last of them, where there are some that were not known.
    unseen: Option<Vec<String>>,
}

impl FromRedisValue for News {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        type Parts = (u64, u8, u64, Option<Vec<(String, String)>>, u64, Option<Vec<String>>);
        let (turn, over, version, state, entries, unseen) = Parts::from_redis_value(value)?;
        Ok(Self { turn, is_over: over != 0, version, state, entries, unseen })
    }
}

impl News {
    /// The turn in which the script ran; by now it may be over.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }
}

/// A copy of what sessions are asked for without waiting. Answers may come in another order than the server gave them:
/// what is older than what is known changes nothing.
#[derive(Default)]
pub(super) struct Mirror {
    pub(super) turn: u64,
    pub(super) state: Arc<SessionState>,
    version: Option<u64>,
    entries: u64,
    audit: VecDeque<AuditEntry>,
}

/// The entries of the audit log that are kept.
const AUDIT: usize = 1000;

impl Mirror {
    /// What is known, as scripts are told it: the version of the state, and the number of entries.
    pub(super) fn known(&self) -> (String, u64) {
        (self.version.map_or_else(String::new, |version| version.to_string()), self.entries)
    }

    pub(super) fn learn(&mut self, news: News) -> Result<(), StoreError> {
        self.turn = self.turn.max(news.turn);
        if let Some(fields) = news.state
            && self.version.is_none_or(|known| known < news.version)
        {
            self.state = Arc::new(encode::state(fields)?);
            self.version = Some(news.version);
        }
        if news.is_over {
            self.close();
        }
        self.append(news.entries, news.unseen.unwrap_or_default())
    }

    /// The session is over.
    pub(super) fn close(&mut self) {
        if !self.state.ended {
            Arc::make_mut(&mut self.state).ended = true;
        }
    }

    /// Takes in the entries that are new, of the last ones of `total`.
    fn append(&mut self, total: u64, last: Vec<String>) -> Result<(), StoreError> {
        let new = usize::try_from(total.saturating_sub(self.entries)).unwrap_or(usize::MAX);
        let known = last.len().saturating_sub(new);
        for text in last.into_iter().skip(known) {
            let entry = serde_json::from_str(&text).map_err(|_| StoreError::new("the audit log does not read"))?;
            if self.audit.len() == AUDIT {
                self.audit.pop_front();
            }
            self.audit.push_back(entry);
        }
        self.entries = self.entries.max(total);
        Ok(())
    }

    pub(super) fn audit(&self) -> Vec<AuditEntry> {
        self.audit.iter().cloned().collect()
    }
}
