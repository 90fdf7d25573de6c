//! A conversation that goes on after its worker was killed, and waits for a person, with Restate.
//!
//! `cargo run --example durable --features restate` installs the server of Restate with npm, starts it on the loopback address,
//! kills workers between two steps and inside a step, and approves a call from another process. Begin with `worker.rs`.

mod bank;
mod server;
mod worker;

use server::{Failure, RestateServer, free_address};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;

/// What the user wants. The bank asks a person before the last one.
const MESSAGE: &str = "pay 1, pay 2, refund 1";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => play().await,
        ["worker", folder, address] => worker::serve(Path::new(folder), address).await,
        ["approve", folder, ingress] => worker::approve(Path::new(folder), ingress).await,
        _ => Err("usage: cargo run --example durable --features restate".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn play() -> Result<(), Failure> {
    let program = RestateServer::program(true)?;
    let folder = Folder::create()?;
    let folder = folder.0.as_path();
    let server = RestateServer::start(&program, folder).await?;
    let address = free_address()?;
    let mut worker = Worker::start(folder, &address).await?;
    server.register(&address).await?;

    println!("you: {MESSAGE}");
    bank::kill_at(folder, "before pay 2")?;
    let conversation = server.message("chat-42", MESSAGE);
    let events = async {
        halted(folder).await?;
        worker.kill()?;
        println!("the worker is killed between two steps, after bill 1 was paid");

        bank::kill_at(folder, "inside pay 2")?;
        worker = Worker::start(folder, &address).await?;
        halted(folder).await?;
        worker.kill()?;
        println!("the next worker is killed inside a step, after the money for bill 2 has gone");

        worker = Worker::start(folder, &address).await?;
        println!("the third worker goes on, and the refund waits for a person");
        run_itself(&["approve", &text(folder), &server.ingress])?.wait()?;
        println!("another process has approved it");
        Ok::<_, Failure>(())
    };
    let (reply, told) = tokio::join!(conversation, events);
    told?;
    println!("the model: {}", reply?["text"].as_str().unwrap_or_default());
    check(folder)
}

/// Checks that each effect has happened once, and that the model was asked each question once.
fn check(folder: &Path) -> Result<(), Failure> {
    let mut counts = BTreeMap::new();
    for effect in bank::effects(folder) {
        *counts.entry(effect).or_insert(0) += 1;
    }
    println!("effects: {counts:?}");
    let mut questions = bank::asked(folder);
    let asked = questions.len();
    questions.dedup();
    if counts.len() != 3 || counts.values().any(|count| *count != 1) {
        return Err("an effect is missing, or has happened twice".into());
    }
    if questions.len() != asked {
        return Err("the model was asked a question twice".into());
    }
    println!("each effect has happened once, and the model was asked {asked} times");
    Ok(())
}

/// Waits until the worker has halted at its point.
async fn halted(folder: &Path) -> Result<(), Failure> {
    while !bank::has_halted(folder)? {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A worker in a process of its own. It ends when it is dropped.
struct Worker(Child);

impl Worker {
    async fn start(folder: &Path, address: &str) -> Result<Self, Failure> {
        let worker = Self(run_itself(&["worker", &text(folder), address])?);
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(worker)
    }

    fn kill(&mut self) -> Result<(), Failure> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It fails if it was killed already.
        let _ = self.kill();
    }
}

/// Starts this program again.
fn run_itself(arguments: &[&str]) -> Result<Child, Failure> {
    let mut command = Command::new(env::current_exe()?);
    Ok(command.args(arguments).stdin(Stdio::null()).spawn()?)
}

fn text(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}

/// A temporary folder. It is removed when it is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn create() -> Result<Self, Failure> {
        let folder = env::temp_dir().join(format!("durable-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
