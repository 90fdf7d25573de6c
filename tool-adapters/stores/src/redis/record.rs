//! One session in Redis. Each operation is a script, whose answers also update a local copy of the
//! session's state.

use crate::kept_values::{from_json, milliseconds, readable, to_json};
use crate::redis::asked;
use crate::redis::connection::Connection;
use crate::redis::keys::{KeySpace, slot_member};
use crate::redis::open_sessions::OpenSessions;
use crate::redis::script::ScriptCall;
use crate::redis::scripts::{
    Admit, CHARGE_PRINCIPAL, Caller, ChangeState, ChargePrincipal, EndSession, GrantCalls,
    KeepCall, Mint, NextTurn, OrEmpty, ReadAudit, ReadGrants, ReadPending, Refresh, RevokeGrant,
    ScriptArguments, SessionScript, Settle, SwitchMode,
};
use crate::redis::session_keys::SessionKeys;
use futures_util::future::join;
use parking_lot::Mutex;
use redis::{FromRedisValue, ParsingError, Value};
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{
    Admission, Allowance, AnsweredCallRecord, ApprovalLimit, ApprovalRequest, ApprovalVerdict,
    AuditEntry, BudgetLimit, CallGrant, CapAmount, CapScope, Charge, GrantRequest, GrantVerdict,
    OpenRequest, PendingCall, Refusal, SessionCall, SessionRecord, SessionState, Settlement,
    Spending, StateChange, StoreError, Turn, UsedCap, Verdict,
};
use tool_core::trace::Cost;
use tool_core::{Category, Mode};

// The fields of a session's state. Each value of the program has its own field, so that it can be
// changed alone.
const AUDIO: &str = "audio";
const TRANSCRIPT: &str = "transcript";
const MESSAGE: &str = "message";
/// The scripts read this field.
const ENDING: &str = "ending";
/// The prefix of the program's values, which are JSON texts.
const VALUE: &str = "value:";

/// One session of a [`RedisStore`](super::RedisStore).
pub struct RedisRecord {
    connection: Arc<Connection>,
    open_sessions: Arc<OpenSessions>,
    keys: SessionKeys,
    principal: PrincipalKeys,
    /// The incarnation as the server has it, and as a number.
    incarnation: (String, u128),
    /// The session's member among the open ones.
    member: String,
    /// The bytes that the session's calls may take.
    call_bytes: usize,
    copy: Mutex<RecordCopy>,
}

/// The keys of a session's principal, which may be on another server than the session.
struct PrincipalKeys {
    /// The beginning of the keys.
    base: String,
    /// The calls that wait for approval in all sessions of the principal.
    asked: String,
}

impl PrincipalKeys {
    fn new(keys: &KeySpace, principal: &str) -> Self {
        Self {
            base: keys.principal(principal),
            asked: keys.asked(principal),
        }
    }

    /// Returns the key of the amounts that the principal has spent.
    fn spent(&self) -> String {
        format!("{}:spent", self.base)
    }

    /// Returns the key that exists once an amount is charged to the principal.
    fn charged(&self, id: u128) -> String {
        format!("{}:{id:032x}:charged", self.base)
    }
}

/// The amounts that a principal has spent.
struct SpentAmounts {
    cost: u64,
    time: u64,
    /// The milliseconds until it counts from zero, or less than zero.
    window: i64,
}

impl RedisRecord {
    pub(crate) fn new(
        connection: Arc<Connection>,
        open_sessions: Arc<OpenSessions>,
        keys: &KeySpace,
        request: &OpenRequest,
        incarnation: &str,
    ) -> Result<Self, StoreError> {
        let number = u128::from_str_radix(incarnation, 16)
            .map_err(|_| StoreError::new("the server holds an invalid incarnation of a session"))?;
        let member = slot_member(incarnation, request.id.as_str());
        let incarnation = (incarnation.to_owned(), number);
        Ok(Self {
            connection,
            open_sessions,
            keys: SessionKeys::new(keys, request.id.as_str()),
            principal: PrincipalKeys::new(keys, &request.principal),
            incarnation,
            member,
            call_bytes: request.call_bytes,
            copy: Mutex::default(),
        })
    }

