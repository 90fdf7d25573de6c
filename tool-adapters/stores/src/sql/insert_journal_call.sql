INSERT INTO tool_journal_calls (session, call, process, started_at, runs_until, entry)
SELECT $1, $2, $3, clock.now, clock.now + $4, $5 FROM tool_journal_clock AS clock WHERE true
ON CONFLICT (session, call) DO NOTHING
RETURNING number
