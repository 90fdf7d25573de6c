INSERT INTO tool_principal_spending AS known (principal, cost, time, ends_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (principal) DO UPDATE SET
    cost = CASE
        WHEN known.ends_at <= $5 THEN excluded.cost
        WHEN known.cost > $6 - excluded.cost THEN $6
        ELSE known.cost + excluded.cost
    END,
    time = CASE
        WHEN known.ends_at <= $5 THEN excluded.time
        WHEN known.time > $6 - excluded.time THEN $6
        ELSE known.time + excluded.time
    END,
    ends_at = CASE WHEN known.ends_at <= $5 THEN excluded.ends_at ELSE known.ends_at END
