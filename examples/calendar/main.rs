//! Google Calendar as tools. Start with `toolset.rs`, which the model sees, and `api.rs`, which calls Google.
//!
//! `cargo run -p example-calendar --example calendar` needs no network and no account: `server.rs` replaces Google.

mod api;
mod config;
mod error;
mod server;
mod toolset;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{from_value, json};
use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use tool_adapters::egress::{EgressClient, EgressPolicy};
use tool_core::{Configure, RunContext, ToolContext};
use toolset::GoogleCalendar;

const USAGE: &str = "\
usage: cargo run -p example-calendar --example calendar [-- FILE]

Prints the tools as a model sees them, makes the calls of FILE, and prints the envelope of each, one a line.

  FILE    a JSON list of {\"name\": .., \"arguments\": ..}, and \"case\" for a note; `-` reads standard input;
          without it, the calls of examples/calendar/calls.json

  GOOGLE_CALENDAR_BASE_URL    where the API answers; without it, a server inside this example.
                              https://www.googleapis.com/calendar/v3 is Google: events are really created
  GOOGLE_CALENDAR_TOKEN       the OAuth 2 access token";

/// A call of a model. The arguments stay the text that was sent.
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
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(|text| text.to_string_lossy().into_owned())
        .collect();
    if arguments
        .iter()
        .any(|argument| argument == "-h" || argument == "--help")
    {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let calls = match read(&arguments) {
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

/// Reads the calls that the command line names.
fn read(arguments: &[String]) -> Result<Vec<Call>, String> {
    let (from, text) = match arguments {
        [] => ("calls.json", Ok(include_str!("calls.json").to_owned())),
        [dash] if dash == "-" => ("standard input", io::read_to_string(io::stdin())),
        [file] if !file.starts_with('-') => (file.as_str(), std::fs::read_to_string(file)),
        unknown => {
            return Err(format!(
                "unknown arguments: {}\n\n{USAGE}",
                unknown.join(" ")
            ));
        }
    };
    let text = text.map_err(|error| format!("{from}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{from}: not a list of calls: {error}"))
}

async fn run(calls: Vec<Call>) -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder().with(calendar().await?).build()?;
    // By default tools reach public servers only. This program runs its own.
    let ctx = RunContext::builder()
        .user_data(EgressClient::new(EgressPolicy::new().allow_loopback())?)
        .build();

    let mut out = io::stdout().lock();
    for tool in tools.definitions() {
        writeln!(
            out,
            "{}: {}\n  {}\n",
            tool.name(),
            tool.description(),
            tool.parameters_json()
        )?;
    }
    for (
        number,
        Call {
            case,
            name,
            arguments,
        },
    ) in (1..).zip(calls)
    {
        let response = tools.call(&name, &arguments, &ctx).await;
        writeln!(
            out,
            "# {number}. {case}\n{name} {arguments}\n{}\n",
            response.to_json()
        )?;
    }
    Ok(())
}

/// Builds the toolset from settings, as a form would send them.
async fn calendar() -> Result<GoogleCalendar, Box<dyn Error>> {
    let setting = |name| env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    let base_url = match setting("GOOGLE_CALENDAR_BASE_URL") {
        Some(base_url) => base_url,
        None => server::start_at(0, server::router()).await?,
    };
    // The local server accepts any token. Without a token every call answers AUTH.
    let token = setting("GOOGLE_CALENDAR_TOKEN").unwrap_or_else(|| "local".to_owned());
    let config = from_value(json!({"calendar_id": "primary", "base_url": base_url}))?;
    let secrets = from_value(json!({"access_token": token}))?;
    Ok(GoogleCalendar::configure(config, secrets)
        .await
        .map_err(|error| error.to_string())?)
}
