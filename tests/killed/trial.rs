//! One conversation whose processes are killed.

use crate::dice::Dice;
use crate::points::POINT;
use crate::setting::Setting;
use crate::tally::Tally;
use crate::worker::{AGAIN, FINISHED, FOLDER, ID, JOURNAL, OPENS, PLACE, SAYS, TURNS};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The most kills of one conversation.
const KILLS: u32 = 5;
/// The processes after which a conversation should have come to its end.
pub const PROCESSES: u32 = 60;

/// How the processes of a conversation end.
pub enum Ends<'a> {
    /// Most are killed after a random time, while kills are left.
    AtRandom {
        random: &'a mut Dice,
        /// The time that a process takes on average, from the opening of the conversation to its end.
        average: &'a mut Duration,
    },
    /// One of them ends itself at a point. Both are counted from 0.
    AtPoint { process: u32, point: u32 },
    /// None is killed.
    NotAtAll,
}

/// A process of a conversation.
struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// How a process has ended.
struct WorkerEnd {
    said: Vec<String>,
    was_killed: bool,
}

impl Worker {
    /// Starts a process, and waits until it opens the conversation.
    fn start(setting: &Setting, turns: usize, point: Option<u32>) -> Self {
        let mut command = command(setting, "worker::goes_on_with_the_conversation", turns);
        if let Some(point) = point {
            command.env(POINT, point.to_string());
        }
        let mut child = command.spawn().expect("it starts");
        let output = child.stdout.take().expect("its output");
        let mut worker = Self {
            child,
            lines: BufReader::new(output).lines(),
        };
        while worker.line().is_some_and(|line| line != OPENS) {}
        worker
    }

    /// Returns the next line that the process says.
    fn line(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            if let Some(said) = line.strip_prefix(SAYS) {
                return Some(said.to_owned());
            }
        }
    }

    fn kill_after(&mut self, delay: Duration) {
        thread::sleep(delay);
        // It fails if the process has ended.
        let _ = self.child.kill();
    }

    fn end(mut self) -> WorkerEnd {
        let mut said = Vec::new();
        while let Some(line) = self.line() {
            said.push(line);
        }
        let status = self.child.wait().expect("it ends");
        WorkerEnd {
            said,
            was_killed: status.signal().is_some(),
        }
    }
}

/// Returns the command that runs a test of this binary as another process of the conversation.
pub fn command(setting: &Setting, test: &str, turns: usize) -> Command {
    let this = std::env::current_exe().expect("this binary");
    let errors = OpenOptions::new()
        .create(true)
        .append(true)
        .open(setting.folder.join("errors"));
    let mut command = Command::new(this);
    command
        .args(["--exact", test])
        .args(["--ignored", "--nocapture"])
        .env(PLACE, &setting.place)
        .env(ID, &setting.id)
        .env(FOLDER, &setting.folder)
        .env(JOURNAL, setting.journal.name())
        .env(TURNS, turns.to_string())
        .env_remove(POINT)
        .stdout(Stdio::piped())
        .stderr(errors.expect("the file opens"));
    command
}

/// Plays the conversation to the end of a turn. Returns false if the process did not reach its point.
pub fn play(
    setting: &Setting,
    turns: usize,
    ends: &mut Ends<'_>,
    tally: &mut Tally,
) -> Result<bool, String> {
    let mut kills = 0;
    for process in 0..PROCESSES {
        let point = match ends {
            Ends::AtPoint {
                process: dies,
                point,
            } if *dies == process => Some(*point),
            _ => None,
        };
        let mut worker = Worker::start(setting, turns, point);
        let began = Instant::now();
        if let Ends::AtRandom { random, average } = ends
            && kills < KILLS
            && random.below(5) > 0
        {
            // Some processes take longer than the average. A part of it, so that a seed draws the
            // same on a slower machine.
            let parts = u32::try_from(random.below(1_000)).unwrap_or_default();
            worker.kill_after(**average * 3 / 2 * parts / 1_000);
        }
        let end = worker.end();
        tally.processes += 1;
        if end.was_killed {
            kills += 1;
            tally.kills += 1;
            if let Some(point) = end.said.last() {
                tally.points.insert(point.clone());
            }
            continue;
        }
        if let Ends::AtRandom { average, .. } = ends {
            **average = (**average * 7 + began.elapsed()) / 8;
        }
        match end.said.last().map(String::as_str) {
            Some(AGAIN | FINISHED) if point.is_some() => return Ok(false),
            Some(FINISHED) => return Ok(true),
            Some(AGAIN) => {}
            _ => return Err(format!("a process failed:\n{}", errors(setting))),
        }
    }
    let errors = errors(setting);
    Err(format!(
        "{PROCESSES} processes did not end the conversation:\n{errors}"
    ))
}

/// Returns what the processes have written to their error stream.
pub fn errors(setting: &Setting) -> String {
    let file = File::open(setting.folder.join("errors"));
    let lines = BufReader::new(file.expect("the file opens")).lines();
    let lines = lines.map_while(Result::ok).collect::<Vec<_>>();
    let first = lines.len().saturating_sub(40);
    lines[first..].join("\n")
}
