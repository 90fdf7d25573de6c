DELETE FROM tool_limit_places
WHERE (key, holder) IN (
    SELECT key, holder FROM tool_limit_places WHERE ends_at <= $1 FOR UPDATE SKIP LOCKED
)
