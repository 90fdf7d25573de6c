//! What the tools do. Each contestant declares them in its framework's way, with the same names, parameters and limits:
//!
//! - `add(a: i64, b: i64) -> i64`
//! - `create_event(title, start_time, duration_minutes: u32, attendees: Vec<String>, description: Option<String>)`
//! - `locate(place)`, where `place` is an untagged enum: a `u32`, a text, or `{lat, lon}`
//! - `ship(parcel)`, where `parcel` is `{weight: u32, to: {street, town}}`
//! - `rate(stars: u32)`, of 1 to 100
//! - `book(guest: String, nights: u32, rooms: u32, email: String)`
//! - `hang()`, `break_down()` and `read_log()`

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The runs of all tools.
pub static RUNS: AtomicUsize = AtomicUsize::new(0);
/// The bytes that `read_log` returns.
pub const LOG_BYTES: usize = 10_000_000;
/// How long `hang` takes.
pub const HANG: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts a run of a tool.
pub fn runs() {
    RUNS.fetch_add(1, Relaxed);
}

pub fn add(a: i64, b: i64) -> i64 {
    runs();
    a + b
}

/// Returns the end of an event.
pub fn create_event(
    start: &str,
    minutes: u32,
    attendees: usize,
    description: Option<&str>,
) -> String {
    runs();
    black_box((attendees, description.map(str::len)));
    let hour = start[11..13].parse::<u32>().unwrap_or_default();
    let minute = start[14..16].parse::<u32>().unwrap_or_default() + minutes;
    format!(
        "{}{:02}:{:02}:00Z",
        &start[..11],
        hour + minute / 60,
        minute % 60
    )
}

pub async fn hang() {
    runs();
    tokio::time::sleep(HANG).await;
}

pub fn break_down() {
    runs();
    panic!("the database password is hunter2");
}

pub fn read_log() -> String {
    runs();
    "2026-01-06T17:00:00Z all is well with host number 12. "
        .chars()
        .cycle()
        .take(LOG_BYTES)
        .collect()
}
