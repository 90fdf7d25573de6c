UPDATE tool_sessions
SET session = $2, entries = $3, calls = $4, call_bytes = $5, expires_at = $6, calls_until = $7
WHERE id = $1