    /// Updates the copy. Without an update the session no longer exists.
    pub(crate) fn apply(&self, update: Option<SessionUpdate>) -> Result<(), StoreError> {
        let mut copy = self.copy.lock();
        let Some(update) = update else {
            copy.close();
            return Ok(());
        };
        copy.apply(update)
    }

    /// Begins a call of a script. What follows its named arguments may be added.
    fn call<S: SessionScript>(&self, script: &S) -> ScriptCall {
        let mut call = S::script().key(&self.keys.all[..]);
        let copy = self.copy.lock();
        let caller = Caller {
            incarnation: &self.incarnation.0,
            known_state: OrEmpty(copy.version),
        };
        caller.add_to(&mut call);
        script.add_to(&mut call);
        call
    }

    /// Runs a script, updates the copy, and returns the answer.
    async fn run(&self, call: &ScriptCall) -> Result<ScriptAnswer, StoreError> {
        let (words, update): (Vec<String>, Option<SessionUpdate>) =
            self.connection.script(call).await?;
        let turn = update.as_ref().map_or(0, |update| update.turn);
        self.apply(update)?;
        Ok(ScriptAnswer { words, turn })
    }

    /// Reads a call that waits for approval, and removes it if `take` is true.
    async fn read_pending(&self, id: &str, take: bool) -> Result<Option<PendingCall>, StoreError> {
        let answer = self.run(&self.call(&ReadPending { id, take })).await?;
        match answer.words.as_slice() {
            [word, call] if word == "waits" => from_json(call).map(Some),
            _ => Ok(None),
        }
    }
}

impl RedisRecord {
    /// Takes a call out of the principal's list of those that wait.
    async fn unlist(&self, id: &str) {
        asked::remove(&self.connection, &self.principal.asked, id, &self.member).await;
    }

    /// Reads what the principal has spent.
    async fn spent(&self) -> Result<SpentAmounts, StoreError> {
        let key = self.principal.spent();
        let mut amounts = redis::cmd("HMGET");
        amounts.arg(&key).arg("cost").arg("time");
        let mut window = redis::cmd("PTTL");
        window.arg(&key);
        let answers = self.connection.each(vec![amounts, window]).await?;
        let [amounts, window] = answers.as_slice() else {
            return Err(unexpected_answer());
        };
        let [cost, time] = redis::from_redis_value_ref::<[Option<u64>; 2]>(amounts)
            .map_err(|_| unexpected_answer())?;
        Ok(SpentAmounts {
            cost: cost.unwrap_or_default(),
            time: time.unwrap_or_default(),
            window: redis::from_redis_value_ref(window).map_err(|_| unexpected_answer())?,
        })
    }

    /// Charges the principal, if the call has cost something.
    async fn charge_principal(
        &self,
        settlement: &Settlement<'_>,
        window: Option<u64>,
        cost: u64,
    ) -> Result<(), StoreError> {
        let Some(window) = window else {
            return Ok(());
        };
        let mut call = CHARGE_PRINCIPAL.key(self.principal.spent());
        if let Some(id) = settlement.amount_id {
            call.key(self.principal.charged(id));
        }
        let arguments = ChargePrincipal {
            cost,
            time: time_number(settlement.spent.time),
            window,
        };
        arguments.add_to(&mut call);
        self.connection.script(&call).await
    }
}

impl SpentAmounts {
    fn none() -> Self {
        Self {
            cost: 0,
            time: 0,
            window: -1,
        }
    }
}

/// Returns a number in hexadecimal digits, or an empty text.
fn digits(number: Option<u128>) -> String {
    number.map_or_else(String::new, |number| format!("{number:032x}"))
}

/// Returns true if a call with this charge is compared with the caps.
fn charge_is_capped(charge: Charge) -> bool {
    !matches!(charge, Charge::Free | Charge::Attempt)
}

