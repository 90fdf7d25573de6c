//! A real mail server, and the toolset that uses it.

use crate::drafts::Drafts;
use crate::toolset::Email;
use serde_json::{Value, from_value, json};
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tool_core::agents::AgentId;
use tool_core::call::ErrorBody;
use tool_core::{Configure, RunContext, ToolContext, ToolError, ToolResponse};

pub(crate) const PASSWORD: &str = "correct horse äöü";

/// The server that all tests share.
static SERVER: LazyLock<Option<Server>> = LazyLock::new(Server::start);
static ARRIVED: Mutex<Vec<Value>> = Mutex::new(Vec::new());

pub(crate) struct Server {
    ports: Value,
    pub(crate) certificate: String,
}

impl Server {
    /// Starts the server with a Python that has aiosmtpd.
    fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let python = env::var_os("CONFORMANCE_PYTHON").map_or(target.join("conformance/bin/python"), PathBuf::from);
        let has = Command::new(&python).args(["-c", "import aiosmtpd, trustme"]).stderr(Stdio::null()).status();
        if !has.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut server = Command::new(python);
        server.arg(root.join("tests/conformance/smtp/server.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().unwrap();
        // The server ends when its input closes with the tests.
        std::mem::forget(server.stdin.take());
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut next = move || Some(serde_json::from_str::<Value>(&lines.next()?.ok()?).unwrap());
        let ready = next().expect("the server says its ports");
        std::thread::spawn(move || {
            while let Some(message) = next() {
                ARRIVED.lock().unwrap_or_else(PoisonError::into_inner).push(message);
            }
            server.wait()
        });
        Some(Self { ports: ready["ports"].clone(), certificate: ready["certificate"].as_str().unwrap().to_owned() })
    }

    /// Returns the settings for one of its ports.
    pub(crate) fn config(&self, kind: &str) -> Value {
        let security = match kind {
            "starttls" | "tls" => kind,
            _ => "none",
        };
        let port = &self.ports[kind];
        let config = json!({"smtp_server": "localhost", "smtp_port": port, "from_email": "office@example.com",
            "security": security});
        let mut config = config;
        if security != "none" {
            config["certificate"] = self.certificate.clone().into();
        }
        config
    }

    /// Builds the toolset for one of its ports.
    pub(crate) async fn email(&self, kind: &str, secrets: Value) -> Mail {
        Mail::new(self.config(kind), secrets).await
    }
}

/// Returns the server. Skips the test without one.
pub(crate) fn server() -> Option<&'static Server> {
    if SERVER.is_none() {
        tool_core::testing::skip(
            "there is no Python with aiosmtpd and trustme. Run `python3 -m venv target/conformance && \
             target/conformance/bin/pip install -r tests/conformance/requirements.txt`",
        );
    }
    SERVER.as_ref()
}

/// Returns the messages for a recipient.
pub(crate) fn arrived(to: &str) -> Vec<Value> {
    let arrived = ARRIVED.lock().unwrap_or_else(PoisonError::into_inner);
    arrived.iter().filter(|message| message["rcpt_tos"] == json!([to])).cloned().collect()
}

/// Waits for the one message for a recipient, which another process reports.
pub(crate) async fn arrives(to: &str) -> Value {
    loop {
        let mut found = arrived(to);
        assert!(found.len() < 2, "{found:#?}");
        match found.pop() {
            Some(message) => return message,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The toolset and its drafts.
pub(crate) struct Mail {
    tools: ToolContext,
    pub(crate) drafts: Drafts,
    _dir: tempfile::TempDir,
}

impl Mail {
    pub(crate) async fn new(config: Value, secrets: Value) -> Self {
        let tools = ToolContext::builder().with(configured(config, secrets).await.unwrap()).build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::open(&dir.path().join("agents.db")).await.unwrap();
        Self { tools, drafts, _dir: dir }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResponse {
        let ctx = RunContext::builder().user_data(self.drafts.clone()).user_data(AgentId::new("alice")).build();
        self.tools.call(name, arguments, &ctx).await
    }

    pub(crate) async fn send(&self, to: &str) -> ToolResponse {
        self.call("send_email", json!({"to": to, "subject": "Hello", "body": "How are you?"})).await
    }

    /// Sends to `to`, and returns the error.
    pub(crate) async fn refused(&self, to: &str) -> ErrorBody {
        let response = self.send(to).await;
        response.error().unwrap_or_else(|| panic!("{to}: {response}")).clone()
    }
}

/// Builds the toolset from settings, as a form sends them.
pub(crate) async fn configured(config: Value, secrets: Value) -> Result<Email, ToolError> {
    Email::configure(from_value(config).unwrap(), from_value(secrets).unwrap()).await
}

/// Returns the type of an error, `retryable` and `partialSideEffects`.
pub(crate) fn kind(error: &ErrorBody) -> (&str, bool, bool) {
    (error.kind.as_str(), error.retryable, error.partial_side_effects)
}
