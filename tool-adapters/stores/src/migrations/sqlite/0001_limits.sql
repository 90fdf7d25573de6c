-- Limits that all sessions share.

-- Times are milliseconds since 1970, where nothing else is said. In a key, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_limits (
    key TEXT NOT NULL PRIMARY KEY,
    -- The time at which the bucket of the rate is full again, in microseconds since 1970.
    idle_at INTEGER NOT NULL,
    kept_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_limits_by_end ON tool_limits (kept_until);

-- The calls that run under a limit on calls at once.
CREATE TABLE tool_limit_places (
    key TEXT NOT NULL,
    -- Distinguishes the call from all others.
    holder TEXT NOT NULL,
    -- The end of its lease.
    ends_at INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_limit_places_by_end ON tool_limit_places (ends_at);
