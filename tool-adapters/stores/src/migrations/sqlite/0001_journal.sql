-- The journal: calls before they run, and their ends.

-- Milliseconds since 1970.
CREATE VIEW tool_journal_clock AS SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now;

-- The processes that write the journal. One whose time is over counts as killed.
CREATE TABLE tool_journal_processes (
    id text NOT NULL PRIMARY KEY,
    alive_until integer NOT NULL
) STRICT;

CREATE TABLE tool_journal_calls (
    number integer PRIMARY KEY AUTOINCREMENT,
    -- SHA-256 of the session's key and of the call's id, which may be long. The entry has both.
    session text NOT NULL,
    call text NOT NULL,
    process text NOT NULL,
    started_at integer NOT NULL,
    -- The end of its time limit.
    runs_until integer NOT NULL,
    -- A JSON object.
    entry text NOT NULL,
    -- The JSON of the envelope, once the call has ended.
    response text,
    UNIQUE (session, call)
) STRICT;

CREATE INDEX tool_journal_calls_by_age ON tool_journal_calls (started_at);
