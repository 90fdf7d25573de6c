//! Problems of the files.

use crate::support::Folder;
use expect_test::{Expect, expect};
use tool_adapters::gateway::Gateway;

async fn problems(folder: &Folder, expected: &Expect) {
    let error = Gateway::open(folder.files()).await.expect_err("problems").to_string();
    expected.assert_eq(&error.replace(&format!("{}/", folder.as_path().display()), ""));
}

#[tokio::test]
async fn all_problems_of_both_files_are_reported() {
    let folder = Folder::new(
        r#"
            dany = ["x"]
            mode = "quiet"
            allow = [1, ""]
            [limits]
            max_cals = 3
            deadline = "soon"
            action = 0
            max_message = "4MB"
            principal_window = "1ms"
            [[tools]]
            confirm = "yes"
            category = "read"
            [servers.gone]
            prefix = "a b"
            [pins]
            pinned_only = true
            [egress]
            hosts = ["mcp.example"]
            private = ["10.0.0.0/99"]
            [http]
            listen = "8080"
            path = "mcp"
            [[http.principals]]
            name = "ada"
            token = "short"
            [[http.principals]]
            token = "${TOOL_GATEWAY_TEST_UNSET}"
            [audit]
            required = true
            [sessions]
            signing_key = "00"
            [inspector]
            listen = "0.0.0.0:80"
            [otel]
        "#,
    );
    folder.write(
        "mcp.json",
        r#"{"mcpServers": {
            "both": {"command": "x", "url": "https://x.example"},
            "none": {},
            "old": {"type": "sse", "url": "https://x.example/sse"},
            "odd": {"type": "carrier-pigeon", "command": "x"},
            "list": [],
            "args": {"command": "x", "args": ["a", 1], "env": {"A": 1, "B": "${TOOL_GATEWAY_TEST_UNSET}"}},
            "url": {"url": "ftp://secret@x.example"},
            "web": {"url": "https://other.example/mcp"}
        }}"#,
    );
    problems(
        &folder,
        &expect![[r#""#]],
    )
    .await;
}

#[tokio::test]
async fn unreadable_files_are_named() {
    let folder = Folder::new("= 1");
    folder.write("mcp.json", "{\"mcpServers\": {");
    problems(
        &folder,
        &expect![[r#""#]],
    )
    .await;
    std::fs::remove_file(folder.path("mcp.json")).expect("removed");
    problems(
        &folder,
        &expect![[r#""#]],
    )
    .await;
}

#[tokio::test]
async fn private_addresses_need_a_name_in_the_policy() {
    let server = |url: &str| format!(r#"{{"mcpServers": {{"web": {{"url": "{url}"}}}}}}"#);
    for (url, policy, is_refused) in [
        ("http://127.0.0.1:9/mcp", "", false),
        ("http://127.0.0.1:9/mcp", "[egress]", true),
        ("http://127.0.0.1:9/mcp", "[egress]\nprivate = ['127.0.0.1']", false),
        ("http://10.1.2.3/mcp", "[egress]\nprivate = ['10.0.0.0/8']", false),
        ("http://169.254.169.254/mcp", "[egress]\nhosts = ['*']", true),
        ("https://mcp.example/mcp", "[egress]\nhosts = ['*.example']", false),
        ("https://mcp.other/mcp", "[egress]\nhosts = ['*.example']", true),
        ("https://mcp.example.evil/mcp", "[egress]\nhosts = ['*.example']", true),
    ] {
        let folder = Folder::new(&format!("{policy}\n[limits]\nstartup = '1ms'").replace("[egress]\n[", "[egress]\n\n["));
        folder.write("mcp.json", &server(url));
        let opened = Gateway::open(folder.files()).await;
        assert_eq!(opened.is_err(), is_refused, "{url} {policy}: {opened:?}");
    }
}