impl SessionRecord for RedisRecord {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        // Without a count, the arguments are not compared.
        let is_counted = !matches!(call.charge, Charge::Free | Charge::Approved);
        let attempt = if is_counted {
            call.arguments.digest()
        } else {
            String::new()
        };
        let limits = call.limits;
        let has_principal_cap = call.caps.is_some_and(|caps| {
            let scope = CapScope::Principal;
            caps.cost(scope).is_some() || caps.time(scope).is_some()
        });
        // Running calls may exceed a cap in any case: what they cost is known afterwards. So the
        // amounts may be read before the call is counted.
        let spent = if has_principal_cap && charge_is_capped(call.charge) {
            self.spent().await?
        } else {
            SpentAmounts::none()
        };
        let repeatable = digits(call.repeatable);
        let cost = |scope| OrEmpty(call.caps.and_then(|caps| caps.cost(scope)).map(cost_number));
        let time = |scope| OrEmpty(call.caps.and_then(|caps| caps.time(scope)).map(time_number));
        let script = self.call(&Admit {
            charge: charge_name(call.charge)?,
            tool: call.tool,
            category: call.category.as_str(),
            attempt: &attempt,
            max_repeated: OrEmpty(limits.repeated),
            max_empty: OrEmpty(limits.empty),
            max_of_tool: OrEmpty(call.max_calls),
            max_of_category: OrEmpty(limits.category(call.category)),
            max_calls: OrEmpty(limits.max_calls),
            repeatable: &repeatable,
            has_caps: call.caps.is_some(),
            turn_cost: cost(CapScope::Turn),
            session_cost: cost(CapScope::Session),
            principal_cost: cost(CapScope::Principal),
            turn_time: time(CapScope::Turn),
            session_time: time(CapScope::Session),
            principal_time: time(CapScope::Principal),
            spent_cost: spent.cost,
            spent_time: spent.time,
            spent_window: spent.window,
        });
        self.run(&script).await?.verdict(call.category)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        let Spending { cost, time } = settlement.spent;
        let caps = settlement
            .caps
            .filter(|_| settlement.spent != Spending::default());
        let window = caps.map(|caps| milliseconds(caps.principal_window()));
        let principal_cost = cost_number(cost).saturating_sub(cost_number(settlement.paid_inside));
        let repeatable = digits(settlement.repeatable);
        let mut script = self.call(&Settle {
            tool: settlement.tool,
            category: settlement.category.as_str(),
            turn: settlement.turn,
            refund: settlement.refund,
            repeatable: &repeatable,
            empty: settlement.empty,
            cost: cost_number(cost),
            time: time_number(time),
            spends: window.is_some(),
            changes: 2 * settlement.changes.len(),
        });
        if let Some(id) = settlement.amount_id.filter(|_| caps.is_some()) {
            script.key(self.keys.charged(id));
        }
        for change in settlement.changes {
            script.arg(&encode_change(change)?);
        }
        for entry in settlement.audit {
            script.arg(to_json(entry)?);
        }
        let settled = self
            .connection
            .script::<(Vec<String>, Option<SessionUpdate>)>(&script);
        // Both at once: each charges an amount with an id once, so that one which failed may be
        // sent again with the other. The principal pays for a call that outlasts its session too.
        let (charged, settled) = join(
            self.charge_principal(settlement, window, principal_cost),
            settled,
        )
        .await;
        let applied = self.apply(settled?.1);
        charged?;
        // An amount that the server has taken is settled, whatever the session's state looks like.
        if settlement.changes.is_empty() {
            Ok(())
        } else {
            applied
        }
    }

    async fn keep_call(&self, record: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        let call = record.call.map(to_json).transpose()?.unwrap_or_default();
        let mut script = self.call(&KeepCall {
            call: &call,
            max_bytes: self.call_bytes,
        });
        if let Some(entry) = record.audit {
            script.arg(to_json(entry)?);
        }
        self.run(&script).await.map(drop)
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        self.keys
            .calls(&self.connection, Some(&self.incarnation.0))
            .await
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        let ScriptAnswer { mut words, turn } = self.run(&self.call(&NextTurn {})).await?;
        let ended = words.first().is_none_or(|word| word != "turn");
        let ended_now = words.first().is_some_and(|word| word == "ended");
        if ended_now {
            self.open_sessions
                .free(&self.connection, &self.member)
                .await;
        }
        // The script of a session that is unknown to the server knows no number.
        let number = if ended { self.turn() } else { turn };
        Ok(Turn {
            number,
            pending_message: words.drain(..).nth(1),
            ended,
            ended_now,
        })
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        let call = request.call;
        let limits = request.limits;
        let asked = &self.principal.asked;
        let lifetime = request.lifetime;
        asked::list(&self.connection, asked, &call.id, &self.member, lifetime).await?;
        let script = self.call(&Mint {
            id: &call.id,
            call: &to_json(call)?,
            lifetime: milliseconds(lifetime),
            turn: call.turn,
            bytes: call.size(),
            max_of_session: limits.session,
            max_of_turn: limits.turn,
            max_bytes: limits.bytes,
        });
        // If the answer is lost, the call may wait, so that it stays listed.
        let answer = self.run(&script).await?;
        if answer.words.first().is_none_or(|word| word != "waits") {
            self.unlist(&call.id).await;
        }
        Ok(
            match answer.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["waits"] => ApprovalVerdict::Waits,
                ["inactive"] => ApprovalVerdict::Inactive,
                ["full", "turn"] => ApprovalVerdict::Full(ApprovalLimit::Turn),
                ["full", "session"] => ApprovalVerdict::Full(ApprovalLimit::Session),
                ["full", "bytes"] => ApprovalVerdict::Full(ApprovalLimit::Bytes),
                _ => return Err(unexpected_answer()),
            },
        )
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        self.read_pending(id, false).await
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        let call = self.read_pending(id, true).await?;
        if call.is_some() {
            self.unlist(id).await;
        }
        Ok(call.is_some())
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        let script = self.call(&GrantCalls {
            call: request.call,
            id: &request.grant.id,
            grant: &to_json(request.grant)?,
            lifetime: milliseconds(request.lifetime),
            most: request.most,
        });
        let answer = self.run(&script).await?;
        match answer.words.first().map(String::as_str) {
            Some("granted") => {
                self.unlist(request.call).await;
                Ok(GrantVerdict::Granted)
            }
            Some("full") => Ok(GrantVerdict::Full),
            Some("none" | "inactive") => Ok(GrantVerdict::NotFound),
            _ => Err(unexpected_answer()),
        }
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        let answer = self.run(&self.call(&ReadGrants {})).await?;
        let mut grants = Vec::new();
        for text in answer.words.iter().skip(1) {
            grants.extend(readable(text, "a grant"));
        }
        Ok(grants)
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        let answer = self.run(&self.call(&RevokeGrant { id: grant })).await?;
        Ok(answer.words.first().is_some_and(|word| word == "revoked"))
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        let mut script = self.call(&ChangeState {});
        for change in changes {
            script.arg(&encode_change(change)?);
        }
        self.run(&script).await.map(drop)
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        let mode = mode.as_str();
        self.run(&self.call(&SwitchMode { mode })).await.map(drop)
    }

    async fn end(&self) -> Result<bool, StoreError> {
        let answer = self.run(&self.call(&EndSession {})).await?;
        self.open_sessions
            .free(&self.connection, &self.member)
            .await;
        Ok(answer.words.first().is_some_and(|word| word == "ended"))
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        self.run(&self.call(&Refresh {})).await.map(drop)
    }

    async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        let answer = self.run(&self.call(&ReadAudit {})).await?;
        let entries = answer.words.iter();
        // A process of another version may have written what this one does not know.
        let entries = entries.filter_map(|text| readable(text, "an entry of the audit log"));
        Ok(entries.collect())
    }

    fn incarnation(&self) -> u128 {
        self.incarnation.1
    }

    fn mode(&self) -> Mode {
        self.copy.lock().mode
    }

    fn turn(&self) -> u64 {
        self.copy.lock().turn
    }

    fn state(&self) -> Arc<SessionState> {
        Arc::clone(&self.copy.lock().state)
    }
}

