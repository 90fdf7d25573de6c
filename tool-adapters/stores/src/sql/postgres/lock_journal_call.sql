SELECT calls.process, calls.number, calls.entry, calls.response, CASE
    WHEN calls.response IS NULL AND calls.runs_until > clock.now AND EXISTS (
        SELECT 1 FROM tool_journal_processes AS processes
        WHERE processes.id = calls.process AND processes.alive_until > clock.now
    ) THEN CAST(1 AS bigint) ELSE CAST(0 AS bigint) END
FROM tool_journal_calls AS calls, tool_journal_clock AS clock
WHERE calls.session = $1 AND calls.call = $2
FOR UPDATE OF calls
