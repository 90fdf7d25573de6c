//! One conversation that an engine runs, whose workers are killed.

use crate::dice::Dice;
use crate::engine::TestedEngine;
use crate::places::with_store;
use crate::points::POINT;
use crate::script::PROMPTS;
use crate::setting::{PRINCIPAL, Setting};
use crate::tally::Tally;
use crate::trial::{PROCESSES, command, errors};
use crate::with_dbos::Dbos;
use crate::with_restate::Restate;
use crate::worker::{OPENS, SAYS, keep_token, setting_of_this_process};
use std::collections::HashSet;
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tool_adapters::agent::Decision;
use tool_core::Runtime;

/// The most kills in a turn.
const KILLS: u64 = 4;
/// The longest time that a turn takes, with its kills.
const LIMIT: Duration = Duration::from_secs(120);
/// The points that a process may reach in a turn. Most reach fewer.
const POINTS: u64 = 30;

/// The environment variables of the worker: the engine, and where it is.
const ENGINE: &str = "KILLED_TEST_ENGINE";
const ENGINE_PLACE: &str = "KILLED_TEST_ENGINE_PLACE";

/// The worker, where this process is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn serves() {
    let setting = setting_of_this_process();
    let place = crate::places::variable(ENGINE_PLACE);
    let engine = crate::places::variable(ENGINE);
    let store_place = setting.place.clone();
    let served = with_store!(&store_place, |store| match &*engine {
        Restate::NAME => Restate::serve(&place, setting, store).await,
        Dbos::NAME => Dbos::serve(&place, setting, store).await,
        engine => panic!("the engine {engine}"),
    });
    served.expect("it serves");
}

/// How a worker ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// It ends itself at a point, as if it was killed there.
    AtPoint(u64),
    /// It is killed a time after it has begun to answer, or to go on.
    AfterOpening(Duration),
    /// It is killed a time after its start.
    AfterStart(Duration),
    /// It is not killed.
    NotAtAll,
}

impl End {
    fn random(random: &mut Dice) -> Self {
        match random.below(10) {
            0..5 => Self::AtPoint(random.below(POINTS)),
            5..9 => Self::AfterOpening(Duration::from_millis(random.below(400))),
            _ => Self::AfterStart(Duration::from_millis(random.below(800))),
        }
    }
}

/// A process that serves the conversation. It is killed when it is dropped.
struct EngineWorker {
    child: Child,
    said: mpsc::UnboundedReceiver<String>,
}

impl EngineWorker {
    fn start<E: TestedEngine>(engine: &E, setting: &Setting, end: End) -> Self {
        let mut command = command(setting, "engine_trial::serves", PROMPTS.len());
        command
            .env(ENGINE, E::NAME)
            .env(ENGINE_PLACE, engine.place());
        if let End::AtPoint(point) = end {
            command.env(POINT, point.to_string());
        }
        let mut child = command.spawn().expect("it starts");
        let output = child.stdout.take().expect("its output");
        let (say, said) = mpsc::unbounded_channel();
        thread::spawn(move || read(output, &say));
        Self { child, said }
    }

    /// Waits until the worker has ended as it should.
    async fn killed(&mut self, end: End, tally: &mut Tally) -> Result<(), String> {
        if let End::AfterStart(delay) = end {
            sleep(delay).await;
            self.kill();
            return Ok(());
        }
        let mut last = None;
        while let Some(line) = self.said.recv().await {
            if let End::AfterOpening(delay) = end
                && line == OPENS
            {
                sleep(delay).await;
                self.kill();
                return Ok(());
            }
            last = Some(line);
        }
        // The stream ends with the process.
        let status = self.child.wait().expect("it ends");
        if status.signal().is_none() {
            return Err("a worker failed".to_owned());
        }
        tally.points.extend(last);
        Ok(())
    }

    fn kill(&mut self) {
        // It fails if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for EngineWorker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads what a process says until its end.
fn read(output: ChildStdout, say: &mpsc::UnboundedSender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(said) = line.strip_prefix(SAYS)
            && say.send(said.to_owned()).is_err()
        {
            return;
        }
    }
}

/// Makes the worker known to the engine.
pub async fn introduce<E: TestedEngine>(engine: &E, setting: &Setting) {
    let _worker = EngineWorker::start(engine, setting, End::NotAtAll);
    let serves = timeout(LIMIT, engine.worker_serves()).await;
    serves.expect("it serves in time").expect("it is known");
}

/// Plays a turn of the conversation to its end. The person decides while the workers are killed.
pub async fn play_with<E: TestedEngine>(
    engine: &E,
    setting: &Setting,
    runtime: &Runtime,
    turn: usize,
    random: &mut Dice,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut left = random.below(KILLS + 1);
    let mut decided = HashSet::new();
    let mut reply = tokio::spawn(engine.message(&setting.id, turn, PROMPTS[turn]));
    for _ in 0..PROCESSES {
        let end = match left {
            0 => End::NotAtAll,
            _ => End::random(random),
        };
        let mut worker = EngineWorker::start(engine, setting, end);
        tally.processes += 1;
        let killed = tokio::select! {
            replied = &mut reply => {
                let replied = replied.map_err(|error| error.to_string())?;
                return replied.map_err(|failure| failure.to_string());
            }
            killed = worker.killed(end, tally) => killed,
            never = decide(engine, setting, runtime, &mut decided) => match never {},
            () = sleep(LIMIT) => Err(format!("no reply to message {turn} in time")),
        };
        killed.map_err(|problem| format!("{problem}:\n{}", errors(setting)))?;
        tally.kills += 1;
        left -= 1;
    }
    Err(format!(
        "{PROCESSES} processes did not end the conversation"
    ))
}

/// Approves each call of the conversation that waits for a person, once.
async fn decide<E: TestedEngine>(
    engine: &E,
    setting: &Setting,
    runtime: &Runtime,
    decided: &mut HashSet<String>,
) -> Infallible {
    loop {
        for token in waiting(setting, runtime).await {
            if decided.contains(&token) {
                continue;
            }
            if !setting.tokens().contains(&token) {
                keep_token(setting, &token);
            }
            let decision = Decision::approve(&*token).by("a person");
            match engine.decide(&setting.id, &decision).await {
                Ok(()) => _ = decided.insert(token),
                Err(failure) => eprintln!("{failure}"),
            }
        }
        sleep(Duration::from_millis(30)).await;
    }
}

/// Returns the tokens of the conversation's calls that wait for a person.
async fn waiting(setting: &Setting, runtime: &Runtime) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut after = None;
    loop {
        let page = runtime
            .pending_approvals(PRINCIPAL, after.as_ref(), 100)
            .await;
        let Ok(page) = page else { return tokens };
        let of_this = page.calls.into_iter();
        let of_this = of_this.filter(|waiting| waiting.call.session == setting.id);
        tokens.extend(of_this.map(|waiting| waiting.token));
        after = page.next;
        if after.is_none() {
            return tokens;
        }
    }
}
