SELECT calls.number, calls.entry, calls.response
FROM tool_journal_calls AS calls, tool_journal_clock AS clock
WHERE calls.session = $1 AND calls.process <> $2 AND (
    calls.response IS NOT NULL OR calls.runs_until <= clock.now OR NOT EXISTS (
        SELECT 1 FROM tool_journal_processes AS processes
        WHERE processes.id = calls.process AND processes.alive_until > clock.now
    )
)
ORDER BY calls.number
