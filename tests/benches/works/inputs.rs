//! The argument texts.

/// Five arguments of `create_event`.
pub(crate) const EVENT: &str = concat!(
    r#"{"title":"Team sync","start_time":"2026-11-20T10:00:00Z","duration_minutes":45,"#,
    r#""attendees":["a@example.com","b@example.com","c@example.com"],"description":"Quarterly planning"}"#,
);

/// 64 objects of five fields.
pub(crate) fn batch() -> String {
    let records = (0..64).map(|id| {
        format!(
            r#"{{"id":{id},"name":"Record number {id}","score":{}.5,"active":{},"note":"made for the benchmark"}}"#,
            id * 3,
            id % 2 == 0
        )
    });
    format!(r#"{{"records":[{}]}}"#, records.collect::<Vec<_>>().join(","))
}
