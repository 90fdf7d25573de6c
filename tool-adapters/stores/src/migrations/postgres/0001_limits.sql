-- Limits that all sessions share.

-- Times are milliseconds since 1970, where nothing else is said. In a key, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_limits (
    key text COLLATE "C" NOT NULL PRIMARY KEY,
    -- The time at which the bucket of the rate is full again, in microseconds since 1970.
    idle_at bigint NOT NULL,
    kept_until bigint NOT NULL
);

CREATE INDEX tool_limits_by_end ON tool_limits (kept_until);

-- The calls that run under a limit on calls at once.
CREATE TABLE tool_limit_places (
    key text COLLATE "C" NOT NULL,
    -- Distinguishes the call from all others.
    holder text COLLATE "C" NOT NULL,
    -- The end of its lease.
    ends_at bigint NOT NULL,
    PRIMARY KEY (key, holder)
);

CREATE INDEX tool_limit_places_by_end ON tool_limit_places (ends_at);