/// The answer of a script.
struct ScriptAnswer {
    words: Vec<String>,
    /// The turn in which the script ran.
    turn: u64,
}

impl ScriptAnswer {
    /// Returns the decision about a call of a tool of `category`.
    fn verdict(&self, category: Category) -> Result<Verdict, StoreError> {
        let words = self.words.iter().map(String::as_str).collect::<Vec<_>>();
        let figure = |text: &str| text.parse::<u32>().map_err(|_| unexpected_answer());
        let refused = |refusal| Ok(Verdict::Refused(refusal));
        let budget = |limit, used, of| {
            refused(Refusal::Budget {
                limit,
                used: figure(used)?,
                of: figure(of)?,
            })
        };
        match words.as_slice() {
            ["admitted"] => Ok(Verdict::Admitted { turn: self.turn }),
            ["capped", cost, time, principal_cost] => {
                let left = Allowance {
                    cost: amount(cost)?.map(Cost::pico),
                    time: amount(time)?.map(Duration::from_micros),
                    principal_cost: amount(principal_cost)?.map(Cost::pico),
                };
                Ok(Verdict::Capped {
                    turn: self.turn,
                    left: Box::new(left),
                })
            }
            ["inactive"] => Ok(Verdict::Inactive),
            ["repeated", count] => refused(Refusal::Repeated(figure(count)?)),
            ["empty", count] => refused(Refusal::Empty(figure(count)?)),
            ["tool", used, of] => budget(BudgetLimit::Tool, used, of),
            ["category", used, of] => budget(BudgetLimit::Category(category), used, of),
            ["total", used, of] => budget(BudgetLimit::Total, used, of),
            ["cap", scope, kind, used, of, window] => refused(Refusal::Cap(Box::new(used_cap(
                scope,
                kind,
                [used, of],
                window,
            )?))),
            _ => Err(unexpected_answer()),
        }
    }
}

