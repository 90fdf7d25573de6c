//! Agents from a database. Start with `worker.rs`, which sets everything up, and `tour.rs`, which shows it.
//!
//! `cargo run --example worker --features worker` needs no network, account or key: it starts local servers for the calendar and mail.

#[path = "../calendar"]
mod calendar {
    pub(crate) mod api;
    pub(crate) mod config;
    pub(crate) mod error;
    pub(crate) mod server;
    pub(crate) mod toolset;
}
#[path = "../email"]
mod email {
    pub(crate) mod config;
    pub(crate) mod drafts;
    pub(crate) mod error;
    pub(crate) mod inbox;
    pub(crate) mod letter;
    pub(crate) mod mailer;
    pub(crate) mod server;
    pub(crate) mod toolset;
}

mod admin;
mod command;
mod conversation;
mod database;
mod errors;
mod home;
mod outbox;
mod seed;
mod serve;
mod signals;
mod tour;
mod worker;

use command::{Command, USAGE};
use std::env;
use std::process::ExitCode;
use worker::{Failure, Worker};

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
    let (db, command) = match command::read(&arguments) {
        Ok(read) => read,
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let done = async {
        let db = home::database(db)?;
        let worker = Worker::open(&db).await?;
        let done = run(&worker, command).await;
        worker.agents.close().await;
        done
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(worker: &Worker, command: Command) -> Result<(), Failure> {
    match command {
        Command::Tour => tour::run(worker).await,
        Command::Serve => serve::run(worker).await,
        command => admin::run(worker, command).await,
    }
}
