//! The argument texts.

/// Five arguments of `create_event`.
pub(crate) const EVENT: &str = concat!(
    r#"{"title":"Team sync","start_time":"2026-11-20T10:00:00Z","duration_minutes":45,"#,
    r#""attendees":["a@example.com","b@example.com","c@example.com"],"description":"Quarterly planning"}"#,
);
