INSERT INTO tool_sessions (
    id, incarnation, principal, session, entries, calls, call_bytes, idle_time, keep_time, expires_at, calls_until
)
VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6, $7, $8)
