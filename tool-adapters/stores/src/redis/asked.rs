//! The list of a principal's calls that wait for approval in all of its sessions.
//!
//! The list is an index, which may be on another server than the sessions. A call is listed before
//! its session keeps it, and taken out after its session has given it away, so that a process which
//! dies in between leaves an entry without a call, and never a call without an entry. A reader
//! looks at each session, and does not show such an entry. If the session is over, the reader
//! removes it: no call comes to a session that is over. If it is open, the call may be about to
//! come; such an entry goes with its lifetime. The list itself expires with the last of its calls.

use crate::kept_values::{milliseconds, readable};
use crate::redis::connection::Connection;
use crate::redis::keys::{KeySpace, split_incarnation};
use crate::redis::scripts::{
    ASKED_CALLS, AskedCalls, LIST_ASKED, ListAsked, OrEmpty, ScriptArguments,
};
use crate::redis::session_keys::SessionKeys;
use redis::Value;
use std::time::Duration;
use tool_core::session::{ApprovalPage, ApprovalPlace, PendingCall, StoreError};

/// An entry of the list.
struct ListedCall {
    member: String,
    expires_at: u64,
}

impl ListedCall {
    fn place(&self) -> ApprovalPlace {
        ApprovalPlace::new(self.expires_at, self.parts().id)
    }

    fn parts(&self) -> MemberParts<'_> {
        let (id, session_member) = split_incarnation(&self.member);
        let (incarnation, session) = split_incarnation(session_member);
        MemberParts {
            id,
            incarnation,
            session,
        }
    }
}

/// The parts of a member: the ids of a call and of its session, which have 32 hexadecimal digits,
/// and the name of the session.
struct MemberParts<'a> {
    id: &'a str,
    incarnation: &'a str,
    session: &'a str,
}

/// Lists a call that is about to wait. `session` is the session's member among the open ones.
pub(crate) async fn list(
    connection: &Connection,
    key: &str,
    id: &str,
    session: &str,
    lifetime: Duration,
) -> Result<(), StoreError> {
    let mut call = LIST_ASKED.key(key);
    let arguments = ListAsked {
        member: &member(id, session),
        lifetime: milliseconds(lifetime),
    };
    arguments.add_to(&mut call);
    connection.script(&call).await
}

/// Takes a call out of the list that does not wait any more. If that fails, readers pass over it.
pub(crate) async fn remove(connection: &Connection, key: &str, id: &str, session: &str) {
    let mut removal = redis::cmd("ZREM");
    removal.arg(key).arg(member(id, session));
    if let Err(error) = connection.command::<()>(removal).await {
        tracing::debug!(%error, "a call that does not wait any more stays listed for now");
    }
}

/// Returns the member of a call: its id, and the member of its session.
fn member(id: &str, session: &str) -> String {
    format!("{id}{session}")
}

/// Returns a page of the list.
pub(crate) async fn page(
    connection: &Connection,
    keys: &KeySpace,
    principal: &str,
    after: Option<&ApprovalPlace>,
    limit: u32,
) -> Result<ApprovalPage, StoreError> {
    let key = keys.asked(principal);
    let mut query = ASKED_CALLS.key(&key);
    let arguments = AskedCalls {
        most: limit,
        after_time: OrEmpty(after.map(|place| place.expires_at)),
        after_id: after.map_or("", |place| &place.id),
    };
    arguments.add_to(&mut query);
    let entries: Vec<(String, u64)> = connection.script(&query).await?;
    if entries.is_empty() {
        return Ok(ApprovalPage::default());
    }

    let mut listed = Vec::with_capacity(entries.len());
    let mut queries = Vec::with_capacity(2 * entries.len());
    for (member, expires_at) in entries {
        let entry = ListedCall { member, expires_at };
        let parts = entry.parts();
        let session = SessionKeys::new(keys, parts.session);
        let mut fields = redis::cmd("HMGET");
        fields
            .arg(session.record())
            .arg(&["incarnation", "ended", "principal"]);
        let mut call = redis::cmd("HGET");
        call.arg(session.pending()).arg(parts.id);
        queries.extend([fields, call]);
        listed.push(entry);
    }
    let answers = connection.each(queries).await?;

    let mut calls = Vec::new();
    let mut removal = redis::cmd("ZREM");
    removal.arg(&key);
    let mut has_gone = false;
    for (entry, answers) in listed.iter().zip(answers.chunks(2)) {
        match entry_state(principal, entry.parts().incarnation, answers) {
            EntryState::Waits(text) => {
                let call: Option<PendingCall> = readable(&text, "a call that waits for approval");
                calls.extend(call);
            }
            EntryState::WithoutCall => {}
            EntryState::SessionIsOver => {
                removal.arg(&entry.member);
                has_gone = true;
            }
        }
    }
    if has_gone {
        let () = connection.command(removal).await?;
    }
    let is_full = listed.len() as u64 >= u64::from(limit);
    let last = listed.last().filter(|_| is_full);
    Ok(ApprovalPage::new(calls, last.map(ListedCall::place)))
}

/// The state of a call that is listed.
enum EntryState {
    /// The text of the call.
    Waits(String),
    /// The session is open, and has no such call: not yet, or not any more.
    WithoutCall,
    SessionIsOver,
}

fn entry_state(principal: &str, incarnation: &str, answers: &[Value]) -> EntryState {
    let [session, call] = answers else {
        return EntryState::WithoutCall;
    };
    let Ok([found, ended, owner]) = redis::from_redis_value_ref::<[Option<String>; 3]>(session)
    else {
        return EntryState::WithoutCall;
    };
    let is_live = found.as_deref() == Some(incarnation)
        && ended.is_none()
        && owner.as_deref() == Some(principal);
    if !is_live {
        return EntryState::SessionIsOver;
    }
    match redis::from_redis_value_ref::<Option<String>>(call) {
        Ok(Some(text)) => EntryState::Waits(text),
        _ => EntryState::WithoutCall,
    }
}
