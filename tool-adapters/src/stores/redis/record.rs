//! One session in Redis: each operation is a script, and what a script tells is remembered.

use crate::stores::redis::wire::{Answer, Keys, Places, charge, json, milliseconds};
use crate::stores::redis::{ADMIT, CHANGE, END, MINT, NEXT_TURN, PENDING, REFRESH, SETTLE};
use crate::stores::redis::{Link, wire};
use redis::{FromRedisValue, ParsingError, Script, ScriptInvocation, Value};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool_core::serde_json;
use tool_core::session::{
    Admission, AuditEntry, Charge, PendingCall, SessionRecord, SessionState, Settlement, StateChange, StoreError,
    Verdict,
};

/// One session of a [`RedisStore`](super::RedisStore).
pub struct RedisRecord {
    link: Arc<Link>,
    places: Arc<Places>,
    keys: Keys,
    incarnation: String,
    member: String,
    mirror: Mutex<Mirror>,
}

impl RedisRecord {
    pub(crate) fn new(link: Arc<Link>, places: Arc<Places>, keys: Keys, id: &str, incarnation: &str) -> Self {
        let (incarnation, member) = (incarnation.to_owned(), wire::member(incarnation, id));
        Self { link, places, keys, incarnation, member, mirror: Mutex::default() }
    }

    pub(crate) fn incarnation(&self) -> &str {
        &self.incarnation
    }

    /// Takes in what a script tells; where it tells nothing, the session is no more.
    pub(crate) fn learn(&self, news: Option<News>) -> Result<(), StoreError> {
        let mut mirror = self.mirror();
        let Some(news) = news else {
            mirror.close();
            return Ok(());
        };
        mirror.learn(news)
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of a script with what all of them take.
    fn call<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let (version, entries) = self.mirror().known();
        let mut call = script.key(self.keys.all());
        call.arg(&self.incarnation).arg(version).arg(entries);
        call
    }

    /// Runs it, and gives its answer.
    async fn run(&self, call: &ScriptInvocation<'_>) -> Result<Answer, StoreError> {
        let (words, news): (Vec<String>, Option<News>) = self.link.script(call).await?;
        let answer = Answer::new(words, news.as_ref().map_or(0, News::turn));
        self.learn(news)?;
        Ok(answer)
    }

    /// Gives the place back where that was the end of the session.
    async fn leave(&self, answer: &Answer) {
        if answer.is("ended") {
            // Where this fails, the place is free after the idle time.
            _ = self.places.free(&self.link, &self.member).await;
        }
    }

    async fn waiting(&self, id: &str, take: bool) -> Result<Option<PendingCall>, StoreError> {
        let answer = self.run(self.call(&PENDING).arg(id).arg(u8::from(take))).await?;
        let waits = answer.second().filter(|_| answer.is("waits"));
        let read = waits.map(serde_json::from_str).transpose();
        read.map_err(|_| StoreError::new("a pending call does not read"))
    }
}

impl SessionRecord for RedisRecord {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        let mut script = self.call(&ADMIT);
        script.arg(charge(call.charge)?).arg(call.tool).arg(call.category.as_str());
        // Nobody compares what is not counted.
        let is_counted = !matches!(call.charge, Charge::Free | Charge::Approved);
        script.arg(if is_counted { call.arguments.digest() } else { String::new() });
        let limits = call.limits;
        for limit in [limits.repeated, limits.empty, call.max_calls, limits.category(call.category), limits.max_calls] {
            script.arg(limit.map_or_else(String::new, |limit| limit.to_string()));
        }
        self.run(&script).await?.verdict(call.category)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        let mut script = self.call(&SETTLE);
        script.arg(settlement.tool).arg(settlement.category.as_str()).arg(settlement.turn);
        script.arg(u8::from(settlement.refund)).arg(u8::from(settlement.empty)).arg(2 * settlement.changes.len());
        for change in settlement.changes {
            script.arg(&wire::change(change)?);
        }
        for entry in settlement.audit {
            script.arg(json(entry)?);
        }
        self.run(&script).await.map(drop)
    }

    async fn next_turn(&self) -> Result<Option<u64>, StoreError> {
        let answer = self.run(&self.call(&NEXT_TURN)).await?;
        self.leave(&answer).await;
        Ok(answer.is("turn").then(|| answer.turn()))
    }

    async fn mint(&self, pending: &PendingCall, lifetime: Duration) -> Result<(), StoreError> {
        let mut script = self.call(&MINT);
        script.arg(&pending.id).arg(json(pending)?).arg(milliseconds(lifetime));
        self.run(&script).await.map(drop)
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        self.waiting(id, false).await
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.waiting(id, true).await?.is_some())
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        let mut script = self.call(&CHANGE);
        for change in changes {
            script.arg(&wire::change(change)?);
        }
        self.run(&script).await.map(drop)
    }

    async fn end(&self) -> Result<(), StoreError> {
        let answer = self.run(&self.call(&END)).await?;
        self.leave(&answer).await;
        Ok(())
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        self.run(&self.call(&REFRESH)).await.map(drop)
    }

    fn turn(&self) -> u64 {
        self.mirror().turn
    }

    fn state(&self) -> Arc<SessionState> {
        Arc::clone(&self.mirror().state)
    }

    fn audit(&self) -> Vec<AuditEntry> {
        self.mirror().audit()
    }
}

// ---- What is known here of a session that lives in Redis.

/// What a script tells of a session beside its answer.
pub(crate) struct News {
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
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }
}

/// A copy of what sessions are asked for without waiting. Answers may come in another order than the server gave them:
/// what is older than what is known changes nothing.
#[derive(Default)]
pub(crate) struct Mirror {
    pub(crate) turn: u64,
    pub(crate) state: Arc<SessionState>,
    version: Option<u64>,
    entries: u64,
    audit: VecDeque<AuditEntry>,
}

/// The entries of the audit log that are kept.
const AUDIT: usize = 1000;

impl Mirror {
    /// What is known, as scripts are told it: the version of the state, and the number of entries.
    pub(crate) fn known(&self) -> (String, u64) {
        (self.version.map_or_else(String::new, |version| version.to_string()), self.entries)
    }

    pub(crate) fn learn(&mut self, news: News) -> Result<(), StoreError> {
        self.turn = self.turn.max(news.turn);
        if let Some(fields) = news.state
            && self.version.is_none_or(|known| known < news.version)
        {
            self.state = Arc::new(wire::state(fields)?);
            self.version = Some(news.version);
        }
        if news.is_over {
            self.close();
        }
        self.append(news.entries, news.unseen.unwrap_or_default())
    }

    /// The session is over.
    pub(crate) fn close(&mut self) {
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

    pub(crate) fn audit(&self) -> Vec<AuditEntry> {
        self.audit.iter().cloned().collect()
    }
}
