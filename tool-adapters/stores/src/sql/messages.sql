SELECT position, CASE WHEN octet_length(message) <= $4 THEN message END
FROM tool_messages WHERE conversation = $1 AND position >= $2 AND position < $3
ORDER BY position
