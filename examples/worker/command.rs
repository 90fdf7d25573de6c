//! The command line.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;

pub(crate) const USAGE: &str = "\
usage: cargo run --example worker --features worker [-- [--db DATABASE] [COMMAND]]

Agents whose tools are in a database, with settings and sealed secrets. Without a command it takes you round: what a
settings form gets, what each agent has, a session during which a row changes, errors, drafts that come due.

  serve                            answers calls from standard input, one a line, and sends drafts when they are due:
                                   {\"agent\": .., \"name\": .., \"arguments\": {..}}, also \"id\", and \"session\", by which
                                   workers of one database share a session; or {\"agent\": ..} with
                                   \"approve\": TOKEN, \"deny\": TOKEN, \"next_turn\": true, or \"end\": true. A changed
                                   row is there for an agent's next session. SIGTERM and Ctrl-C let the current call and the
                                   current draft finish; a second one ends at once
  list                             the records of all agents, and what is wrong with them
  form TOOL                        what a settings form for a toolset gets
  set AGENT TOOL JSON              makes or changes a record: {\"config\": {..}, \"secrets\": {..}, \"enabled\": ..,
                                   \"disabledActions\": [..]}, all optional; `-` reads it from standard input
  enable|disable AGENT TOOL [ACTION]
  drafts                           the drafts, and what became of them
  rotate                           seals all secrets under the first key
  connect AGENT TOOL               prints where a person grants access (OAuth 2), and takes the address that the browser
                                   comes back with

  --db DATABASE                    a file of SQLite, for one worker, or a URL `postgres://..`, for any number of them;
                                   without it, a file in the data folder of the user, which is printed

  WORKER_DATABASE                  in place of --db, as a URL may contain a password

  TOOL_SECRETS_KEYS                the keys that seal secrets, `ID:64 HEX DIGITS`, by commas, the first one seals; without
                                   it, a file beside the database, which is made on the first run. All workers of a
                                   PostgreSQL database have the same
  WORKER_SIGNING_KEY               64 hexadecimal digits, with PostgreSQL: the key of approvals, the same for all workers
  GOOGLE_CALENDAR_BASE_URL, GOOGLE_CALENDAR_TOKEN, SMTP_SERVER, SMTP_PORT, SMTP_SECURITY, SMTP_USER, SMTP_PASSWORD,
  IMAP_SERVER
                                   what the agents of the first run are set to; without them, servers inside this example
  GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET, GOOGLE_REDIRECT_URL, GOOGLE_PARAMS
                                   the OAuth 2 client for `connect`, as it is registered at Google
  WORKER_RETRY_SECONDS             how long a draft that could not be sent waits the first time (30)
  WORKER_LEASE_SECONDS             with PostgreSQL, how long a worker may take to send a draft (180); later it counts as killed

It ends with 0, with 1 when something was refused or failed, and with 2 when it was not understood.";

#[derive(Debug)]
pub(crate) enum Command {
    Tour,
    Serve,
    List,
    Drafts,
    Rotate,
    Form {
        tool: String,
    },
    Set {
        agent: String,
        tool: String,
        change: Change,
    },
    Switch {
        agent: String,
        tool: String,
        action: Option<String>,
        on: bool,
    },
    Connect {
        agent: String,
        tool: String,
    },
}

/// The options of `set`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Change {
    pub(crate) config: Option<Value>,
    pub(crate) secrets: Option<Secrets>,
    pub(crate) enabled: Option<bool>,
    pub(crate) disabled_actions: Option<BTreeSet<String>>,
}

/// Secrets that are not sealed yet. `Debug` does not show them.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Secrets(pub(crate) Value);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// Returns the named database, and the command.
pub(crate) fn read(arguments: &[String]) -> Result<(Option<String>, Command), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (db, rest) = match *arguments {
        ["--db", name, ref rest @ ..] => (Some(name.to_owned()), rest),
        ["--db"] => return Err("--db needs a file or a URL".into()),
        ref rest => (None, rest),
    };
    let owned = |text: &str| text.to_owned();
    let command = match *rest {
        [] => Command::Tour,
        ["serve"] => Command::Serve,
        ["list"] => Command::List,
        ["drafts"] => Command::Drafts,
        ["rotate"] => Command::Rotate,
        ["form", tool] => Command::Form { tool: owned(tool) },
        ["set", agent, tool, json] => Command::Set {
            agent: owned(agent),
            tool: owned(tool),
            change: change(json)?,
        },
        [
            switch @ ("enable" | "disable"),
            agent,
            tool,
            ref action @ ..,
        ] if action.len() < 2 => {
            let action = action.first().map(|action| owned(action));
            Command::Switch {
                agent: owned(agent),
                tool: owned(tool),
                action,
                on: switch == "enable",
            }
        }
        ["connect", agent, tool] => Command::Connect {
            agent: owned(agent),
            tool: owned(tool),
        },
        _ => return Err(format!("unknown arguments: {}", rest.join(" "))),
    };
    Ok((db, command))
}

fn change(json: &str) -> Result<Change, String> {
    let text = match json {
        "-" => {
            io::read_to_string(io::stdin()).map_err(|error| format!("standard input: {error}"))?
        }
        json => json.to_owned(),
    };
    // Only the place is shown, as the text may contain secrets.
    let told = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => format!("set: {error}"),
        _ => format!(
            "set: not JSON at line {}, column {}",
            error.line(),
            error.column()
        ),
    };
    serde_json::from_str(&text).map_err(told)
}
