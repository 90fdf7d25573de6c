SELECT incarnation, session, entries, calls, call_bytes, idle_time, keep_time, expires_at, calls_until,
    (SELECT now FROM tool_session_clock)
FROM tool_sessions WHERE id = $1
FOR UPDATE
