//! The routes for machines, and clients over HTTP.

use crate::support::{Client, Folder};
use serde_json::{Value, json};
use tool_adapters::gateway::Gateway;
use tool_adapters::mcp::McpClient;
use tool_core::{RunContext, ToolContext};

/// Serves over HTTP. Returns the URL without its path.
pub(crate) async fn serve(gateway: &Gateway) -> String {
    let bound = gateway
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("bound");
    let address = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    format!("http://{address}")
}

pub(crate) async fn get(url: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = reqwest::Client::new().get(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.expect("an answer");
    (
        answer.status().as_u16(),
        answer.text().await.expect("a text"),
    )
}

#[tokio::test]
async fn machines_see_the_state_of_the_servers() {
    let folder = Folder::new("");
    folder.servers(&json!({"one": folder.child("one", "v1"), "broken": {"command": "false"}}));
    let gateway = folder.open().await;
    let url = serve(&gateway).await;
    assert_eq!(
        get(&format!("{url}/healthz"), &[]).await,
        (200, "ok\n".to_owned())
    );
    let (status, body) = get(&format!("{url}/readyz"), &[]).await;
    let body = serde_json::from_str::<Value>(&body).expect("JSON");
    let expected = json!({
        "ready": true, "draining": false, "store": "up", "audit": "up", "offer": "up", "servers": {"one": {"state": "up"}, "broken": {"state": "down"}}
    });
    assert_eq!((status, body), (200, expected));

    Client::connect(&gateway)
        .await
        .call("one_echo", json!({"text": "a"}))
        .await;
    let (status, metrics) = get(&format!("{url}/metrics"), &[]).await;
    assert_eq!(status, 200);
    for line in [
        r#"tool_gateway_server_up{server="one"} 1"#,
        r#"tool_gateway_server_up{server="broken"} 0"#,
        r#"tool_calls_total{tool="one_echo"} 1"#,
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} in {metrics}"
        );
    }
    // A web page that reaches the gateway by its own name.
    for path in ["healthz", "readyz", "metrics", "mcp"] {
        assert_eq!(
            get(&format!("{url}/{path}"), &[("host", "evil.example")])
                .await
                .0,
            403,
            "{path}"
        );
    }
    gateway.close().await;
}

#[tokio::test]
async fn open_routes_show_names_and_counts_only() {
    let folder = Folder::new("");
    folder.servers(&json!({
        "one": folder.child("one", "v1"),
        "web": {"url": "http://127.0.0.1:9/canary/mcp", "headers": {"x-key": "canary"}},
        "ends": {"command": "sh", "args": ["-c", "cat line >&2; exit 1"], "cwd": folder.as_path()}
    }));
    folder.write("line", "canary\n");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client
        .call("one_echo", json!({"text": "canary", "canary": 1}))
        .await;
    client.call("canary_tool", json!({})).await;
    assert!(gateway.servers().iter().any(|server| {
        server
            .error
            .as_ref()
            .is_some_and(|error| error.contains("canary"))
    }));
    let url = serve(&gateway).await;
    for path in ["healthz", "readyz", "metrics"] {
        let (status, body) = get(&format!("{url}/{path}"), &[]).await;
        assert!(
            status == 200 && !body.contains("canary") && !body.contains("127.0.0.1"),
            "{body}"
        );
    }
    gateway.close().await;
}

#[tokio::test]
async fn a_gateway_that_needs_all_servers_is_not_ready_without_one() {
    let folder = Folder::new("[admin]\nready = 'all'\ntoken = '0123456789abcdef'");
    folder.servers(&json!({"one": folder.child("one", "v1"), "broken": {"command": "false"}}));
    let gateway = folder.open().await;
    let url = serve(&gateway).await;
    assert_eq!(get(&format!("{url}/readyz"), &[]).await.0, 503);
    assert_eq!(get(&format!("{url}/metrics"), &[]).await.0, 401);
    let token = [("authorization", "Bearer 0123456789abcdef")];
    assert_eq!(get(&format!("{url}/metrics"), &token).await.0, 200);
    gateway.close().await;
}

#[tokio::test]
async fn clients_are_known_by_their_tokens() {
    let principals = |name: &str, token: &str| {
        format!("[[http.principals]]\nname = '{name}'\ntoken = '{token}'\n")
    };
    let (ada, bob) = ("ada-ada-ada-ada-ada", "bob-bob-bob-bob-bob");
    let audit = "[audit]\nfile = 'audit.jsonl'\n";
    let folder = Folder::new(&format!(
        "{audit}{}{}",
        principals("ada", ada),
        principals("bob", bob)
    ));
    let gateway = folder.open().await;
    let url = format!("{}/mcp", serve(&gateway).await);
    let call = async |token: &str| {
        let client = McpClient::url(&url).bearer(token).connect().await.ok()?;
        let tools = ToolContext::builder().with(client).build().expect("tools");
        Some(
            tools
                .call("one_echo", r#"{"text": "a"}"#, &RunContext::detached())
                .await
                .is_ok(),
        )
    };
    assert_eq!((call(ada).await, call(bob).await), (Some(true), Some(true)));
    assert_eq!(call("eve-eve-eve-eve-eve").await, None);
    // A token that is removed is refused at once.
    folder.policy(&format!("{audit}{}", principals("ada", ada)));
    gateway.reload().await.expect("valid files");
    assert_eq!((call(ada).await, call(bob).await), (Some(true), None));
    gateway.close().await;
    let records = folder.read("audit.jsonl");
    let principals = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["principal"].clone());
    assert_eq!(principals.collect::<Vec<_>>(), ["ada", "bob", "ada"]);
}

#[tokio::test]
async fn an_open_address_needs_hosts_and_principals() {
    let folder = Folder::new("");
    let gateway = folder.open().await;
    let Err(error) = gateway.bind(([0, 0, 0, 0], 0).into()).await else {
        panic!("bound")
    };
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    gateway.close().await;
}
