-- The audit log of gateways: a row for each call that was answered, and for each request of a prompt or a resource.
-- Gateways before this migration made the table and noted nothing. Theirs is taken over, with its rows.

CREATE TABLE IF NOT EXISTS tool_gateway_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time timestamptz NOT NULL,
    session text NOT NULL,
    principal text NOT NULL,
    turn bigint NOT NULL,
    call text NOT NULL,
    server text NOT NULL,
    method text NOT NULL,
    -- The tool, the prompt, or the URI of the resource.
    name text NOT NULL,
    -- Redacted JSON text, cut.
    arguments text NOT NULL,
    -- `OK`, or the kind of the error.
    outcome text NOT NULL,
    error text,
    duration_ms bigint NOT NULL,
    -- The size of the result.
    characters bigint NOT NULL,
    -- An array of texts: why the call waits for a person, or has waited for one.
    reasons jsonb,
    -- The person who decided on the call.
    decided_by text,
    -- The arguments of the client, redacted and cut, if a person has approved others.
    asked_arguments text
);

-- The first gateways had no column for what a person decides.
ALTER TABLE tool_gateway_audit
    ADD COLUMN IF NOT EXISTS reasons jsonb,
    ADD COLUMN IF NOT EXISTS decided_by text,
    ADD COLUMN IF NOT EXISTS asked_arguments text;

-- A table of this name may be another program's.
DO $$
DECLARE
    missing text;
BEGIN
    SELECT string_agg(format('%s %s', expected.name, expected.type), ', ' ORDER BY expected.name) INTO missing
    FROM (
        VALUES ('id', 'bigint'), ('time', 'timestamp with time zone'), ('session', 'text'), ('principal', 'text'),
            ('turn', 'bigint'), ('call', 'text'), ('server', 'text'), ('method', 'text'), ('name', 'text'),
            ('arguments', 'text'), ('outcome', 'text'), ('error', 'text'), ('duration_ms', 'bigint'),
            ('characters', 'bigint'), ('reasons', 'jsonb'), ('decided_by', 'text'), ('asked_arguments', 'text')
    ) AS expected (name, type)
    WHERE NOT EXISTS (
        SELECT 1 FROM pg_attribute
        WHERE attrelid = 'tool_gateway_audit'::regclass AND attname = expected.name AND NOT attisdropped
            AND format_type(atttypid, NULL) = expected.type
    );
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_table', MESSAGE = format(
            'the table tool_gateway_audit is not that of a gateway, as it has no %s; rename it, or use another schema or database',
            missing
        );
    END IF;
END
$$;
