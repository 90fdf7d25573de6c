//! Conversations that a server of Restate runs, whose workers are killed. The server, the tools and the workers are those of
//! `examples/durable`.

#![allow(unreachable_pub)] // the modules of a test have no public interface

#[path = "../../../../examples/durable/bank.rs"]
mod bank;
#[path = "../../../../examples/durable/server.rs"]
mod server;
mod steps;
#[path = "../../../../examples/durable/worker.rs"]
mod worker;

use server::{RestateServer, free_address};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tool_core::testing::skip;

/// The environment variables of another process: its folder, and the address of the worker or of the ingress.
const FOLDER: &str = "RESTATE_TEST_FOLDER";
const ADDRESS: &str = "RESTATE_TEST_ADDRESS";
/// The longest time that a conversation takes.
const LIMIT: Duration = Duration::from_secs(120);

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("expected the variable {name}"))
}

/// A worker, where this process is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn serves() {
    let folder = variable(FOLDER);
    let served = worker::serve(Path::new(&folder), &variable(ADDRESS)).await;
    served.expect("it serves");
}

/// The person, where this process is theirs.
#[tokio::test]
#[ignore = "the other tests run it in its own process"]
async fn approves() {
    let folder = variable(FOLDER);
    let approved = worker::approve(Path::new(&folder), &variable(ADDRESS)).await;
    approved.expect("the decision is taken");
}

/// Starts this binary as another process.
fn process(test: &str, folder: &Path, address: &str) -> Child {
    let this = std::env::current_exe().expect("this binary");
    Command::new(this)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(ADDRESS, address)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// A server, and a worker in a process of its own.
struct Setting {
    folder: TempDir,
    server: RestateServer,
    address: String,
    worker: Child,
}

impl Setting {
    /// Starts a server and a worker. Returns `None` if there is no server.
    async fn start() -> Option<Self> {
        let program = match RestateServer::program(false) {
            Ok(program) => program,
            Err(missing) => {
                let hint = "`cargo run --example durable --features restate` installs it";
                skip(format!("{missing}: {hint}"));
                return None;
            }
        };
        let folder = TempDir::new().expect("a folder");
        let server = RestateServer::start(&program, folder.path()).await;
        let server = server.expect("the server starts");
        let address = free_address().expect("an address");
        let worker = process("serves", folder.path(), &address);
        let setting = Self {
            folder,
            server,
            address,
            worker,
        };
        setting.worker_serves().await;
        let registered = setting.server.register(&setting.address).await;
        registered.expect("the worker is registered");
        Some(setting)
    }

    async fn worker_serves(&self) {
        let serves = async {
            while TcpStream::connect(&self.address).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, serves).await.expect("the worker serves");
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
        self.worker.kill().expect("it is killed");
        self.worker.wait().expect("it ends");
        self.worker = process("serves", self.folder.path(), &self.address);
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
        let sending = self.server.message("chat-42", text);
        tokio::spawn(async move {
            let replied = timeout(LIMIT, sending).await.expect("a reply in time");
            let reply = replied.expect("a reply");
            reply["text"].as_str().unwrap_or_default().to_owned()
        })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = self.worker.kill();
        let _ = self.worker.wait();
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
    let mut person = process("approves", setting.folder.path(), &setting.server.ingress);
    let reply = reply.await.expect("a reply");
    assert!(person.wait().expect("it ends").success());
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
    let mut person = process("approves", setting.folder.path(), &setting.server.ingress);
    let reply = reply.await.expect("a reply");
    assert!(person.wait().expect("it ends").success());
    assert!(reply.contains("bill 1 is refunded"), "{reply}");
    assert_eq!(setting.effects(), ["refund 1"]);
}
