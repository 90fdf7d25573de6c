//! Errors: tools that an agent does not have, a settings form with mistakes, and two writers of one record.

use super::conversation::{answer, say};
use super::worker::{Failure, Worker};
use serde_json::json;
use std::io::{self, Write};

pub(crate) async fn show(worker: &Worker) -> Result<(), Failure> {
    let event = json!({"title": "Review", "start_time": "2026-11-20T09:00:00Z"});
    for (why, agent, tool, action, arguments) in [
        (
            "not configured",
            "carol",
            "google_calendar",
            "list_events",
            json!({"time_min": "2026-11-20T00:00:00Z"}),
        ),
        ("disabled", "bob", "email", "send_email", json!({})),
        (
            "an action disabled",
            "bob",
            "google_calendar",
            "create_event",
            event,
        ),
        (
            "no implementation",
            "carol",
            "crm",
            "find_customer",
            json!({}),
        ),
        ("no such action", "alice", "email", "send_mail", json!({})),
    ] {
        match worker
            .executor(agent)
            .run_tool_action(tool, action, arguments)
            .await
        {
            Ok(response) => say!("{why}: {}", answer(&response)),
            Err(error) => say!("{why}: {error}"),
        }
    }

    say!("\na settings form, filled in badly:");
    let config = json!({"smtp_sever": "smtp.example.com", "smtp_port": 0, "from_email": "alice", "security": "ssl"});
    match worker
        .agents
        .add("dave", "email")
        .config(config)
        .secrets(json!({"password": 1234}))
        .save()
        .await
    {
        Ok(record) => say!("taken: version {}", record.version),
        Err(error) => say!("{error}"),
    }

    say!("\ntwo writers of one record:");
    let read = worker.agents.record("bob", "google_calendar").await?;
    worker.agents.edit(&read).save().await?;
    match worker.agents.edit(&read).enabled(false).save().await {
        Ok(record) => say!("taken: version {}", record.version),
        Err(error) => say!("{error}"),
    }
    Ok(())
}
