INSERT INTO tool_conversations (principal, id, info, messages, bytes, created_at, updated_at)
SELECT $1, $2, '{}', 0, 0, now, now FROM tool_history_clock WHERE true
ON CONFLICT (principal, id) DO NOTHING
