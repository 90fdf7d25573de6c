-- Which toolsets an agent has, and how they are set. Ids sort by their bytes, as in the other stores.

-- An agent's version outlives its records, so that no version ever comes back.
CREATE TABLE agents (
    agent_id text COLLATE "C" NOT NULL PRIMARY KEY,
    version bigint NOT NULL
);

CREATE TABLE agent_tools (
    agent_id text COLLATE "C" NOT NULL REFERENCES agents (agent_id),
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
CREATE FUNCTION agent_tools_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.agent_id <> NEW.agent_id) THEN
        EXECUTE format('UPDATE %I.agents SET version = version + 1 WHERE agent_id = $1', TG_TABLE_SCHEMA)
            USING OLD.agent_id;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    EXECUTE format(
        'INSERT INTO %I.agents AS agent (agent_id, version) VALUES ($1, 1)
            ON CONFLICT (agent_id) DO UPDATE SET version = agent.version + 1 RETURNING version',
        TG_TABLE_SCHEMA
    ) INTO NEW.version USING NEW.agent_id;
    RETURN NEW;
END
$$;

CREATE TRIGGER agent_tools_inserted BEFORE INSERT OR DELETE ON agent_tools
FOR EACH ROW EXECUTE FUNCTION agent_tools_changed();

CREATE TRIGGER agent_tools_updated
BEFORE UPDATE OF agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version ON agent_tools
FOR EACH ROW WHEN (NEW.quiet = OLD.quiet) EXECUTE FUNCTION agent_tools_changed();

CREATE FUNCTION agent_tools_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I.agents SET version = version + 1', TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

CREATE TRIGGER agent_tools_truncated AFTER TRUNCATE ON agent_tools
FOR EACH STATEMENT EXECUTE FUNCTION agent_tools_truncated();

CREATE FUNCTION agents_go_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version < OLD.version THEN
        RAISE 'the version of an agent only goes up';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER agents_go_up BEFORE UPDATE OF version ON agents
FOR EACH ROW EXECUTE FUNCTION agents_go_up();
