//! The commands of an operator.

use super::command::{Change, Command};
use super::conversation::say;
use super::worker::{Failure, Worker};
use serde_json::{json, to_string_pretty};
use std::io::{self, Write};
use tool_core::agents::RecordBuilder;

pub(crate) async fn run(worker: &Worker, command: Command) -> Result<(), Failure> {
    let agents = &worker.agents;
    match command {
        Command::List => list(worker).await,
        Command::Form { tool } => form(worker, &tool),
        Command::Set {
            agent,
            tool,
            change,
        } => set(worker, &agent, &tool, change).await,
        Command::Switch {
            agent,
            tool,
            action: None,
            on,
        } => {
            let record = if on {
                agents.enable(&agent, &tool).await?
            } else {
                agents.disable(&agent, &tool).await?
            };
            say!("{}", json!(record));
            Ok(())
        }
        Command::Switch {
            agent,
            tool,
            action: Some(action),
            on,
        } => {
            let record = if on {
                agents.enable_action(&agent, &tool, &action).await?
            } else {
                agents.disable_action(&agent, &tool, &action).await?
            };
            say!("{}", json!(record));
            Ok(())
        }
        Command::Drafts => {
            for draft in worker.drafts.list().await? {
                say!("{}", json!(draft));
            }
            Ok(())
        }
        Command::Rotate => rotate(worker).await,
        Command::Connect { agent, tool } => connect(worker, &agent, &tool).await,
        Command::Tour | Command::Serve => Ok(()),
    }
}

async fn list(worker: &Worker) -> Result<(), Failure> {
    let mut after = None::<String>;
    loop {
        let page = worker.agents.agents(after.as_deref(), 100).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.agent.clone());
        for summary in page {
            let records = worker.agents.list(&summary.agent).await?;
            for record in records.tools {
                say!("{}", json!(record));
            }
            for row in records.unreadable {
                say!(
                    "{}",
                    json!({"agent": summary.agent, "tool": row.tool, "unreadable": row.reason})
                );
            }
            for failure in worker.executor(&summary.agent).load().await?.failures() {
                eprintln!("{failure}");
            }
        }
    }
}

/// Prints the settings form of a toolset.
fn form(worker: &Worker, tool: &str) -> Result<(), Failure> {
    let known = || {
        worker
            .agents
            .forms()
            .map(|form| form.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let form = worker
        .agents
        .form(tool)
        .ok_or_else(|| format!("there is no toolset `{tool}`, only {}", known()))?;
    let actions = worker.agents.actions(tool).unwrap_or_default();
    say!(
        "{}",
        to_string_pretty(&json!({"metadata": form, "actions": actions}))?
    );
    Ok(())
}

async fn set(worker: &Worker, agent: &str, tool: &str, change: Change) -> Result<(), Failure> {
    let records = worker.agents.list(agent).await?;
    let known = records.tools.iter().find(|record| record.tool == tool);
    let mut write = match known {
        Some(record) => worker.agents.edit(record),
        None => worker.agents.add(agent, tool),
    };
    if let Some(config) = change.config {
        write = write.config(config);
    }
    if let Some(secrets) = change.secrets {
        write = write.secrets(secrets.0);
    }
    if let Some(enabled) = change.enabled {
        write = write.enabled(enabled);
    }
    if let Some(wanted) = change.disabled_actions {
        let had = known
            .map(|record| record.disabled_actions.clone())
            .unwrap_or_default();
        write = had
            .difference(&wanted)
            .fold(write, |write, action| write.enable_action(action));
        write = wanted
            .into_iter()
            .fold(write, RecordBuilder::disable_action);
    }
    say!("{}", json!(write.save().await?));
    Ok(())
}

async fn rotate(worker: &Worker) -> Result<(), Failure> {
    let rotation = worker.agents.rotate().await?;
    say!(
        "{} secrets are sealed under the first key now",
        rotation.resealed
    );
    for failure in &rotation.failed {
        eprintln!("{failure}");
    }
    if rotation.failed.is_empty() {
        Ok(())
    } else {
        Err("some secrets could not be opened".into())
    }
}

/// Prints the consent URL, and reads the address to which the browser returns.
async fn connect(worker: &Worker, agent: &str, tool: &str) -> Result<(), Failure> {
    let begun = worker.clients.begin(&worker.agents, agent, tool).await?;
    say!("{}", begun.url);
    eprintln!(
        "open it, agree, and paste the address that the browser comes back to (within 10 minutes):"
    );
    let mut address = String::new();
    if io::stdin().read_line(&mut address)? == 0 {
        return Err("no address came: nothing is connected".into());
    }
    let record = worker
        .clients
        .complete(&worker.agents, agent, address.trim())
        .await?;
    say!("{}", json!(record));
    Ok(())
}
