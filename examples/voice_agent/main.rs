//! A voice agent over Gemini Live: audio in and out, tool calls, an interruption, and a broken connection.
//!
//! `cargo run --example voice_agent` talks to a local server that plays `script.json`. With Gemini itself:
//! `VOICE_MODEL=gemini-live-2.5-flash GEMINI_API_KEY=... cargo run --example voice_agent` sends it one sentence.

mod desk;
mod server;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::agent::RetryPolicy;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel, updates};
use tool_core::{Mode, Runtime, ToolContext, ToolResponse};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder().with(desk::opening_hours).with(desk::call_taxi).with(desk::hang_up).build()?;
    let (shown, updates) = updates();
    let session = Runtime::builder(tools).build()?.session("voice-1", Mode::Voice).on_update(shown).await?;
    let model = match env::var("VOICE_MODEL") {
        Ok(name) => LiveModel::new(Provider::GeminiLive, name),
        Err(_) => LiveModel::new(Provider::GeminiLive, "local").base_url(server::start().await?),
    };
    let retry = RetryPolicy { max: Duration::from_millis(200), ..RetryPolicy::default() };
    let mut live = LiveLoop::start(session, model.updates(updates).retry(retry));

    // A real agent would send the audio of its microphone here.
    let input = live.input();
    input.audio([0; 640]).await?;
    if env::var_os("VOICE_MODEL").is_some() {
        input.text("When does the pool open? Then please hang up.").await?;
    }
    while let Some(event) = live.next().await {
        show(event)?;
    }
    println!("the conversation is over");
    Ok(())
}

fn show(event: LiveEvent) -> Result<(), Box<dyn Error>> {
    match event {
        LiveEvent::Connected { resumed: false } => println!("connected"),
        LiveEvent::Connected { resumed: true } => println!("connected again: the conversation goes on"),
        LiveEvent::Disconnected { error, .. } => println!("disconnected: {}", error.message()),
        LiveEvent::Model(event) => heard(&event),
        LiveEvent::Answered(response) => println!("  < {}", told(&response)),
        LiveEvent::Updated(response) => println!("  < later: {}", told(&response)),
        LiveEvent::Turn(turn) => {
            println!("-- turn {}", turn.number);
            if let Some(farewell) = turn.pending_message {
                println!("agent: {farewell}");
            }
        }
        LiveEvent::Failed(error) => return Err(error.to_string().into()),
        _ => {}
    }
    Ok(())
}

fn told(response: &ToolResponse) -> String {
    match response.error() {
        None => response.data_json().unwrap_or_default().to_owned(),
        Some(error) => format!("{}: {}", error.kind, error.message),
    }
}

fn heard(event: &Event) {
    match event {
        Event::Text(text) => println!("agent: {text}"),
        Event::Audio { data, mime_type } => println!("agent: [{} bytes of {mime_type}]", data.len() / 4 * 3),
        Event::Call(call) => println!("  > {} {}", call.name(), call.arguments()),
        Event::Cancelled(ids) => println!("  x {}", ids.join(", ")),
        Event::Interrupted => println!("[the user speaks: the loudspeaker falls silent]"),
        Event::Unknown(message) => {
            if let Some(text) = message["serverContent"]["inputTranscription"]["text"].as_str() {
                println!("user: {text}");
            }
        }
        _ => {}
    }
}