fn unexpected_answer() -> StoreError {
    StoreError::new("the server sent an unexpected answer")
}

/// Returns a cost as the server has it: in picodollars, less than its greatest integer.
fn cost_number(cost: Cost) -> u64 {
    cost.picodollars().min(MAX_AMOUNT)
}

/// Returns a time as the server has it: in microseconds, less than its greatest integer.
fn time_number(time: Duration) -> u64 {
    u64::try_from(time.as_micros())
        .unwrap_or(MAX_AMOUNT)
        .min(MAX_AMOUNT)
}

/// The greatest amount that the scripts can add.
const MAX_AMOUNT: u64 = 9_000_000_000_000_000_000;

/// Reads an amount, or an empty text.
fn amount(text: &str) -> Result<Option<u64>, StoreError> {
    if text.is_empty() {
        Ok(None)
    } else {
        text.parse().map(Some).map_err(|_| unexpected_answer())
    }
}

/// Reads a cap that is used up. `window` has the milliseconds that are left of the principal's
/// window, or less than zero.
fn used_cap(
    scope: &str,
    kind: &str,
    amounts: [&str; 2],
    window: &str,
) -> Result<UsedCap, StoreError> {
    let scope = match scope {
        "turn" => CapScope::Turn,
        "session" => CapScope::Session,
        "principal" => CapScope::Principal,
        _ => return Err(unexpected_answer()),
    };
    let read = |text: &str| -> Result<CapAmount, StoreError> {
        let amount = amount(text)?.unwrap_or_default();
        Ok(match kind {
            "cost" => CapAmount::Cost(Cost::pico(amount)),
            _ => CapAmount::Time(Duration::from_micros(amount)),
        })
    };
    let [used, of] = amounts;
    let window = window.parse().ok().filter(|_| scope == CapScope::Principal);
    Ok(UsedCap {
        scope,
        used: read(used)?,
        of: read(of)?,
        resets_in: window.map(Duration::from_millis),
    })
}

