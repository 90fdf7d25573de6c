//! Real mail servers, and the toolset that uses them.

use crate::drafts::Drafts;
use crate::toolset::Email;
use serde_json::{Value, from_value, json};
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tool_adapters::egress::{EgressClient, EgressPolicy};
use tool_core::agents::AgentId;
use tool_core::call::ErrorBody;
use tool_core::{Configure, RunContext, ToolContext, ToolError, ToolResponse};

pub(crate) const PASSWORD: &str = "correct horse äöü";

/// The servers that all tests share.
static SMTP: LazyLock<Option<Server>> = LazyLock::new(Server::smtp);
static IMAP: LazyLock<Option<Server>> = LazyLock::new(Server::imap);
static ARRIVED: Mutex<Vec<Value>> = Mutex::new(Vec::new());

pub(crate) struct Server {
    ports: Value,
    pub(crate) certificate: String,
}

impl Server {
    /// Starts the SMTP server with a Python that has aiosmtpd.
    fn smtp() -> Option<Self> {
        Self::start("smtp", "aiosmtpd, trustme")
    }

    /// Starts Dovecot.
    fn imap() -> Option<Self> {
        let places = env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        env::split_paths(&places)
            .any(|place| place.join("dovecot").exists())
            .then_some(())?;
        Self::start("imap", "trustme")
    }

    /// Starts a server of `tests/conformance` with a Python that has these modules.
    fn start(folder: &str, modules: &str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let python = env::var_os("CONFORMANCE_PYTHON")
            .map_or(target.join("conformance/bin/python"), PathBuf::from);
        let has = Command::new(&python)
            .args(["-c", &format!("import {modules}")])
            .stderr(Stdio::null())
            .status();
        if !has.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut server = Command::new(python);
        server.arg(
            root.join("tests/conformance")
                .join(folder)
                .join("server.py"),
        );
        let mut server = server
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The server ends when its input closes with the tests.
        std::mem::forget(server.stdin.take());
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut next = move || Some(serde_json::from_str::<Value>(&lines.next()?.ok()?).unwrap());
        let ready = next().expect("the server says its ports");
        std::thread::spawn(move || {
            while let Some(message) = next() {
                ARRIVED
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(message);
            }
            server.wait()
        });
        Some(Self {
            ports: ready["ports"].clone(),
            certificate: ready["certificate"].as_str().unwrap().to_owned(),
        })
    }

    /// Returns the settings for one of its ports.
    pub(crate) fn config(&self, kind: &str) -> Value {
        json!({"smtp_server": "localhost", "smtp_port": self.ports[kind], "from_email": "office@example.com",
            "security": security(kind)})
    }

    /// Returns the settings for reading from one of its ports.
    pub(crate) fn imap_config(&self, kind: &str) -> Value {
        json!({"smtp_server": "localhost", "from_email": "office@example.com", "imap_server": "localhost",
            "imap_port": self.ports[kind], "imap_security": security(kind)})
    }

    /// Adds the certificate of the server to secrets.
    pub(crate) fn trusted(&self, mut secrets: Value) -> Value {
        secrets["certificate"] = self.certificate.clone().into();
        secrets
    }

    /// Builds the toolset for one of its ports.
    pub(crate) async fn email(&self, kind: &str, secrets: Value) -> Mail {
        Mail::new(self.config(kind), self.trusted(secrets)).await
    }

    /// Builds the toolset that reads from one of its ports.
    pub(crate) async fn inbox(&self, kind: &str, secrets: Value) -> Mail {
        Mail::new(self.imap_config(kind), self.trusted(secrets)).await
    }
}

fn security(kind: &str) -> &str {
    match kind {
        "starttls" | "tls" => kind,
        _ => "none",
    }
}

/// Returns the SMTP server. Skips the test without one.
pub(crate) fn server() -> Option<&'static Server> {
    if SMTP.is_none() {
        tool_core::testing::skip(
            "there is no Python with aiosmtpd and trustme. Run `python3 -m venv target/conformance && \
             target/conformance/bin/pip install -r tests/conformance/requirements.txt`",
        );
    }
    SMTP.as_ref()
}

/// Returns the IMAP server. Skips the test without one.
pub(crate) fn imap_server() -> Option<&'static Server> {
    if IMAP.is_none() {
        tool_core::testing::skip(
            "there is no Dovecot (Debian's `dovecot-imapd`), or no Python with trustme",
        );
    }
    IMAP.as_ref()
}

/// Returns the messages for a recipient.
pub(crate) fn arrived(to: &str) -> Vec<Value> {
    let arrived = ARRIVED.lock().unwrap_or_else(PoisonError::into_inner);
    arrived
        .iter()
        .filter(|message| message["rcpt_tos"] == json!([to]))
        .cloned()
        .collect()
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
    pub(crate) egress: EgressClient,
    _dir: tempfile::TempDir,
}

impl Mail {
    pub(crate) async fn new(config: Value, secrets: Value) -> Self {
        let tools = ToolContext::builder()
            .with(configured(config, secrets).await.unwrap())
            .build()
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::open(&dir.path().join("agents.db")).await.unwrap();
        let egress = EgressClient::new(EgressPolicy::new().allow_loopback()).unwrap();
        Self {
            tools,
            drafts,
            egress,
            _dir: dir,
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResponse {
        let ctx = RunContext::builder()
            .user_data(self.drafts.clone())
            .user_data(AgentId::new("alice"));
        self.tools
            .call(name, arguments, &ctx.user_data(self.egress.clone()).build())
            .await
    }

    pub(crate) async fn send(&self, to: &str) -> ToolResponse {
        self.call(
            "send_email",
            json!({"to": to, "subject": "Hello", "body": "How are you?"}),
        )
        .await
    }

    /// Sends to `to`, and returns the error.
    pub(crate) async fn refused(&self, to: &str) -> ErrorBody {
        let response = self.send(to).await;
        response
            .error()
            .unwrap_or_else(|| panic!("{to}: {response}"))
            .clone()
    }
}

/// Builds the toolset from settings, as a form sends them.
pub(crate) async fn configured(config: Value, secrets: Value) -> Result<Email, ToolError> {
    Email::configure(from_value(config).unwrap(), from_value(secrets).unwrap()).await
}

/// Returns the type of an error, `retryable` and `partialSideEffects`.
pub(crate) fn kind(error: &ErrorBody) -> (&str, bool, bool) {
    (
        error.kind.as_str(),
        error.retryable,
        error.partial_side_effects,
    )
}
