//! One session in Redis: each operation is a script, and what a script tells is remembered.

use super::answer::{Answer, charge};
use super::encode::{self, json, milliseconds};
use super::keys::Keys;
use super::link::Link;
use super::mirror::{Mirror, News};
use super::places::{self, Places};
use super::scripts;
use redis::{Script, ScriptInvocation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool_core::serde_json;
use tool_core::session::{
    Admission, AuditEntry, Charge, Operation, PendingCall, SessionRecord, SessionState, Settlement, StateChange,
    StoreError, Verdict,
};

pub(super) struct RedisRecord {
    link: Arc<Link>,
    places: Arc<Places>,
    keys: Keys,
    incarnation: String,
    member: String,
    mirror: Mutex<Mirror>,
}

impl RedisRecord {
    pub(super) fn new(link: Arc<Link>, places: Arc<Places>, keys: Keys, id: &str, incarnation: &str) -> Self {
        let (incarnation, member) = (incarnation.to_owned(), places::member(incarnation, id));
        Self { link, places, keys, incarnation, member, mirror: Mutex::default() }
    }

    pub(super) fn incarnation(&self) -> &str {
        &self.incarnation
    }

    /// Takes in what a script tells; where it tells nothing, the session is no more.
    pub(super) fn learn(&self, news: Option<News>) -> Result<(), StoreError> {
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

    async fn admission(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        let mut script = self.call(&scripts::ADMIT);
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

    async fn settlement(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        let mut script = self.call(&scripts::SETTLE);
        script.arg(settlement.tool).arg(settlement.category.as_str()).arg(settlement.turn);
        script.arg(u8::from(settlement.refund)).arg(u8::from(settlement.empty)).arg(2 * settlement.changes.len());
        for change in settlement.changes {
            script.arg(&encode::change(change)?);
        }
        for entry in settlement.audit {
            script.arg(json(entry)?);
        }
        self.run(&script).await.map(drop)
    }

    async fn turn_ends(&self) -> Result<Option<u64>, StoreError> {
        let answer = self.run(&self.call(&scripts::NEXT_TURN)).await?;
        self.leave(&answer).await;
        Ok(answer.is("turn").then(|| answer.turn()))
    }

    /// Gives the place back where that was the end of the session.
    async fn leave(&self, answer: &Answer) {
        if answer.is("ended") {
            // Where this fails, the place is free after the idle time.
            _ = self.places.free(&self.link, &self.member).await;
        }
    }

    async fn waiting(&self, id: &str, take: bool) -> Result<Option<PendingCall>, StoreError> {
        let answer = self.run(self.call(&scripts::PENDING).arg(id).arg(u8::from(take))).await?;
        let waits = answer.second().filter(|_| answer.is("waits"));
        let read = waits.map(serde_json::from_str).transpose();
        read.map_err(|_| StoreError::new("a pending call does not read"))
    }
}

impl SessionRecord for RedisRecord {
    fn admit<'a>(&'a self, call: &'a Admission<'a>) -> Operation<'a, Result<Verdict, StoreError>> {
        Operation::later(self.admission(call))
    }

    fn settle<'a>(&'a self, settlement: &'a Settlement<'a>) -> Operation<'a, Result<(), StoreError>> {
        Operation::later(self.settlement(settlement))
    }

    fn next_turn(&self) -> Operation<'_, Result<Option<u64>, StoreError>> {
        Operation::later(self.turn_ends())
    }

    fn mint<'a>(&'a self, pending: &'a PendingCall, lifetime: Duration) -> Operation<'a, Result<(), StoreError>> {
        Operation::later(async move {
            let mut script = self.call(&scripts::MINT);
            script.arg(&pending.id).arg(json(pending)?).arg(milliseconds(lifetime));
            self.run(&script).await.map(drop)
        })
    }

    fn pending<'a>(&'a self, id: &'a str) -> Operation<'a, Result<Option<PendingCall>, StoreError>> {
        Operation::later(self.waiting(id, false))
    }

    fn consume<'a>(&'a self, id: &'a str) -> Operation<'a, Result<bool, StoreError>> {
        Operation::later(async move { Ok(self.waiting(id, true).await?.is_some()) })
    }

    fn change<'a>(&'a self, changes: &'a [StateChange]) -> Operation<'a, Result<(), StoreError>> {
        Operation::later(async move {
            let mut script = self.call(&scripts::CHANGE);
            for change in changes {
                script.arg(&encode::change(change)?);
            }
            self.run(&script).await.map(drop)
        })
    }

    fn end(&self) -> Operation<'_, Result<(), StoreError>> {
        Operation::later(async move {
            let answer = self.run(&self.call(&scripts::END)).await?;
            self.leave(&answer).await;
            Ok(())
        })
    }

    fn refresh(&self) -> Operation<'_, Result<(), StoreError>> {
        Operation::later(async move { self.run(&self.call(&scripts::REFRESH)).await.map(drop) })
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
