//! Google Calendar as tools: `toolset.rs` is what a model sees, `api.rs` what it stands for. Start there.
//!
//! `cargo run --example calendar` needs no network and no account: `server.rs` stands in for Google.

mod api;
mod config;
mod server;
mod toolset;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{from_value, json};
use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use tool_core::{Configure, RunContext, ToolContext};
use toolset::GoogleCalendar;

const USAGE: &str = "\
usage: cargo run --example calendar [-- FILE]

Prints the tools as a model sees them, makes the calls of FILE, and prints the envelope of each, one a line.

  FILE    a JSON list of {\"name\": .., \"arguments\": ..}, and \"case\" for a note; `-` reads standard input;
          without it, the calls of examples/calendar/calls.json

  GOOGLE_CALENDAR_BASE_URL    where the API answers; without it, a server inside this example.
                              https://www.googleapis.com/calendar/v3 is Google: events are really created
  GOOGLE_CALENDAR_TOKEN       the OAuth 2 access token";

/// A call as a model makes it. The arguments stay the text that was sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(default)]
    case: String,
    name: String,
    arguments: Box<RawValue>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let input = match &*arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [] => Ok(include_str!("calls.json").to_owned()),
        ["-"] => io::read_to_string(io::stdin()).map_err(|error| format!("standard input: {error}")),
        [file] if !file.starts_with('-') => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}")),
        unknown => Err(format!("unknown arguments: {}\n\n{USAGE}", unknown.join(" "))),
    };
    let calls = input.and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("the calls are not a JSON list of calls: {error}"))
    });
    let calls: Vec<Call> = match calls {
        Ok(calls) => calls,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(calls).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(calls: Vec<Call>) -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder().with(calendar().await?).build()?;

    let mut out = io::stdout().lock();
    for tool in tools.definitions() {
        writeln!(out, "{}: {}\n  {}\n", tool.name(), tool.description(), tool.parameters_json())?;
    }
    for Call { case, name, arguments } in calls {
        let response = tools.call(&name, &arguments, &RunContext::detached()).await;
        writeln!(out, "# {case}\n{name} {arguments}\n{}\n", response.to_json())?;
    }
    Ok(())
}

/// The toolset, made of settings as a form would send them.
async fn calendar() -> Result<GoogleCalendar, Box<dyn Error>> {
    let base_url = match env::var("GOOGLE_CALENDAR_BASE_URL") {
        Ok(base_url) => base_url,
        Err(_) => server::start(server::router()).await?,
    };
    // The server within takes any token; Google takes yours. Without one, every call answers AUTH.
    let token = env::var("GOOGLE_CALENDAR_TOKEN").unwrap_or_else(|_| "local".to_owned());
    let config = from_value(json!({"calendar_id": "primary", "base_url": base_url}))?;
    let secrets = from_value(json!({"access_token": token}))?;
    Ok(GoogleCalendar::configure(config, secrets).await?)
}
