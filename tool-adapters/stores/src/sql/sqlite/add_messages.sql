INSERT INTO tool_messages (conversation, position, message)
SELECT $1, $2 + added.key, added.value FROM json_each($3) AS added
