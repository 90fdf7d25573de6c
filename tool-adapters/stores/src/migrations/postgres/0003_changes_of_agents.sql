-- Notifies other processes which agents have changed, also by hand. Anyone who may connect to the database can listen, so
-- that only ids are in it.

CREATE FUNCTION tool_agents_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change text := json_build_object('schema', TG_TABLE_SCHEMA, 'agent', NEW.agent_id)::text;
BEGIN
    -- A longer text than 7,999 bytes would fail. Without a name, all are read again.
    IF octet_length(change) > 7900 THEN
        change := json_build_object('schema', TG_TABLE_SCHEMA)::text;
    END IF;
    PERFORM pg_notify('tool_changes', change);
    RETURN NULL;
END
$$;

-- Every change of a record raises the version of its agent.
CREATE TRIGGER tool_agents_notify AFTER INSERT OR UPDATE OF version ON tool_agents
FOR EACH ROW EXECUTE FUNCTION tool_agents_notify();
