-- Which toolsets an agent has, and how they are set. Ids sort by their bytes, as in the other stores.

-- An agent's version outlives its records, so that no version ever comes back.
CREATE TABLE tool_agents (
    agent_id text COLLATE "C" NOT NULL PRIMARY KEY,
    version bigint NOT NULL
);

CREATE TABLE tool_agent_records (
    agent_id text COLLATE "C" NOT NULL REFERENCES tool_agents (agent_id),
    tool text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    -- An array of names.
    disabled_actions json NOT NULL DEFAULT '[]',
    -- An object. `json` keeps the text as it is: the order of the keys, and numbers of any size.
    config json NOT NULL DEFAULT '{}',
    secrets_key text,
    secrets bytea,
    version bigint NOT NULL DEFAULT 0,
    -- A change that counts this up as well is told by no version: what is sealed anew is the same secret.
    quiet bigint NOT NULL DEFAULT 0,
    lease_holder text,
    lease_until timestamptz,
    PRIMARY KEY (agent_id, tool),
    CHECK ((secrets IS NULL) = (secrets_key IS NULL))
);

-- Every change of a record, by whomever, raises the agent's version and gives the record that version. The row of the
-- agent is the last one that is locked, and no two changes of an agent pass it at once. The table is named with its
-- schema, as whoever changes a record may look for names elsewhere.
CREATE FUNCTION tool_agent_records_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.agent_id <> NEW.agent_id) THEN
        EXECUTE format('UPDATE %I.tool_agents SET version = version + 1 WHERE agent_id = $1', TG_TABLE_SCHEMA)
            USING OLD.agent_id;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    EXECUTE format(
        'INSERT INTO %I.tool_agents AS agent (agent_id, version) VALUES ($1, 1)
            ON CONFLICT (agent_id) DO UPDATE SET version = agent.version + 1 RETURNING version',
        TG_TABLE_SCHEMA
    ) INTO NEW.version USING NEW.agent_id;
    RETURN NEW;
END
$$;

CREATE TRIGGER tool_agent_records_inserted BEFORE INSERT OR DELETE ON tool_agent_records
FOR EACH ROW EXECUTE FUNCTION tool_agent_records_changed();

CREATE TRIGGER tool_agent_records_updated
BEFORE UPDATE OF agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version ON tool_agent_records
FOR EACH ROW WHEN (NEW.quiet = OLD.quiet) EXECUTE FUNCTION tool_agent_records_changed();

CREATE FUNCTION tool_agent_records_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I.tool_agents SET version = version + 1', TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

CREATE TRIGGER tool_agent_records_truncated AFTER TRUNCATE ON tool_agent_records
FOR EACH STATEMENT EXECUTE FUNCTION tool_agent_records_truncated();

-- What tells an agent's versions apart stays for good: an id whose row went would begin at 1 again.

CREATE FUNCTION tool_agents_go_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version < OLD.version OR NEW.agent_id <> OLD.agent_id THEN
        RAISE 'the version of an agent only goes up';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER tool_agents_go_up BEFORE UPDATE OF agent_id, version ON tool_agents
FOR EACH ROW EXECUTE FUNCTION tool_agents_go_up();

CREATE FUNCTION tool_agents_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'the row of an agent stays, so that no version comes back; delete its tool_agent_records';
END
$$;

CREATE TRIGGER tool_agents_stay BEFORE DELETE ON tool_agents
FOR EACH ROW EXECUTE FUNCTION tool_agents_stay();

CREATE TRIGGER tool_agents_are_not_truncated BEFORE TRUNCATE ON tool_agents
FOR EACH STATEMENT EXECUTE FUNCTION tool_agents_stay();
