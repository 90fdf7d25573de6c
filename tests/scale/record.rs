//! What the calls of all workers have done, and what was told of them.

use crate::worker::{BUDGET, CALLS};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use tool_core::{ErrorKind, ToolResponse};

/// What a worker was told of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Done,
    Unknown,
    /// Another process runs it.
    Running,
    OverBudget,
}

impl Told {
    pub fn of(response: &ToolResponse) -> Self {
        match response.error().map(|error| error.kind) {
            None => Self::Done,
            Some(ErrorKind::Unknown) => Self::Unknown,
            Some(ErrorKind::Conflict) => Self::Running,
            Some(ErrorKind::BudgetExceeded) => Self::OverBudget,
            Some(_) => panic!("unexpected: {response}"),
        }
    }
}

/// The files of a worker. A line is written at once, so that a kill cuts none.
pub struct Log {
    effects: Mutex<File>,
    told: Mutex<File>,
    round: PathBuf,
}

fn append(file: PathBuf) -> Mutex<File> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    Mutex::new(opened.expect("the file opens"))
}

fn write(file: &Mutex<File>, line: &str) {
    let mut file = file.lock().expect("sound");
    file.write_all(line.as_bytes()).expect("it is written");
}

impl Log {
    pub fn open(folder: &Path, worker: usize) -> Self {
        Self {
            effects: append(folder.join("effects")),
            told: append(folder.join("told")),
            round: folder.join(format!("round-{worker}")),
        }
    }

    /// Notes that a call takes effect.
    pub fn effect(&self, call_id: &str) {
        write(&self.effects, &format!("{call_id}\n"));
    }

    pub fn told(&self, call_id: &str, told: Told, time: Duration) {
        let line = format!("{call_id} {told:?} {}\n", time.as_micros());
        write(&self.told, &line);
    }

    /// Returns the round that an earlier process of the worker has begun.
    pub fn round(&self) -> u64 {
        let text = fs::read_to_string(&self.round).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    pub fn set_round(&self, round: u64) {
        fs::write(&self.round, round.to_string()).expect("it is written");
    }
}

/// The record of a run.
pub struct Record {
    /// How often each call has taken effect.
    effects: HashMap<String, u32>,
    told: HashMap<String, Vec<Told>>,
    /// The times of all calls in microseconds, from the shortest to the longest.
    times: Vec<u64>,
}

impl Record {
    pub fn read(folder: &Path) -> Self {
        let mut effects = HashMap::new();
        let text = fs::read_to_string(folder.join("effects")).expect("the effects");
        for id in text.lines() {
            *effects.entry(id.to_owned()).or_default() += 1;
        }

        let mut told: HashMap<_, Vec<_>> = HashMap::new();
        let mut times = Vec::new();
        let text = fs::read_to_string(folder.join("told")).expect("what was told");
        for line in text.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let [id, what, time] = fields[..] else {
                panic!("a line of what was told: {line}")
            };
            let what = match what {
                "Done" => Told::Done,
                "Unknown" => Told::Unknown,
                "Running" => Told::Running,
                _ => Told::OverBudget,
            };
            told.entry(id.to_owned()).or_default().push(what);
            times.push(time.parse().expect("a time"));
        }
        times.sort_unstable();
        Self {
            effects,
            told,
            times,
        }
    }

    /// Checks that nothing happened twice or unseen, and that no budget was exceeded.
    pub fn check(&self) {
        let twice = self.effects.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None, "a call took effect twice");

        for id in self.effects.keys() {
            let told = self.told.get(id).map_or(&[][..], Vec::as_slice);
            let is_told = told
                .iter()
                .any(|told| matches!(told, Told::Done | Told::Unknown));
            assert!(is_told, "{id} took effect, and was told to be {told:?}");
        }
        for (id, told) in &self.told {
            let is_done = told.contains(&Told::Done);
            assert!(
                !is_done || self.effects.contains_key(id),
                "{id} did nothing, and was told to be done"
            );
        }

        let mut sessions: HashMap<&str, u32> = HashMap::new();
        for id in self.effects.keys() {
            let (session, _) = id.rsplit_once('-').expect("a session and a number");
            *sessions.entry(session).or_default() += 1;
        }
        let over = sessions.iter().find(|(_, calls)| **calls > BUDGET);
        assert_eq!(over, None, "a session had more calls than its budget");
        assert!(sessions.len() > 1 && sessions.values().any(|calls| *calls as usize <= CALLS));
    }

    pub fn summary(&self, time: Duration) -> String {
        let count = |what| {
            self.told
                .values()
                .flatten()
                .filter(|told| **told == what)
                .count()
        };
        let at = |part: usize| self.times[(self.times.len() - 1) * part / 100];
        let all = self.times.len() as f64 / time.as_secs_f64();
        format!(
            "{} calls, {all:.0} a second: {} done, {} unknown, {} running elsewhere, {} over budget; {} effects, 0 twice; \
             a call takes {} us at the median, {} us at the 99th percentile",
            self.times.len(),
            count(Told::Done),
            count(Told::Unknown),
            count(Told::Running),
            count(Told::OverBudget),
            self.effects.len(),
            at(50),
            at(99),
        )
    }
}
