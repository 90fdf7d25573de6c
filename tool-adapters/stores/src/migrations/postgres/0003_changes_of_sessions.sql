-- Notifies other processes which calls wait for a person, and which grants were given or are over. Anyone who may connect to
-- the database can listen, so that only ids are in it: no call, no argument and no token.

-- For those who wait for the next call that expires.
CREATE INDEX tool_session_approvals_by_expiry ON tool_session_approvals (expires_at);

CREATE FUNCTION tool_session_approvals_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change text := json_build_object('schema', TG_TABLE_SCHEMA)::text;
    with_ids text := change;
BEGIN
    IF TG_OP = 'INSERT' THEN
        with_ids := json_build_object(
            'schema', TG_TABLE_SCHEMA, 'approval', NEW.id, 'session', NEW.session, 'principal', NEW.principal,
            'state', 'waits', 'expiresAt', NEW.expires_at
        )::text;
    ELSIF TG_OP = 'DELETE' THEN
        with_ids := json_build_object(
            'schema', TG_TABLE_SCHEMA, 'approval', OLD.id, 'session', OLD.session, 'principal', OLD.principal,
            'state', CASE
                WHEN OLD.expires_at > extract(epoch FROM clock_timestamp()) * 1000 THEN 'over'
                ELSE 'expired'
            END
        )::text;
    END IF;
    -- A longer text than 7,999 bytes would fail. Without a name, all are read again.
    IF octet_length(with_ids) <= 7900 THEN
        change := with_ids;
    END IF;
    PERFORM pg_notify('tool_changes', change);
    RETURN NULL;
END
$$;

CREATE TRIGGER tool_session_approvals_notify AFTER INSERT OR DELETE ON tool_session_approvals
FOR EACH ROW EXECUTE FUNCTION tool_session_approvals_notify();

CREATE TRIGGER tool_session_approvals_truncated AFTER TRUNCATE ON tool_session_approvals
FOR EACH STATEMENT EXECUTE FUNCTION tool_session_approvals_notify();

CREATE FUNCTION tool_session_grants_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change text := json_build_object('schema', TG_TABLE_SCHEMA)::text;
    with_ids text := change;
    changed record;
    owner text;
BEGIN
    IF TG_OP <> 'TRUNCATE' THEN
        IF TG_OP = 'INSERT' THEN
            changed := NEW;
        ELSE
            changed := OLD;
        END IF;
        -- The table is named with its schema, as whoever deletes a grant may look for names elsewhere.
        EXECUTE format('SELECT principal FROM %I.tool_sessions WHERE id = $1', TG_TABLE_SCHEMA)
            INTO owner USING changed.session;
        -- The session was deleted, and was over long before.
        IF owner IS NULL THEN
            RETURN NULL;
        END IF;
        with_ids := json_build_object(
            'schema', TG_TABLE_SCHEMA, 'grant', changed.id, 'session', changed.session, 'principal', owner,
            'isGiven', TG_OP = 'INSERT'
        )::text;
    END IF;
    IF octet_length(with_ids) <= 7900 THEN
        change := with_ids;
    END IF;
    PERFORM pg_notify('tool_changes', change);
    RETURN NULL;
END
$$;

CREATE TRIGGER tool_session_grants_notify AFTER INSERT OR DELETE ON tool_session_grants
FOR EACH ROW EXECUTE FUNCTION tool_session_grants_notify();

CREATE TRIGGER tool_session_grants_truncated AFTER TRUNCATE ON tool_session_grants
FOR EACH STATEMENT EXECUTE FUNCTION tool_session_grants_notify();
