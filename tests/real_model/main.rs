//! The agent loop against a real server with a real, very small model: text that streams through three protocols, a typed
//! answer, and trials. `just real-model` starts the server and runs this with its base URL.

use serde_json::json;
use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::providers::Event;
use tool_adapters::transport::http::{HttpModel, Recording};
use tool_core::testing::{Trial, Trials};
use tool_core::{Runtime, ToolContext, tool, tool_type};

const PROTOCOLS: [(&str, Provider); 3] = [
    ("Chat", Provider::LlamaCpp),
    ("Messages", Provider::Anthropic),
    ("Responses", Provider::OpenAiResponses),
];

/// A city and its country.
#[tool_type]
#[derive(Debug)]
struct Place {
    city: String,
    country: String,
}

/// Book a room of the house.
#[tool]
fn book_room(room: u32) -> String {
    format!("room {room} is booked")
}

/// A model of the server. The tokens are few, as the server may write two of them in a second.
fn model(provider: Provider, url: &str, tokens: u32) -> HttpModel {
    HttpModel::new(provider, "gemma-3-270m")
        .base_url(url)
        .api_key("none")
        .max_tokens(tokens)
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        eprintln!("usage: real_model BASE_URL");
        return ExitCode::from(2);
    };
    match run(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let mut problems = Vec::new();
    println!("| what | result | seconds | first text, s | pieces | tokens in / out |");
    println!("|---|---|--:|--:|--:|--:|");
    for (name, provider) in PROTOCOLS {
        if let Err(error) = stream(name, provider, url).await {
            problems.push(format!("{name}: {error}"));
        }
    }
    if let Err(error) = typed(url).await {
        problems.push(format!("typed answer: {error}"));
    }
    if let Err(error) = replayed(url).await {
        problems.push(format!("recording: {error}"));
    }
    trials(url).await?;
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n").into())
    }
}

/// Streams a text, and tells when its pieces came.
async fn stream(name: &str, provider: Provider, url: &str) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let pieces = Arc::new(AtomicUsize::new(0));
    let first = Arc::new(AtomicUsize::new(0));
    let listener = {
        let (pieces, first) = (Arc::clone(&pieces), Arc::clone(&first));
        move |event: &Event| {
            if matches!(event, Event::Text(_)) && pieces.fetch_add(1, Ordering::Relaxed) == 0 {
                let elapsed = began.elapsed().as_millis();
                first.store(
                    usize::try_from(elapsed).unwrap_or(usize::MAX),
                    Ordering::Relaxed,
                );
            }
        }
    };
    let model = model(provider, url, 24).on_event(listener);
    let mut agent = AgentLoop::with_tools(ToolContext::builder().build()?, model).await?;
    let reply = agent.prompt("The capital of France is").await;
    let pieces = pieces.load(Ordering::Relaxed);
    let first = Duration::from_millis(first.load(Ordering::Relaxed) as u64);
    println!(
        "| text, {name} | {:?}, {} characters | {:.1} | {:.1} | {pieces} | {} / {} |",
        reply.finish,
        reply.text.as_deref().unwrap_or_default().chars().count(),
        began.elapsed().as_secs_f64(),
        first.as_secs_f64(),
        reply.usage.input,
        reply.usage.output,
    );
    if let Some(error) = reply.error {
        return Err(error.to_string().into());
    }
    if pieces < 2 || reply.usage.output == 0 {
        return Err(format!("the text came in {pieces} pieces, with {:?}", reply.usage).into());
    }
    Ok(())
}

/// Asks for an answer with a schema, which the server enforces by `response_format`.
async fn typed(url: &str) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let model = model(Provider::LlamaCpp, url, 96);
    let mut agent = AgentLoop::with_tools(ToolContext::builder().build()?, model).await?;
    let answer = agent
        .prompt_typed::<Place>("The capital of France is")
        .await;
    let (result, usage, error) = match answer {
        Ok(answer) => (format!("{:?}", answer.output), answer.reply.usage, None),
        Err(error) => {
            let text = error.text.clone().unwrap_or_default();
            let usage = error.reply.usage;
            (
                format!("no `Place`: {text:?}"),
                usage,
                Some(error.to_string()),
            )
        }
    };
    println!(
        "| `response_format` | {result} | {:.1} | | | {} / {} |",
        began.elapsed().as_secs_f64(),
        usage.input,
        usage.output
    );
    error.map_or(Ok(()), |error| Err(error.into()))
}

/// Records an answer of the server, and replays it.
async fn replayed(url: &str) -> Result<(), Box<dyn Error>> {
    let path = env::temp_dir().join(format!("real-model-{}.json", std::process::id()));
    let recording = Recording::record(&path);
    let recorded = ask(url, &recording).await?;
    recording.finish()?;

    let began = Instant::now();
    let replay = Recording::open(&path)?;
    // Nothing listens there.
    let replayed = ask("http://127.0.0.1:9", &replay).await?;
    replay.finish()?;
    std::fs::remove_file(&path)?;
    if recorded != replayed {
        return Err(format!("recorded {recorded:?}, replayed {replayed:?}").into());
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("| replay of a recorded answer | the same text | {seconds:.3} | | | |");
    Ok(())
}

async fn ask(url: &str, recording: &Recording) -> Result<Option<String>, Box<dyn Error>> {
    let model = model(Provider::LlamaCpp, url, 8).recording(recording);
    let mut agent = AgentLoop::with_tools(ToolContext::builder().build()?, model).await?;
    let reply = agent.prompt("The capital of France is").await;
    match reply.error {
        Some(error) => Err(error.to_string().into()),
        None => Ok(reply.text),
    }
}

/// Runs a trial and prints what happened. The template of this model does not even show it the tools, so its rate decides
/// nothing here: it needs 0 %.
async fn trials(url: &str) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::builder(ToolContext::builder().with(book_room).build()?).build()?;
    let books = Trial::new("calls book_room", "Book room 4 for Friday")
        .must_call("book_room", json!({"room": 4}))
        .repeat(2)
        .reach(0.0)
        .time_limit(Duration::from_mins(3));
    let mut trials = Trials::new("real model");
    trials.add(
        books
            .run(&runtime, |_run| model(Provider::LlamaCpp, url, 32))
            .await,
    );
    println!("\n{trials}");
    Ok(())
}
