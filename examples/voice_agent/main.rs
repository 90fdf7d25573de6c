//! A conversation that crosses from text to voice and back: one session, one history, one set of rules.
//!
//! `cargo run --example voice_agent` plays it with a local server that answers like Gemini Live: a handover to voice, a tool,
//! a broken connection, an interruption, an answer that is not spoken, a confirmation, and a handover back to text.
//!
//! With a key, the program talks to a real provider. It reads raw PCM (16 bits, mono, the provider's rate), and writes the
//! model's PCM to standard output and what happens to standard error:
//!
//! ```text
//! ffmpeg -i question.wav -f s16le -ac 1 -ar 16000 question.pcm
//! VOICE_MODEL=gemini-live-2.5-flash GEMINI_API_KEY=... cargo run --example voice_agent -- question.pcm > answer.pcm
//! ```

mod audio;
mod desk;
mod guest;
mod host;
mod server;

use host::{Host, Screen};
use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::websocket::{LiveLoop, LiveModel};
use tool_core::{Mode, Runtime, ToolContext};

const USAGE: &str = "\
usage: cargo run --example voice_agent [-- FILE]

Plays a conversation with a server of this machine. Where VOICE_MODEL is set, it sends raw PCM from FILE, or from standard
input for `-`, to that model instead, and writes what the model says to standard output:

  VOICE_PROVIDER   gemini-live (unless set; 16,000 samples a second) or openai-realtime (24,000)
  VOICE_MODEL      the model's name there
  GEMINI_API_KEY, OPENAI_API_KEY    the key";

const INSTRUCTIONS: &str = "You are at the front desk of a hotel. Answer in one sentence.";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    let outcome = match (env::var("VOICE_MODEL"), arguments.as_slice()) {
        (Err(_), []) => play().await,
        (Ok(model), [file]) if file != "--help" => talk(model, file).await,
        (_, arguments) => {
            println!("{USAGE}");
            return ExitCode::from(if arguments == ["--help"] { 0 } else { 2 });
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tools() -> Result<ToolContext, Box<dyn Error>> {
    let tools = ToolContext::builder()
        .with(desk::opening_hours)
        .with(desk::call_back)
        .with(desk::call_taxi);
    let tools = tools
        .with(desk::show_door_code)
        .with(desk::cancel_booking)
        .with(desk::continue_in_writing);
    Ok(tools.build()?)
}

/// Plays the whole conversation.
async fn play() -> Result<(), Box<dyn Error>> {
    let screen = Screen::Output;
    let session = Runtime::builder(tools()?)
        .build()?
        .session("guest-12", Mode::Text)
        .background_answers()
        .await?;

    let mut agent = AgentLoop::new(session.clone(), guest::before()).instructions(INSTRUCTIONS);
    for line in guest::WRITES_FIRST {
        screen.says(&mut agent, line).await;
    }

    session.switch_mode(Mode::Voice).await?;
    screen.line("-- voice");
    let retry = RetryPolicy {
        max: Duration::from_millis(200),
        ..RetryPolicy::default()
    };
    let model = LiveModel::new(Provider::GeminiLive, "local")
        .base_url(server::start().await?)
        .retry(retry);
    let model = model.instructions(INSTRUCTIONS).enter();
    let mut live = LiveLoop::with_history(session.clone(), model, agent.history().clone());
    live.input().audio([0; 640]).await?;
    Host::new(screen, session.clone(), live.input())
        .attend(&mut live)
        .await?;

    session.switch_mode(Mode::Text).await?;
    screen.line("-- text");
    let mut agent =
        AgentLoop::with_history(session, guest::after(), live.history()).instructions(INSTRUCTIONS);
    screen.says(&mut agent, guest::WRITES_LAST).await;
    screen.report(&agent).await;
    Ok(())
}

/// Talks to a real model.
async fn talk(model: String, file: &str) -> Result<(), Box<dyn Error>> {
    let provider = match env::var("VOICE_PROVIDER").as_deref() {
        Ok("openai-realtime") => Provider::OpenAiRealtime,
        Ok("gemini-live") | Err(_) => Provider::GeminiLive,
        Ok(other) => {
            return Err(
                format!("expected `gemini-live` or `openai-realtime`, got `{other}`").into(),
            );
        }
    };
    let session = Runtime::builder(tools()?)
        .build()?
        .session("guest-12", Mode::Voice)
        .background_answers()
        .await?;
    let model = LiveModel::new(provider, model).instructions(INSTRUCTIONS);
    let model = match provider {
        Provider::GeminiLive => model.setting("generationConfig", audio::spoken_answers()),
        _ => model,
    };
    let mut live = LiveLoop::start(session.clone(), model);
    let microphone = audio::send(file, provider, live.input()).await?;
    let mut host = Host::new(Screen::Error, session, live.input());
    host.attend_while(&mut live, microphone).await
}
