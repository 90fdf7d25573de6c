SELECT id, info, messages, bytes, created_at, updated_at, number
FROM tool_conversations WHERE principal = $1 AND id = $2
FOR UPDATE
