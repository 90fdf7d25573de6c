//! A conversation that goes on after its worker was killed, and waits for a person, with an engine for durable execution.
//!
//! `cargo run --example durable --features restate` installs the server of Restate with npm and starts it on the loopback
//! address. `cargo run --example durable --features dbos -- dbos` needs nothing but PostgreSQL, which `POSTGRES_URL` names.
//!
//! Both kill workers between two steps and inside a step, and approve a call from another process. Begin with `worker.rs`, and
//! then read `restate.rs` or `dbos.rs`.

mod bank;
#[cfg(feature = "dbos")]
mod dbos;
mod engine;
#[cfg(feature = "restate")]
mod restate;
#[cfg(feature = "restate")]
mod server;
mod worker;

use engine::{DurableEngine, Failure};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

/// What the user wants. The bank asks a person before the last one.
const MESSAGE: &str = "pay 1, pay 2, refund 1";
const USAGE: &str = "usage: cargo run --example durable --features restate\n   or: cargo run --example durable --features dbos -- dbos";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        #[cfg(feature = "dbos")]
        ["dbos", ref rest @ ..] => run::<dbos::Dbos>(rest).await,
        #[cfg(feature = "restate")]
        ["restate", ref rest @ ..] => run::<restate::Restate>(rest).await,
        #[cfg(feature = "restate")]
        [] => run::<restate::Restate>(&[]).await,
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run<E: DurableEngine>(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        [] => play::<E>().await,
        ["worker", folder, place] => E::serve(Path::new(folder), place).await,
        ["approve", folder, place] => E::approve(Path::new(folder), place).await,
        _ => Err(USAGE.into()),
    }
}

async fn play<E: DurableEngine>() -> Result<(), Failure> {
    E::is_there(true)?;
    let folder = Folder::create()?;
    let folder = folder.0.as_path();
    let mut engine = E::start(folder).await?;
    let mut worker = Worker::start(&mut engine, folder).await?;

    println!("you: {MESSAGE}");
    bank::kill_at(folder, "before pay 2")?;
    let conversation = engine.message(MESSAGE);
    let events = async {
        halted(folder).await?;
        worker.kill()?;
        println!("the worker is killed between two steps, after bill 1 was paid");

        bank::kill_at(folder, "inside pay 2")?;
        worker = Worker::start(&mut engine, folder).await?;
        halted(folder).await?;
        worker.kill()?;
        println!("the next worker is killed inside a step, after the money for bill 2 has gone");

        worker = Worker::start(&mut engine, folder).await?;
        println!("the third worker goes on, and the refund waits for a person");
        run_itself::<E>(&["approve", &text(folder), engine.person_place()])?.wait()?;
        println!("another process has approved it");
        Ok::<_, Failure>(())
    };
    let (reply, told) = tokio::join!(conversation, events);
    told?;
    println!("the model: {}", reply?);
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
    async fn start<E: DurableEngine>(engine: &mut E, folder: &Path) -> Result<Self, Failure> {
        let worker = Self(run_itself::<E>(&[
            "worker",
            &text(folder),
            engine.worker_place(),
        ])?);
        engine.worker_serves().await?;
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
fn run_itself<E: DurableEngine>(arguments: &[&str]) -> Result<Child, Failure> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(E::NAME).args(arguments).stdin(Stdio::null());
    Ok(command.spawn()?)
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
