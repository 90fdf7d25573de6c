//! Logins at servers that need them.

use crate::browser::Browser;
use crate::issuer::Issuer;
use crate::support::{Client, Folder, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use tokio::io::{AsyncBufReadExt, BufReader};
use tool_adapters::gateway::Gateway;
use tool_adapters::mcp::{OAuthResource, Server};
use tool_core::{ToolContext, tool};

/// Add two numbers.
#[tool(category = "retrieval")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Serves with tokens of an issuer. Returns the URL.
async fn protected(issuer: &str, scope: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let tools = ToolContext::builder().with(add).build().expect("tools");
    let server = Server::from_tools(tools).expect("a server");
    let server = server.oauth(OAuthResource::new(&url).issuer(issuer).scopes([scope]));
    tokio::spawn(async move { axum::serve(listener, server.router()).await });
    url
}

/// A folder with one server, `web`, and a file of its login.
async fn folder(issuer: &str, scope: &str) -> Folder {
    let folder = Folder::new("[servers.web.oauth]\nfile = 'web.login.json'");
    folder.servers(&json!({"web": {"url": protected(issuer, scope).await}}));
    folder
}

fn program(folder: &Folder, arguments: &[&str]) -> tokio::process::Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .arg("--config")
        .arg(folder.path("mcp.json"))
        .arg("--policy")
        .arg(folder.path("policy.toml"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    command
}

/// Signs in by the program, as a person who opens the page that it prints.
async fn log_in(folder: &Folder, agree: impl AsyncFnOnce(String)) {
    let mut child = program(folder, &["--login", "web"])
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut printed = Vec::new();
    let page = loop {
        let line = lines.next_line().await.expect("text").expect("a page");
        if line.starts_with("http")
            && printed
                .last()
                .is_some_and(|before: &String| before.contains("sign in at"))
        {
            break line;
        }
        printed.push(line);
    };
    agree(page).await;
    assert_eq!(
        lines.next_line().await.expect("text").as_deref(),
        Some("signed in at web")
    );
    assert!(child.wait().await.expect("ended").success());
}

/// Signs in, and connects a client to a gateway that starts after it.
async fn signed_in(
    issuer: &str,
    scope: &str,
    agree: impl AsyncFnOnce(String),
) -> (Folder, Gateway, Client) {
    let folder = folder(issuer, scope).await;
    log_in(&folder, agree).await;
    let gateway = folder.open().await;
    let client = Client::connect(&gateway).await;
    (folder, gateway, client)
}

async fn follow(page: String) {
    reqwest::get(page).await.expect("the page of the program");
}

async fn sum(client: &mut Client) -> (String, bool) {
    let answer = client
        .request(
            "tools/call",
            json!({"name": "web_add", "arguments": {"a": 1, "b": 2}}),
        )
        .await;
    let result = &answer["result"];
    (
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        result["isError"] == true,
    )
}

fn three() -> (String, bool) {
    ("3".to_owned(), false)
}

/// Returns a member of the kept login.
fn kept(folder: &Folder, member: &str) -> Value {
    serde_json::from_str::<Value>(&folder.read("web.login.json")).expect("JSON")[member].take()
}

async fn up(gateway: &Gateway) {
    until(async || gateway.servers()[0].is_up).await;
}

const HINT: &str =
    "failed to log in: expected a login, got none that is good; run `tool-gateway --login web`";

#[tokio::test]
async fn a_server_is_down_until_a_person_has_signed_in() {
    let issuer = Issuer::start().await;
    let folder = folder(&issuer.url, "read").await;
    let gateway = folder.open().await;
    assert_eq!(gateway.servers()[0].error.as_deref(), Some(HINT));
    let checked = program(&folder, &["--check"])
        .output()
        .await
        .expect("ended");
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout),
        format!("web: {HINT}\n")
    );
    assert!(issuer.requests("/register").is_empty() && issuer.requests("/authorize").is_empty());

    log_in(&folder, follow).await;
    let mode = std::fs::metadata(folder.path("web.login.json"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    up(&gateway).await;
    let mut client = Client::connect(&gateway).await;
    client.offered("web_add").await;
    assert_eq!(sum(&mut client).await, three());
    assert_eq!(issuer.requests("/authorize").len(), 1, "by the person");
    gateway.close().await;
}

#[tokio::test]
async fn tokens_are_refreshed_and_kept() {
    let issuer = Issuer::start().await;
    // A token is renewed 30 s before its end.
    issuer.behaviour().lifetime = Some(20);
    let (folder, gateway, mut client) = signed_in(&issuer.url, "read", follow).await;
    let mut seen = vec![kept(&folder, "refresh_token")];
    for _ in 0..3 {
        assert!(!sum(&mut client).await.1);
        let next = kept(&folder, "refresh_token");
        assert!(next.is_string() && !seen.contains(&next), "{next}");
        seen.push(next);
    }
    // Another login of the person is taken over.
    issuer.behaviour().refuses_refresh = true;
    issuer.behaviour().lifetime = None;
    log_in(&folder, follow).await;
    assert!(!sum(&mut client).await.1);
    gateway.close().await;
}

#[tokio::test]
async fn a_login_that_has_ended_asks_no_person() {
    let issuer = Issuer::start().await;
    issuer.behaviour().lifetime = Some(20);
    let (folder, gateway, mut client) = signed_in(&issuer.url, "read", follow).await;
    issuer.behaviour().refuses_refresh = true;
    let (text, is_error) = sum(&mut client).await;
    assert!(
        is_error && text.contains("until its user signs in"),
        "{text}"
    );
    assert_eq!(issuer.requests("/authorize").len(), 1);
    assert!(kept(&folder, "access_token").is_null());
    // Its health says so, until a person has signed in again.
    until(async || gateway.servers()[0].needs_login).await;
    assert_eq!(
        (
            gateway.servers()[0].is_up,
            gateway.servers()[0].error.as_deref()
        ),
        (false, Some(HINT))
    );
    let url = format!("{}/readyz", crate::health::serve(&gateway).await);
    let body = crate::health::get(&url, &[]).await.1;
    let body = serde_json::from_str::<Value>(&body).expect("JSON");
    assert_eq!(
        body["servers"]["web"],
        json!({"state": "down", "login": "tool-gateway --login web"})
    );
    (
        issuer.behaviour().refuses_refresh,
        issuer.behaviour().lifetime,
    ) = (false, None);
    log_in(&folder, follow).await;
    up(&gateway).await;
    assert_eq!(sum(&mut client).await, three());
    gateway.close().await;
}

/// Returns the address of `oidc-provider`, if it runs.
fn oidc_provider() -> Option<String> {
    let issuer = std::env::var("OIDC_ISSUER")
        .ok()
        .filter(|issuer| !issuer.is_empty());
    if issuer.is_none() {
        tool_core::testing::skip("OIDC_ISSUER names no authorisation server");
    }
    issuer
}

#[tokio::test]
async fn a_person_signs_in_at_oidc_provider() {
    let Some(issuer) = oidc_provider() else {
        return;
    };
    let agree = async |page: String| follow(Browser::new().agree(&page).await).await;
    let (_folder, gateway, mut client) = signed_in(&issuer, "mcp.read", agree).await;
    assert_eq!(sum(&mut client).await, three());
    gateway.close().await;
}

/// Signs in with the gateway's own credentials, whose secret is in a file. Returns the state of the server.
async fn machine(issuer: &str, client: &str, secret: &str) -> (Folder, Gateway) {
    let oauth = format!(
        "machine = true\nissuer = '{issuer}'\nclient_id = '{client}'\nclient_secret_file = 'web.secret'"
    );
    let folder = Folder::new(&format!("[servers.web.oauth]\n{oauth}"));
    folder.write("web.secret", &format!("{secret}\n"));
    folder.servers(&json!({"web": {"url": protected(issuer, "mcp.read").await}}));
    let gateway = folder.open().await;
    (folder, gateway)
}

#[tokio::test]
async fn a_machine_signs_in_without_a_person() {
    let issuer = Issuer::start().await;
    let (folder, gateway) = machine(&issuer.url, "planner", "hunter2").await;
    assert_eq!(sum(&mut Client::connect(&gateway).await).await, three());
    assert!(issuer.requests("/authorize").is_empty() && issuer.requests("/register").is_empty());
    let login = program(&folder, &["--login", "web"])
        .output()
        .await
        .expect("ended");
    assert_eq!(login.status.code(), Some(1), "no person is asked");
    gateway.close().await;
}

#[tokio::test]
async fn a_machine_signs_in_at_oidc_provider() {
    let Some(issuer) = oidc_provider() else {
        return;
    };
    let (_folder, gateway) =
        machine(&issuer, "machine", "the secret of the client, 32 bytes").await;
    assert_eq!(sum(&mut Client::connect(&gateway).await).await, three());
    gateway.close().await;
    let (folder, gateway) = machine(&issuer, "machine", "hunter2-hunter2").await;
    let error = gateway.servers()[0].error.clone().expect("it is refused");
    assert!(
        error.contains("invalid_client") && !error.contains("hunter2"),
        "{error}"
    );
    let checked = program(&folder, &["--check", "--log", "debug"])
        .output()
        .await
        .expect("ended");
    let printed = String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned();
    assert!(
        printed.contains("invalid_client") && !printed.contains("hunter2"),
        "{printed}"
    );
    gateway.close().await;
}

#[tokio::test]
async fn problems_of_logins_are_reported() {
    let policy = "[servers.one.oauth]\nfile = 'a'\n[servers.web.oauth]\nport = 70000\nclient_secret = 's'\nbad = 1\n\
                  [servers.machine.oauth]\nmachine = true\nfile = 'a'\nclient_secret_file = 'none'\n\
                  [servers.empty.oauth]\nmachine = true\nissuer = 'https://a.example'\nclient_id = 'a'\nclient_secret_file = 'empty'";
    let folder = Folder::new(policy);
    folder.write("empty", " \n");
    let web = json!({"url": "https://mcp.example/mcp"});
    folder.servers(
        &json!({"one": folder.child("one", "v1"), "web": web, "machine": web, "empty": web}),
    );
    let error = Gateway::open(folder.files())
        .await
        .expect_err("problems")
        .to_string();
    for problem in [
        "servers.one.oauth: expected a server with a `url`, as one with a `command` has no login",
        "servers.web.oauth.file: expected the file that keeps the tokens",
        "servers.web.oauth.port: expected a port from 0 to 65535",
        "servers.web.oauth: expected `issuer` and `client_id`, or neither",
        "servers.web.oauth.bad: unknown key `bad`",
        "servers.machine.oauth.file: expected the file that keeps the tokens",
        "servers.machine.oauth.client_secret_file: No such file",
        "servers.machine.oauth.machine: expected `issuer`, `client_id`",
        "servers.empty.oauth.client_secret_file: expected a file with the secret, got an empty one",
    ] {
        assert!(error.contains(problem), "{problem}: {error}");
    }
    let output = program(&folder, &["--login", "one"])
        .output()
        .await
        .expect("ended");
    assert_eq!(output.status.code(), Some(2));
    folder.policy("");
    let output = program(&folder, &["--login", "one"])
        .output()
        .await
        .expect("ended");
    assert_eq!(output.status.code(), Some(1), "it has no login");
}
