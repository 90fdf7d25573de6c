//! The worker program, and a folder for its database.

use crate::cargo::cargo;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use tempfile::TempDir;

/// Builds the program. It is run directly, as a killed cargo would leave it running.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let build = ["build", "--quiet", "--all-features", "--example", "worker"];
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let status = cargo().args(build).current_dir(root).status();
        assert!(status.unwrap().success());
        let test = std::env::current_exe().unwrap();
        test.ancestors().nth(2).unwrap().join("examples/worker")
    })
}

/// A folder with a database, and the environment of the worker.
pub(crate) struct Home {
    pub(crate) dir: TempDir,
    /// True if `WORKER_DATABASE` names the database.
    is_named: bool,
    settings: Vec<(&'static str, String)>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            is_named: false,
            settings: Vec::new(),
        }
    }

    /// The port of the mail server.
    pub(crate) fn with_mail_at(port: u16) -> Self {
        let mut home = Self::new();
        home.settings = vec![
            ("SMTP_SERVER", "127.0.0.1".to_owned()),
            ("SMTP_PORT", port.to_string()),
            ("SMTP_SECURITY", "none".to_owned()),
            ("WORKER_RETRY_SECONDS", "1".to_owned()),
        ];
        home
    }

    /// Several workers share a database of PostgreSQL.
    pub(crate) fn in_postgres(mut self, url: &str) -> Self {
        self.is_named = true;
        self.set("WORKER_DATABASE", url);
        self.set("WORKER_SIGNING_KEY", "5a".repeat(32));
        self.set("TOOL_SECRETS_KEYS", format!("first:{}", "c3".repeat(32)));
        self
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.settings.push((name, value.into()));
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("agents.db")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        for name in [
            "TOOL_SECRETS_KEYS",
            "GOOGLE_CALENDAR_BASE_URL",
            "GOOGLE_CALENDAR_TOKEN",
            "GOOGLE_CLIENT_ID",
        ] {
            command.env_remove(name);
        }
        for name in [
            "SMTP_SERVER",
            "SMTP_PORT",
            "SMTP_SECURITY",
            "SMTP_USER",
            "SMTP_PASSWORD",
            "IMAP_SERVER",
        ] {
            command.env_remove(name);
        }
        command.env_remove("WORKER_DATABASE");
        if !self.is_named {
            command.arg("--db").arg(self.database());
        }
        command
            .args(arguments)
            .envs(self.settings.iter().map(|(k, v)| (k, v)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to completion.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed, and returns its lines of JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(arguments, "");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn serve(&self) -> Serving {
        let mut child = self.command(&["serve"]).spawn().unwrap();
        let (said, errors) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| said.send(line))
        });
        let (stdin, stdout) = (
            child.stdin.take(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Serving {
            child,
            stdin,
            stdout,
            errors,
        }
    }
}

/// A running `worker serve`.
pub(crate) struct Serving {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    errors: Receiver<String>,
}

impl Serving {
    /// Sends a line, and returns the answer.
    pub(crate) fn ask(&mut self, line: &Value) -> Value {
        self.ask_text(&line.to_string())
    }

    pub(crate) fn ask_text(&mut self, line: &str) -> Value {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer:?}"))
    }

    /// Makes a call for alice, and approves it if needed.
    pub(crate) fn call(&mut self, name: &str, arguments: impl Into<Value>) -> Value {
        let arguments: Value = arguments.into();
        let answer = self.ask(&json!({"agent": "alice", "name": name, "arguments": arguments}));
        match &answer["response"]["meta"]["confirmation"]["token"] {
            Value::String(token) => {
                self.ask(&json!({"agent": "alice", "approve": token}))["response"].clone()
            }
            _ => answer["response"].clone(),
        }
    }

    /// Waits for a line on standard error that contains the text.
    pub(crate) fn says(&self, words: &str) -> String {
        self.errors
            .iter()
            .find(|line| line.contains(words))
            .unwrap_or_else(|| panic!("it never said {words:?}"))
    }

    /// Ends the worker by closing its input.
    pub(crate) fn end(mut self) -> String {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        self.errors.iter().collect::<Vec<_>>().join("\n") + &rest
    }

    /// Sends an interrupt.
    #[cfg(unix)]
    pub(crate) fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Sends a signal.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status();
        assert!(status.unwrap().success());
    }

    /// Waits for the end, and returns whether the worker succeeded.
    #[cfg(unix)]
    pub(crate) fn ended_well(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Kills the worker.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
