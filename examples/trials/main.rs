//! Trials of a model that uses the tools of a front desk, against a recorded conversation.
//!
//! `cargo run --example trials` replays `recordings/desk.json`, so it needs no network and no key, and prints the same table
//! each time. The recording that is here was made with a server that plays a model. To record a model of yours:
//! `RECORD_MODELS=1 TRIALS_PROVIDER=openai-chat TRIALS_MODEL=gpt-5 OPENAI_API_KEY=... cargo run --example trials`.

mod desk;

use desk::FrontDesk;
use serde_json::json;
use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::transport::http::{HttpModel, Recording};
use tool_core::testing::{Trial, Trials};
use tool_core::{Runtime, ToolContext};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("trials/recordings/desk.json");
    let recording = Recording::from_env(file)?;
    let provider = env::var("TRIALS_PROVIDER").unwrap_or_else(|_| "openai-chat".to_owned());
    let provider = provider.parse::<Provider>()?;
    let name = env::var("TRIALS_MODEL").unwrap_or_else(|_| "played".to_owned());
    let model = |_run| HttpModel::new(provider, name.clone()).recording(&recording);

    let mut trials = Trials::new("front desk");
    for trial in trials_of_the_desk() {
        // Each trial has a desk of its own, so that one finds no bookings of another.
        let tools = ToolContext::builder().with(FrontDesk::default()).build()?;
        let runtime = Runtime::builder(tools).build()?;
        trials.add(trial.run(&runtime, model).await);
    }
    recording.finish()?;

    println!("{trials}");
    if let Some(path) = env::args_os().nth(1) {
        trials.save_junit(path)?;
    }
    Ok(trials.has_passed())
}

fn trials_of_the_desk() -> Vec<Trial> {
    let instructions = "You work at the front desk. Be brief.";
    let books = Trial::new("books a room", "Book room 4 for Friday")
        .must_call("book_room", json!({"room": 4, "day": "friday"}))
        .may_call("find_rooms")
        .check("names the room", |answer: &str| answer.contains('4'));
    let finds = Trial::new("finds rooms", "Which rooms are free on Monday?")
        .must_call("find_rooms", json!({"day": "monday"}))
        .no_other_calls()
        .repeat(3)
        .reach(0.6);
    let asks = Trial::new("asks for the day", "Cancel the booking of room 4")
        .must_not_call("cancel_booking")
        .must_not_call("book_room")
        .check("asks a question", |answer: &str| answer.contains('?'));
    [books, finds, asks]
        .map(|trial| {
            trial
                .instructions(instructions)
                .time_limit(Duration::from_mins(2))
        })
        .into()
}
