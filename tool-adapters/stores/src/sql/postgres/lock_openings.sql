SELECT pg_advisory_xact_lock(hashtextextended('tool_sessions ' || current_schema(), 0))::text
