//! The floor, written by hand: match the name, `serde_json::from_str` into owned fields under the plain derive, the
//! default, the range, the call, `serde_json::to_string`. No box for a future, no panic guard, no duplicate keys
//! refused, no unknown fields refused, no size cap, no response.

// Async floors have bodies that never wait, as the tools' have.
#![allow(clippy::unused_async)]

use super::methods::{Event, Record, create, create_at, total};
use super::now;
use serde::Deserialize;
use tool_core::{Timestamp, ToolError};

#[derive(Deserialize)]
struct CreateEvent<T> {
    title: String,
    start_time: T,
    #[serde(default = "thirty")]
    duration_minutes: u32,
    attendees: Option<Vec<String>>,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Batch {
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Nothing {}

fn thirty() -> u32 {
    30
}

impl<'de, T: Deserialize<'de>> CreateEvent<T> {
    #[inline]
    fn read(text: &'de str) -> Option<Self> {
        let args: Self = serde_json::from_str(text).ok()?;
        (5..=480).contains(&args.duration_minutes).then_some(args)
    }
}

#[inline]
fn told(event: Result<Event, ToolError>) -> Option<String> {
    serde_json::to_string(&event.ok()?).ok()
}

/// The names that the floor knows: as many as the toolset has, so that its match is no simpler.
#[inline]
fn known(name: &str) -> Option<u8> {
    Some(match name {
        "create_event" | "create_event_owned" | "create_event_context" => 0,
        "create_event_async" | "create_event_owned_async" | "create_event_context_async" => 1,
        "create_event_timestamp" => 2,
        "noop" => 3,
        "noop_async" => 4,
        "batch" => 5,
        _ => return None,
    })
}

#[inline(never)]
pub(crate) fn create_event(name: &str, text: &str) -> Option<String> {
    let 0 = known(name)? else { return None };
    let args = CreateEvent::<String>::read(text)?;
    told(create(args.title, args.start_time, args.duration_minutes, args.attendees, args.description.as_deref()))
}

#[inline(never)]
pub(crate) fn create_event_async(name: &str, text: &str) -> Option<String> {
    async fn method(args: CreateEvent<String>) -> Result<Event, ToolError> {
        create(args.title, args.start_time, args.duration_minutes, args.attendees, args.description.as_deref())
    }
    let call = async {
        let 1 = known(name)? else { return None };
        told(method(CreateEvent::read(text)?).await)
    };
    now(call)
}

#[inline(never)]
pub(crate) fn create_event_timestamp(name: &str, text: &str) -> Option<String> {
    let 2 = known(name)? else { return None };
    let args = CreateEvent::<Timestamp>::read(text)?;
    told(create_at(args.title, args.start_time, args.duration_minutes, args.attendees, args.description.as_deref()))
}

#[inline(never)]
pub(crate) fn noop(name: &str, text: &str) -> Option<String> {
    let 3 = known(name)? else { return None };
    let Nothing {} = serde_json::from_str(text).ok()?;
    serde_json::to_string(&()).ok()
}

#[inline(never)]
pub(crate) fn noop_async(name: &str, text: &str) -> Option<String> {
    async fn method() {}
    let call = async {
        let 4 = known(name)? else { return None };
        let Nothing {} = serde_json::from_str(text).ok()?;
        method().await;
        serde_json::to_string(&()).ok()
    };
    now(call)
}

#[inline(never)]
pub(crate) fn batch(name: &str, text: &str) -> Option<String> {
    let 5 = known(name)? else { return None };
    let args: Batch = serde_json::from_str(text).ok()?;
    serde_json::to_string(&total(args.records)).ok()
}