/// The changes of a session that the local copy does not have yet. Scripts return it beside their
/// answer.
pub(crate) struct SessionUpdate {
    turn: u64,
    is_over: bool,
    /// The version of the state.
    version: u64,
    /// The fields of the state, if its version is newer than that of the copy.
    state: Option<Vec<(String, String)>>,
    mode: Mode,
}

impl FromRedisValue for SessionUpdate {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        type Parts = (u64, u8, u64, Option<Vec<(String, String)>>, String);
        let (turn, over, version, state, mode) = Parts::from_redis_value(value)?;
        Ok(Self {
            turn,
            is_over: over != 0,
            version,
            state,
            mode: decode_mode(&mode),
        })
    }
}

/// A copy of the parts of a session that are read without waiting. Answers may arrive in another
/// order than the server gave them, so that older updates change nothing.
#[derive(Default)]
struct RecordCopy {
    turn: u64,
    mode: Mode,
    state: Arc<SessionState>,
    version: Option<u64>,
}

impl RecordCopy {
    fn apply(&mut self, update: SessionUpdate) -> Result<(), StoreError> {
        self.turn = self.turn.max(update.turn);
        if let Some(fields) = update.state
            && self.version.is_none_or(|known| known < update.version)
        {
            self.state = Arc::new(decode_state(fields)?);
            (self.version, self.mode) = (Some(update.version), update.mode);
        }
        if update.is_over {
            self.close();
        }
        Ok(())
    }

    /// Marks the session as ended.
    fn close(&mut self) {
        if !self.state.ended {
            Arc::make_mut(&mut self.state).ended = true;
        }
    }
}

/// Returns a charge's name in the scripts.
fn charge_name(charge: Charge) -> Result<&'static str, StoreError> {
    Ok(match charge {
        Charge::Run => "run",
        Charge::Hold => "hold",
        Charge::Attempt => "attempt",
        Charge::Approved => "approved",
        Charge::Free => "free",
        // A call that is not counted would exceed its limits.
        _ => {
            return Err(StoreError::new(
                "this version of the Redis store does not know the charge",
            ));
        }
    })
}

/// Encodes a change as the scripts take it: the field, and `=` with its value, or an empty text to
/// remove the field.
fn encode_change(change: &StateChange) -> Result<[String; 2], StoreError> {
    let flag = |is_set: bool| {
        if is_set {
            "=1".to_owned()
        } else {
            String::new()
        }
    };
    Ok(match change {
        StateChange::AudioSuppressed(is_set) => [AUDIO.to_owned(), flag(*is_set)],
        StateChange::TranscriptSuppressed(is_set) => [TRANSCRIPT.to_owned(), flag(*is_set)],
        StateChange::Ending(is_set) => [ENDING.to_owned(), flag(*is_set)],
        StateChange::PendingMessage(message) => [
            MESSAGE.to_owned(),
            message
                .as_ref()
                .map_or_else(String::new, |message| format!("={message}")),
        ],
        StateChange::Value(name, value) => {
            let value = if value.is_null() {
                String::new()
            } else {
                format!("={value}")
            };
            [format!("{VALUE}{name}"), value]
        }
        _ => {
            return Err(StoreError::new(
                "this version of the Redis store does not know the change",
            ));
        }
    })
}

/// Decodes the name of a mode.
pub(crate) fn decode_mode(name: &str) -> Mode {
    if name == Mode::Voice.as_str() {
        Mode::Voice
    } else {
        Mode::Text
    }
}

/// Decodes the fields of a state. Fields of later versions are left out.
fn decode_state(fields: Vec<(String, String)>) -> Result<SessionState, StoreError> {
    let mut state = SessionState::default();
    for (field, text) in fields {
        match field.as_str() {
            AUDIO => state.audio_suppressed = true,
            TRANSCRIPT => state.transcript_suppressed = true,
            ENDING => state.ending = true,
            MESSAGE => state.pending_message = Some(text),
            field => {
                if let Some(name) = field.strip_prefix(VALUE) {
                    state.values.insert(name.to_owned(), from_json(&text)?);
                }
            }
        }
    }
    Ok(state)
}
