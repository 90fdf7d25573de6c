SELECT waiting.call, waiting.expires_at, waiting.id
FROM tool_session_approvals AS waiting
    JOIN tool_sessions AS session ON session.id = waiting.session AND session.principal = waiting.principal
WHERE substr(waiting.principal, 1, 200) = substr(CAST($1 AS text), 1, 200) AND waiting.principal = $1
    AND (waiting.expires_at, waiting.id) > ($2, $3)
    AND waiting.expires_at > (SELECT now FROM tool_session_clock)
    AND session.expires_at > (SELECT now FROM tool_session_clock)
ORDER BY waiting.expires_at, waiting.id
LIMIT $4
