//! A concierge with the limits of a session: budgets, loops, modes, approvals, intents. `knowledge_base.rs`,
//! `conversation.rs` and `front_desk.rs` are the tools, and `play.rs` is the host. Start there.
//!
//! `cargo run --example concierge` plays `conversation.txt`.

mod articles;
mod conversation;
mod front_desk;
mod index;
mod knowledge_base;
mod play;
mod report;
mod script;
mod tools;

use std::env;
use std::error::Error;
use std::io;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo run --example concierge [-- FILE]

Plays a conversation, first written and then spoken, and prints what became of each call: the envelope, what was
refused and why, the intents and the audit log, the instructions of the session, and its state as each turn ends.

  FILE    a script; `-` reads standard input; without it, examples/concierge/conversation.txt, which says what a
          script looks like";

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
    let scenes = match read(&arguments) {
        Ok(scenes) => scenes,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&scenes).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the script that the command line names.
fn read(arguments: &[String]) -> Result<Vec<script::Scene>, String> {
    let (from, text) = match arguments {
        [] => (
            "conversation.txt",
            Ok(include_str!("conversation.txt").to_owned()),
        ),
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
    script::parse(&text).map_err(|problem| format!("{from}: {problem}"))
}

async fn run(scenes: &[script::Scene]) -> Result<(), Box<dyn Error>> {
    let played = play::play(tools::tools()?, scenes).await?;
    report::write(&mut io::stdout().lock(), &played)?;
    Ok(())
}
