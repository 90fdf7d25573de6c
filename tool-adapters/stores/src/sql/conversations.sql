SELECT id, info, messages, bytes, created_at, updated_at
FROM tool_conversations WHERE principal = $1 AND (updated_at, id) < ($2, $3)
ORDER BY updated_at DESC, id DESC LIMIT $4
