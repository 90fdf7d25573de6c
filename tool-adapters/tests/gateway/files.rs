//! Problems of the files.

use crate::support::Folder;
use expect_test::{Expect, expect};
use tool_adapters::gateway::{Gateway, GatewayFiles};

async fn problems(folder: &Folder, expected: &Expect) {
    let error = Gateway::open(folder.files()).await.expect_err("problems").to_string();
    expected.assert_eq(&error.replace(&format!("{}/", folder.as_path().display()), ""));
}

#[tokio::test]
async fn a_file_without_an_end_is_an_error() {
    let folder = Folder::new("");
    let files = GatewayFiles { config: "/dev/zero".into(), ..folder.files() };
    let error = Gateway::open(files).await.expect_err("no end").to_string();
    assert!(error.contains("expected at most 4194304 bytes"), "{error}");
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
        &expect![[r#"
            mcp.json: mcpServers.list: expected a table, got a list
            mcp.json: mcpServers.both: expected either `command` or `url`, got both
            mcp.json: mcpServers.none: expected `command` or `url`, got neither
            mcp.json: mcpServers.old.type: the transport `sse` of 2024-11-05 is not supported; use the server's address of streamable HTTP, with `"type": "http"`
            mcp.json: mcpServers.odd.type: expected `stdio` or `http`, got `carrier-pigeon`
            mcp.json: mcpServers.args.args[1]: expected a text, got a number
            mcp.json: mcpServers.args.env.A: expected a text, got a number
            mcp.json: mcpServers.args.env.B: the environment variable `TOOL_GATEWAY_TEST_UNSET` is not set; set it, or write a default as `${TOOL_GATEWAY_TEST_UNSET:-default}`
            mcp.json: mcpServers.url.url: expected a URL that begins with `https://` or `http://`, got another text
            mcp.json: mcpServers.web.url: the host `other.example` is not among `egress.hosts` of the policy; name it there, or remove the server
            policy.toml: mode: expected `text` or `voice`, got `quiet`
            policy.toml: allow[0]: expected a text, got a number
            policy.toml: allow: expected patterns such as "github_*", got an empty text
            policy.toml: limits.max_message: expected a size such as "4MiB", or a number of bytes, got a text
            policy.toml: limits.deadline: expected a time such as "800ms", "30s" or "10m", got a text
            policy.toml: limits.action: expected a whole number from 1 on, got a number
            policy.toml: limits.principal_window: expected at least "1s"
            policy.toml: limits: unknown key `max_cals`; expected one of `turn_after`, `startup`, `max_message`, `idle_timeout`, `approval_lifetime`, `approval_wait`, `max_sessions`, `max_sessions_per_client`, `deadline`, `max_arguments`, `max_result`, `max_output`, `max_calls`, `retrieval`, `action`, `utility`, `repeated_calls`, `empty_results`, `warn_after`, `result_cache`, `search_always`, `search_over`, `concurrent_calls`, `max_approvals`, `store_deadline`, `max_time_per_turn`, `max_time_per_session`, `max_time_per_principal`, `max_cost_per_turn`, `max_cost_per_session`, `max_cost_per_principal`, `principal_window`
            policy.toml: tools[0].match: expected patterns of the tools' names, such as "github_delete_*"
            policy.toml: tools[0].confirm: expected true or false, got a text
            policy.toml: tools[0].category: expected `retrieval` or `action` or `utility`, got `read`
            policy.toml: servers.gone.prefix: expected letters, digits, `_` and `-`, got `a b`
            policy.toml: pins.file: expected the file of the pins, such as "mcp.pins.json"; without one, remove `[pins]`
            policy.toml: egress.private: invalid egress policy: expected a network such as 10.20.0.0/16, got `10.0.0.0/99`
            policy.toml: http.listen: expected an address and a port such as "127.0.0.1:8080", got `8080`
            policy.toml: http.path: expected a path such as "/mcp"
            policy.toml: http.principals[0].token: expected at least 16 visible ASCII characters, such as of `openssl rand -hex 24`
            policy.toml: http.principals[1].token: the environment variable `TOOL_GATEWAY_TEST_UNSET` is not set; set it, or write a default as `${TOOL_GATEWAY_TEST_UNSET:-default}`
            policy.toml: http.principals[1].name: expected the name of a client
            policy.toml: inspector.listen: expected a loopback address, as the page can call every tool; reach it over SSH from elsewhere
            policy.toml: audit.required: expected `file` or `postgres` too
            policy.toml: otel.endpoint: expected the address of a receiver, such as "http://localhost:4318"
            policy.toml: sessions.signing_key: expected 64 hexadecimal digits, such as of `openssl rand -hex 32`
            policy.toml: unknown key `dany`; expected one of `name`, `instructions`, `mode`, `allow`, `deny`, `redaction`, `limits`, `tools`, `servers`, `pins`, `egress`, `http`, `admin`, `inspector`, `audit`, `otel`, `sessions`
            policy.toml: servers.gone: expected the name of a server that is configured and not disabled, which are `args`, `web`"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_there_twice_or_means_nothing_is_reported() {
    let folder = Folder::new(
        r#"
            [pins]
            pinned_only = false
            [servers.one]
            pinned_only = true
            [http]
            principals = [
                { name = "ada", token = "0123456789abcdef" },
                { name = "bob", token = "0123456789abcdef-1" },
                { name = "ada", token = "0123456789abcdef-2" },
            ]
        "#,
    );
    folder.write(
        "mcp.json",
        r#"{"mcpServers": {
            "one": {"command": "x", "env": {"A": "1", "A": "2"}},
            "two": {"command": "x"},
            "\u006fne": {"command": "y", "command": "y"},
            "two": {"command": "z"}
        }}"#,
    );
    problems(
        &folder,
        &expect![[r#"
            mcp.json: mcpServers.one.env.A: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json: mcpServers.one: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json: mcpServers.one.command: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json: mcpServers.two: expected a name of its own, got one that is there already; rename or remove one of them
            policy.toml: pins.file: expected the file of the pins, such as "mcp.pins.json"; without one, remove `[pins]`
            policy.toml: http.principals[2].name: expected a name of its own, got `ada` again
            policy.toml: servers.one.pinned_only: expected `pins.file` too, as no tool is pinned without it"#]],
    )
    .await;
}

#[tokio::test]
async fn unreadable_files_are_named() {
    let folder = Folder::new("= 1");
    folder.write("mcp.json", "{\"mcpServers\": {");
    problems(
        &folder,
        &expect![[r"
            mcp.json: expected JSON: EOF while parsing an object at line 1 column 16
            policy.toml: expected TOML: line 1: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"]],
    )
    .await;
    std::fs::remove_file(folder.path("mcp.json")).expect("removed");
    problems(&folder, &expect!["mcp.json: No such file or directory (os error 2)"]).await;
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
        let folder =
            Folder::new(&format!("{policy}\n[limits]\nstartup = '1ms'").replace("[egress]\n[", "[egress]\n\n["));
        folder.write("mcp.json", &server(url));
        let opened = Gateway::open(folder.files()).await;
        assert_eq!(opened.is_err(), is_refused, "{url} {policy}: {opened:?}");
    }
}
