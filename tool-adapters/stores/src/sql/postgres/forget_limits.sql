DELETE FROM tool_limits
WHERE key IN (
    SELECT key FROM tool_limits WHERE kept_until <= $1 FOR UPDATE SKIP LOCKED
)
