//! Conversations that an engine runs, whose workers are killed: the tests of the package of each engine. The tools and the
//! workers are those of `examples/durable`, and `crate::Tested` is the engine.

use crate::Tested;
use crate::bank;
use crate::engine::DurableEngine;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tool_core::testing::skip;

/// The environment variables of another process: its folder, and where it finds the engine.
const FOLDER: &str = "DURABLE_TEST_FOLDER";
const PLACE: &str = "DURABLE_TEST_PLACE";
/// The longest time that a conversation takes.
const LIMIT: Duration = Duration::from_secs(90);

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("expected the variable {name}"))
}

/// A worker, where this process is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn serves() {
    let folder = variable(FOLDER);
    let served = Tested::serve(Path::new(&folder), &variable(PLACE)).await;
    served.expect("it serves");
}

/// The person, where this process is theirs.
#[tokio::test]
#[ignore = "the other tests run it in its own process"]
async fn approves() {
    let folder = variable(FOLDER);
    let approved = Tested::approve(Path::new(&folder), &variable(PLACE)).await;
    approved.expect("the decision is taken");
}

/// This binary as another process, which is killed when the value is dropped.
struct Process(Child);

impl Process {
    fn start(test: &str, folder: &Path, place: &str) -> Self {
        let this = std::env::current_exe().expect("this binary");
        let test = format!("conversations::{test}");
        let mut command = Command::new(this);
        command
            .args(["--exact", &test, "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(PLACE, place)
            .stdout(Stdio::null());
        Self(command.spawn().expect("it starts"))
    }

    fn kill(&mut self) {
        // It fails if the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits until the process has ended.
    fn succeeds(&mut self) -> bool {
        self.0.wait().expect("it ends").success()
    }

    async fn ends(&mut self) {
        while self.0.try_wait().expect("its state").is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An engine, and a worker in a process of its own.
struct Setting {
    folder: TempDir,
    engine: Tested,
    worker: Process,
}

impl Setting {
    /// Starts an engine and a worker. Returns `None` if there is no engine.
    async fn start() -> Option<Self> {
        if let Err(missing) = Tested::is_there(false) {
            skip(format_args!("{}: {missing}", Tested::NAME));
            return None;
        }
        let folder = TempDir::new().expect("a folder");
        let engine = Tested::start(folder.path()).await;
        let engine = engine.expect("the engine starts");
        let worker = Process::start("serves", folder.path(), engine.worker_place());
        let mut setting = Self {
            folder,
            engine,
            worker,
        };
        setting.worker_serves().await;
        Some(setting)
    }

    async fn worker_serves(&mut self) {
        tokio::select! {
            served = timeout(LIMIT, self.engine.worker_serves()) => {
                served.expect("it serves in time").expect("it serves");
            }
            () = self.worker.ends() => panic!("the worker has ended"),
        }
    }

    /// Kills the worker once it has come to a point, and starts another one.
    async fn kill(&mut self) {
        let halted = async {
            while !bank::has_halted(self.folder.path()).expect("the folder is there") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, halted).await.expect("the worker halts");
        self.restart().await;
    }

    /// Kills the worker, and starts another one.
    async fn restart(&mut self) {
        self.worker.kill();
        self.worker = Process::start("serves", self.folder.path(), self.engine.worker_place());
        self.worker_serves().await;
    }

    fn kill_at(&self, point: &str) {
        bank::kill_at(self.folder.path(), point).expect("the folder is there");
    }

    fn effects(&self) -> Vec<String> {
        bank::effects(self.folder.path())
    }

    /// Sends a message. The task returns the text of the reply.
    fn message(&self, text: &'static str) -> JoinHandle<String> {
        let sending = self.engine.message(text);
        tokio::spawn(async move {
            let replied = timeout(LIMIT, sending).await.expect("a reply in time");
            replied.expect("a reply")
        })
    }

    /// Starts the process of the person.
    fn person(&self) -> Process {
        Process::start("approves", self.folder.path(), self.engine.person_place())
    }
}

// M35
#[tokio::test]
async fn a_conversation_goes_on_after_a_kill_between_steps() {
    let Some(mut setting) = Setting::start().await else {
        return;
    };
    setting.kill_at("before pay 2");
    let reply = setting.message("pay 1, pay 2");
    setting.kill().await;
    let reply = reply.await.expect("a reply");
    assert_eq!(reply, "bill 1 is paid\nbill 2 is paid");
    assert_eq!(setting.effects(), ["pay 1", "pay 2"]);
    let asked = bank::asked(setting.folder.path());
    assert_eq!(asked, ["step 1", "step 3", "step 5"], "each once");
}

// M35
#[tokio::test]
async fn a_kill_inside_a_step_is_unknown_and_not_repeated() {
    let Some(mut setting) = Setting::start().await else {
        return;
    };
    setting.kill_at("inside pay 1");
    let reply = setting.message("pay 1");
    setting.kill().await;
    let reply = reply.await.expect("a reply");
    assert!(reply.contains("it is unknown whether"), "{reply}");
    assert_eq!(setting.effects(), ["pay 1"]);
}

// M35
#[tokio::test]
async fn an_approval_comes_from_another_process() {
    let Some(setting) = Setting::start().await else {
        return;
    };
    let reply = setting.message("refund 1");
    let mut person = setting.person();
    let reply = reply.await.expect("a reply");
    assert!(person.succeeds());
    assert!(reply.contains("bill 1 is refunded"), "{reply}");
    assert_eq!(setting.effects(), ["refund 1"]);
}

// M35
#[tokio::test]
async fn an_approval_is_waited_for_after_a_kill() {
    let Some(mut setting) = Setting::start().await else {
        return;
    };
    let reply = setting.message("refund 1");
    // The model has asked the user, so that the conversation waits.
    let waits = async {
        while bank::asked(setting.folder.path()).len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    timeout(LIMIT, waits).await.expect("the conversation waits");
    setting.restart().await;
    let mut person = setting.person();
    let reply = reply.await.expect("a reply");
    assert!(person.succeeds());
    assert!(reply.contains("bill 1 is refunded"), "{reply}");
    assert_eq!(setting.effects(), ["refund 1"]);
}
