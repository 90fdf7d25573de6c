INSERT INTO tool_messages (conversation, position, message)
SELECT $1, $2 + added.place - 1, added.message
FROM json_array_elements_text($3::text::json) WITH ORDINALITY AS added (message, place)
