DELETE FROM tool_journal_calls WHERE number IN (
    SELECT number FROM tool_journal_calls
    WHERE started_at < (SELECT now FROM tool_journal_clock) - $1
    ORDER BY started_at LIMIT 1000
)
