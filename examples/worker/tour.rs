//! A tour: a settings form, the tools of each agent, a change while a session runs, errors and drafts.

use super::conversation::{answer, names, play, say};
use super::outbox::Outbox;
use super::worker::{Failure, Worker};
use super::{errors, seed};
use serde_json::json;
use std::io::{self, Write};
use std::time::Duration;
use tool_core::jiff::{Timestamp, ToSpan};
use tool_core::{CancellationToken, ToolCall};

pub(crate) async fn run(worker: &Worker) -> Result<(), Failure> {
    worker.point_to_stand_ins().await?;
    let (outbox, lost) = Outbox::open(worker).await?;
    for draft in lost {
        say!(
            "draft {} of {} may have been sent when the worker ended; it is not sent again",
            draft.id,
            draft.agent
        );
    }

    say!("# What a settings form gets\n");
    for form in worker.agents.forms() {
        say!("{}", json!(form));
        for action in worker.agents.actions(&form.name).unwrap_or_default() {
            say!("  {}", json!(action));
        }
    }
    say!("\n# What each agent has\n");
    for summary in worker.agents.agents(None, 100).await? {
        let loaded = worker.executor(&summary.agent).load().await?;
        say!("{}: {}", summary.agent, names(loaded.tools()));
        for failure in loaded.failures() {
            say!("  left out: {failure}");
        }
    }
    say!("\n# A session of alice\n");
    converse(worker).await?;
    say!("\n# A row changes while a session runs\n");
    change(worker).await?;
    say!("\n# Errors\n");
    errors::show(worker).await?;
    say!("\n# The draft comes due\n");
    deliver(worker, &outbox).await
}

async fn converse(worker: &Worker) -> Result<(), Failure> {
    let session = worker
        .session("alice", &format!("tour-{}", moment()))
        .await?;
    let soon = Timestamp::now() + 1.second();
    let calls = [
        (
            "check_availability",
            json!({"date": "2026-11-20T09:00:00+01:00", "duration_minutes": 60}),
        ),
        (
            "create_event",
            json!({"title": "Review", "start_time": "2026-11-20T09:00:00+01:00"}),
        ),
        (
            "check_availability",
            json!({"date": "2026-11-20T09:00:00+01:00", "duration_minutes": 60}),
        ),
        (
            "send_email",
            json!({"to": "ada@example.org", "subject": "Review tomorrow", "body": "At nine, in the usual room."}),
        ),
        (
            "schedule_draft",
            json!({"to": "grace@example.org", "subject": "Reminder", "body": "The review begins.", "send_at": soon}),
        ),
    ];
    play(&session, &calls).await?;
    session.end().await;
    Ok(())
}

/// Changes a record while a session runs. The change applies to the next session.
async fn change(worker: &Worker) -> Result<(), Failure> {
    let running = worker
        .session("alice", &format!("running-{}", moment()))
        .await?;
    say!("alice's session begins with: {}", names(running.tools()));

    let record = worker.agents.record("alice", "google_calendar").await?;
    let changed = seed::merged(&record.config, &json!({"default_event_duration": 45}));
    worker.agents.edit(&record).config(changed).save().await?;
    worker.agents.disable("alice", "email").await?;
    say!("now her e-mail is switched off, and an event takes 45 minutes by default");

    let next = worker
        .session("alice", &format!("next-{}", moment()))
        .await?;
    let start = "2026-11-21T09:00:00Z";
    for (which, session) in [
        ("the running session", &running),
        ("the next session", &next),
    ] {
        let minutes = |tools: &tool_core::ToolContext| {
            let tool = tools.function_tool("create_event")?;
            Some(
                tool.definition().parameters()["properties"]["duration_minutes"]["default"].clone(),
            )
        };
        say!("{which} has: {}", names(session.tools()));
        say!(
            "  create_event takes {} minutes",
            minutes(session.tools()).unwrap_or_default()
        );
        let call = ToolCall::new(
            "call_1",
            "create_event",
            json!({"title": which, "start_time": start}),
        );
        say!("  {}", answer(&session.call(call).await));
        session.end().await;
    }

    // Restored for the next run.
    let changed = worker.agents.record("alice", "google_calendar").await?;
    worker
        .agents
        .edit(&changed)
        .config(record.config)
        .save()
        .await?;
    worker.agents.enable("alice", "email").await?;
    Ok(())
}

async fn deliver(worker: &Worker, outbox: &Outbox) -> Result<(), Failure> {
    let mut sent = Vec::new();
    // The draft is due one second after it was scheduled.
    while sent.is_empty() {
        outbox
            .send_due(&CancellationToken::new(), |told| {
                sent.push(told.to_string());
            })
            .await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for told in sent {
        say!("{told}");
    }
    for message in worker
        .mailbox
        .iter()
        .flat_map(super::email::server::Mailbox::arrived)
    {
        let subject = message
            .text
            .lines()
            .find(|line| line.starts_with("Subject:"))
            .unwrap_or_default();
        say!(
            "arrived at {}, from {}: {subject}",
            message.to,
            message.from
        );
    }
    Ok(())
}

/// Returns a new session id.
fn moment() -> String {
    Timestamp::now().as_nanosecond().to_string()
}
