//! The usual chain of credentials, each in a process of its own with another environment.

use super::{MODEL, ROLE, hello, prompt, strict_server};
use crate::server::Server;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use tool_adapters::transport::http::AwsBedrock;
use tool_core::ErrorKind;
use tracing_subscriber::fmt::MakeWriter;

/// Runs a test of this file in a process with nothing in its environment but these variables.
async fn in_process(name: &str, home: &Path, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    let test = format!("aws::chain::{name}");
    child.args(["--exact", &test, "--ignored", "--nocapture"]);
    child.env_clear().env("HOME", home);
    child.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    child.env("AWS_EC2_METADATA_DISABLED", "true");
    child.envs(variables.iter().copied());
    let output: Output = tokio::task::spawn_blocking(move || child.output())
        .await
        .expect("runs")
        .expect("starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{errors}"
    );
}

fn empty_home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Asks a model with what the environment says.
#[tokio::test]
#[ignore = "other tests run it in a process of its own"]
async fn asks_with_the_environment() {
    let server = strict_server(&[ROLE], vec![hello(), hello()]).await;
    let bedrock = AwsBedrock::from_env().base_url(&server.url);
    for _ in 0..2 {
        let reply = prompt(bedrock.converse(MODEL)).await;
        assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    }
}

#[tokio::test]
async fn environment_has_credentials_and_region() {
    let variables = [
        ("AWS_ACCESS_KEY_ID", ROLE.id),
        ("AWS_SECRET_ACCESS_KEY", ROLE.secret),
        ("AWS_SESSION_TOKEN", ROLE.token.expect("a token")),
        ("AWS_REGION", super::REGION),
    ];
    in_process("asks_with_the_environment", empty_home().path(), &variables).await;
}

#[tokio::test]
async fn profile_has_a_command_and_a_region() {
    let home = empty_home();
    let credentials = serde_json::json!({
        "Version": 1,
        "AccessKeyId": ROLE.id,
        "SecretAccessKey": ROLE.secret,
        "SessionToken": ROLE.token,
    });
    let file = home.path().join("credentials.json");
    fs::write(&file, credentials.to_string()).expect("written");
    let profile = format!(
        "[profile team]\nregion = {}\ncredential_process = cat {}\n",
        super::REGION,
        file.display()
    );
    fs::create_dir(home.path().join(".aws")).expect("a folder");
    fs::write(home.path().join(".aws/config"), profile).expect("written");
    let variables = [("AWS_PROFILE", "team")];
    in_process("asks_with_the_environment", home.path(), &variables).await;
}

#[tokio::test]
async fn role_of_a_container_is_renewed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("binds");
    let url = format!("http://{}/role", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::<String>::new()));
    let seen = Arc::clone(&asked);
    let role = move |headers: http::HeaderMap| {
        let token = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        seen.lock()
            .expect("not poisoned")
            .push(token.unwrap_or_default().to_owned());
        let soon = jiff::Timestamp::now() + std::time::Duration::from_secs(30);
        let credentials = serde_json::json!({
            "AccessKeyId": ROLE.id,
            "SecretAccessKey": ROLE.secret,
            "Token": ROLE.token,
            "Expiration": soon.to_string(),
        });
        std::future::ready(axum::Json(credentials))
    };
    let router = axum::Router::new().route("/role", axum::routing::get(role));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod-token"),
        ("AWS_DEFAULT_REGION", super::REGION),
    ];
    in_process("asks_with_the_environment", empty_home().path(), &variables).await;
    let asked = asked.lock().expect("not poisoned");
    assert_eq!(*asked, ["pod-token", "pod-token"]);
}

/// Asks a model without credentials.
#[tokio::test]
#[ignore = "other tests run it in a process of its own"]
async fn finds_no_credentials() {
    let server = Server::start([]).await;
    let bedrock = AwsBedrock::from_env().region(super::REGION);
    let model = bedrock.base_url(&server.url).converse(MODEL);
    let error = prompt(model).await.error.expect("no credentials");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.starts_with("no AWS credentials were found"),
        "{error}"
    );
}

#[tokio::test]
async fn empty_environment_has_no_credentials() {
    in_process("finds_no_credentials", empty_home().path(), &[]).await;
}

/// Asks a model without a region.
#[tokio::test]
#[ignore = "other tests run it in a process of its own"]
async fn finds_no_region() {
    let error = prompt(AwsBedrock::from_env().converse(MODEL)).await.error;
    let error = error.expect("no region");
    assert_eq!(
        error.message,
        "bedrock needs a region: call `region`, or set AWS_REGION or AWS_DEFAULT_REGION or the region of the AWS profile"
    );
}

#[tokio::test]
async fn empty_environment_has_no_region() {
    let variables = [
        ("AWS_ACCESS_KEY_ID", ROLE.id),
        ("AWS_SECRET_ACCESS_KEY", ROLE.secret),
    ];
    in_process("finds_no_region", empty_home().path(), &variables).await;
}

/// Keeps all lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Logs all that any package logs while a model is asked.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn logs_everything() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    log.with_writer(lines.clone()).init();
    let server = strict_server(&[ROLE], vec![hello()]).await;
    let bedrock = AwsBedrock::from_env().base_url(&server.url);
    let reply = prompt(bedrock.converse(MODEL)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");

    let log = String::from_utf8_lossy(&lines.0.lock().expect("not poisoned")).into_owned();
    assert!(log.contains("signing request"), "the log has all levels");
    for secret in ["wJalr", "IQoJ"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}

// T1
#[tokio::test]
async fn log_of_all_packages_shows_no_secret() {
    let variables = [
        ("AWS_ACCESS_KEY_ID", ROLE.id),
        ("AWS_SECRET_ACCESS_KEY", ROLE.secret),
        ("AWS_SESSION_TOKEN", ROLE.token.expect("a token")),
        ("AWS_REGION", super::REGION),
    ];
    in_process("logs_everything", empty_home().path(), &variables).await;
}
