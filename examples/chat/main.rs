//! A conversation with a reasoning model over HTTP: streamed text, tool calls, an approval, and what goes wrong on the way.
//!
//! `cargo run --example chat` talks to a local server that answers like Chat Completions. One of its answers is cut off at the
//! limit of tokens, and one loses an event. No tool runs with half of its arguments, and the conversation goes on. With a
//! real provider:
//! `CHAT_PROVIDER=anthropic CHAT_MODEL=claude-sonnet-5 ANTHROPIC_API_KEY=... cargo run --example chat`.

mod diary;
mod print;
mod server;

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::io::{self, BufRead};
use std::process::ExitCode;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::{ErrorKind, Mode, Policy, Runtime, ToolContext};

const USAGE: &str = "\
usage: cargo run --example chat

Plays a conversation with a server of this machine. Where CHAT_MODEL is set, it reads what you say line by line and talks
to that model instead:

  CHAT_PROVIDER    openai-chat (unless set), anthropic, gemini, or another name in docs/book/provider_tables.md
  CHAT_MODEL       the model's name there
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...    the key, and OPENAI_BASE_URL, ... another address";

#[tokio::main]
async fn main() -> ExitCode {
    if env::args_os().len() > 1 {
        println!("{USAGE}");
        return ExitCode::from(if env::args().any(|argument| argument == "--help") {
            0
        } else {
            2
        });
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder()
        .with(diary::Diary::default())
        .build()?;
    let runtime = Runtime::builder(tools)
        .policy(Policy::text())
        .hook(print::Answers)
        .build()?;
    let session = runtime.session("chat-1", Mode::Text).await?;

    let Ok(name) = env::var("CHAT_MODEL") else {
        let model = HttpModel::new(Provider::OpenAiChat, "local")
            .base_url(server::start().await?)
            .max_tokens(32);
        let mut agent = AgentLoop::new(session, model.on_event(print::piece));
        for line in server::USER {
            println!("you: {line}");
            say(&mut agent, line).await?;
        }
        return Ok(());
    };
    let provider = env::var("CHAT_PROVIDER")
        .unwrap_or_else(|_| Provider::OpenAiChat.name().to_owned())
        .parse()?;
    let mut agent = AgentLoop::new(
        session,
        HttpModel::new(provider, name).on_event(print::piece),
    );
    for line in io::stdin().lock().lines() {
        say(&mut agent, &line?).await?;
    }
    Ok(())
}

/// Runs one turn, and approves pending calls. A real host would ask a person.
async fn say(agent: &mut AgentLoop<HttpModel>, line: &str) -> Result<(), Box<dyn Error>> {
    let mut reply = agent.prompt(line).await;
    if let Some(error) = reply
        .error
        .as_ref()
        .filter(|error| error.kind == ErrorKind::Transient)
    {
        // The answer was shown as it came, so the model is asked again only where the host says so.
        println!("\n  ! {error}\n  asking again:");
        reply = agent.resume().await;
    }
    print::end(&reply);
    loop {
        // The token is for the host only. A model with the token could approve its own call.
        let mut tokens = reply
            .confirmations()
            .map(|asked| asked.token.clone())
            .collect::<VecDeque<_>>();
        if tokens.is_empty() {
            return reply
                .error
                .map_or(Ok(()), |error| Err(error.to_string().into()));
        }
        while let Some(token) = tokens.pop_front() {
            println!("you agree");
            let done = agent.approve(&token).await;
            let nested = done.meta().confirmations();
            tokens.extend(nested.map(|asked| asked.token.clone()));
        }
        reply = agent.resume().await;
        print::end(&reply);
    }
}
