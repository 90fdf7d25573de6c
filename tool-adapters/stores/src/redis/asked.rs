//! The list of a principal's calls that wait for approval in all of its sessions.
//!
//! The scripts that keep, take and forget a call change the list with it. A session that expires
//! leaves its entries there, because no script runs then. So a reader looks at each session, and
//! removes the entries that have no call any more: an id that is gone never comes again. The list
//! itself expires with the last of its calls.

use crate::redis::connection::{Connection, SessionKeys, asked_key, readable, split_incarnation};
use crate::redis::scripts::{ASKED_CALLS, AskedCalls, OrEmpty, ScriptArguments};
use redis::Value;
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

/// Returns a page of the list.
pub(crate) async fn page(
    connection: &Connection,
    prefix: &str,
    principal: &str,
    after: Option<&ApprovalPlace>,
    limit: u32,
) -> Result<ApprovalPage, StoreError> {
    let key = asked_key(prefix, principal);
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
    let mut queries = redis::pipe();
    for (member, expires_at) in entries {
        let entry = ListedCall { member, expires_at };
        let parts = entry.parts();
        let keys = SessionKeys::new(prefix, parts.session, principal);
        queries
            .hmget(keys.session(), &["incarnation", "ended", "principal"])
            .hget(keys.pending(), parts.id);
        listed.push(entry);
    }
    let answers: Vec<Value> = connection.pipeline(&queries).await?;

    let mut calls = Vec::new();
    let mut removal = redis::pipe();
    let mut has_gone = false;
    for (entry, answers) in listed.iter().zip(answers.chunks(2)) {
        let incarnation = entry.parts().incarnation;
        if let Some(text) = waiting_call(principal, incarnation, answers) {
            let call: Option<PendingCall> = readable(&text, "a call that waits for approval");
            calls.extend(call);
        } else {
            removal.zrem(&key, &entry.member).ignore();
            has_gone = true;
        }
    }
    if has_gone {
        let () = connection.pipeline(&removal).await?;
    }
    let is_full = listed.len() as u64 >= u64::from(limit);
    let last = listed.last().filter(|_| is_full);
    Ok(ApprovalPage::new(calls, last.map(ListedCall::place)))
}

/// Returns the text of a call, unless it is gone or its session is over.
fn waiting_call(principal: &str, incarnation: &str, answers: &[Value]) -> Option<String> {
    let [session, call] = answers else {
        return None;
    };
    let fields = redis::from_redis_value_ref::<[Option<String>; 3]>(session).ok()?;
    let [found, ended, owner] = fields;
    let is_live = found.as_deref() == Some(incarnation)
        && ended.is_none()
        && owner.as_deref() == Some(principal);
    if !is_live {
        return None;
    }
    redis::from_redis_value_ref::<Option<String>>(call).ok()?
}
