//! Problems of the files.

use crate::support::Folder;
use expect_test::{Expect, expect};
use tool_adapters::gateway::{Gateway, GatewayFiles};

async fn problems(folder: &Folder, expected: &Expect) {
    let error = Gateway::open(folder.files())
        .await
        .expect_err("problems")
        .to_string();
    expected.assert_eq(&error.replace(&format!("{}/", folder.as_path().display()), ""));
}

#[tokio::test]
async fn a_file_without_an_end_is_an_error() {
    let folder = Folder::new("");
    let files = GatewayFiles {
        config: "/dev/zero".into(),
        ..folder.files()
    };
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
            mcp.json:2:13: mcpServers.both: expected either `command` or `url`, got both
            mcp.json:3:13: mcpServers.none: expected `command` or `url`, got neither
            mcp.json:4:36: mcpServers.old.url: the host `x.example` is not among `egress.hosts` of the policy; name it there, or remove the server
            mcp.json:5:21: mcpServers.odd.type: expected `stdio` or `http`, got `carrier-pigeon`
            mcp.json:6:13: mcpServers.list: expected a table, got a list
            mcp.json:7:52: mcpServers.args.args[1]: expected a text, got a number
            mcp.json:7:72: mcpServers.args.env.B: the environment variable `TOOL_GATEWAY_TEST_UNSET` is not set; set it, or write a default as `${TOOL_GATEWAY_TEST_UNSET:-default}`
            mcp.json:8:21: mcpServers.url.url: expected a URL that begins with `https://` or `http://`, got another text
            mcp.json:9:21: mcpServers.web.url: the host `other.example` is not among `egress.hosts` of the policy; name it there, or remove the server
            policy.toml:2:13: dany: unknown key `dany`, did you mean `deny`?
            policy.toml:3:13: mode: expected `voice` or `text`, got `quiet`
            policy.toml:4:13: allow: expected patterns such as "github_*", got an empty text
            policy.toml:4:22: allow[0]: expected a text, got a number
            policy.toml:6:13: limits.max_cals: unknown key `max_cals`, did you mean `max_calls`?
            policy.toml:7:13: limits.deadline: expected a time such as "800ms", "30s" or "10m", got a text
            policy.toml:8:13: limits.action: expected a whole number from 1 on, got a number
            policy.toml:9:13: limits.max_message: expected a size such as "4MiB", or a number of bytes, got a text
            policy.toml:10:13: limits.principal_window: expected at least "1s"
            policy.toml:11:13: tools[0].match: expected patterns of the tools' names, such as "github_delete_*"
            policy.toml:12:13: tools[0].confirm: expected true or false, got a text
            policy.toml:13:13: tools[0].category: expected `retrieval` or `action` or `utility`, got `read`
            policy.toml:14:22: servers.gone: expected the name of a server that is configured and not disabled, which are `old`, `args`, `web`
            policy.toml:15:13: servers.gone.prefix: expected letters, digits, `_` and `-`, got `a b`
            policy.toml:16:14: pins.file: expected the file of the pins, such as "mcp.pins.json"; without one, remove `[pins]`
            policy.toml:20:13: egress.private: invalid egress policy: expected a network such as 10.20.0.0/16, got `10.0.0.0/99`
            policy.toml:22:13: http.listen: expected an address and a port such as "127.0.0.1:8080", got `8080`
            policy.toml:23:13: http.path: expected a path such as "/mcp"
            policy.toml:26:13: http.principals[0].token: expected at least 16 visible ASCII characters, such as of `openssl rand -hex 24`
            policy.toml:27:13: http.principals[1].name: expected the name of a client
            policy.toml:28:13: http.principals[1].token: the environment variable `TOOL_GATEWAY_TEST_UNSET` is not set; set it, or write a default as `${TOOL_GATEWAY_TEST_UNSET:-default}`
            policy.toml:30:13: audit.required: expected `file` or `postgres` too
            policy.toml:32:13: sessions.signing_key: expected 64 hexadecimal digits, such as of `openssl rand -hex 32`
            policy.toml:34:13: inspector.listen: expected a loopback address, as the page can call every tool; reach it over SSH from elsewhere
            policy.toml:35:14: otel.endpoint: expected the address of a receiver, such as "http://localhost:4318""#]],
    )
    .await;
}

#[tokio::test]
async fn limits_that_mean_nothing_are_reported() {
    let folder = Folder::new(
        r#"
            [limits]
            rate_per_principal = "60"
            max_concurrent_per_principal = 0
            [[tools]]
            match = "*"
            rate = "0/1m"
            retries = 17
            circuit_breaker = { failures = 1001, windov = "1m" }
            [servers.one]
            circuit_breaker = { pause = "0s" }
        "#,
    );
    problems(&folder, &expect![[r#"
        policy.toml:3:13: limits.rate_per_principal: expected a number of calls and a time such as "60/1m", got a text
        policy.toml:4:13: limits.max_concurrent_per_principal: expected a whole number from 1 on, got a number
        policy.toml:7:13: tools[0].rate: expected a number of calls and a time such as "60/1m", got a text
        policy.toml:8:13: tools[0].retries: expected at most 16
        policy.toml:9:33: tools[0].circuit_breaker.failures: expected at most 1000
        policy.toml:9:50: tools[0].circuit_breaker.windov: unknown key `windov`, did you mean `window`?
        policy.toml:11:33: servers.one.circuit_breaker.pause: expected a time such as "800ms", "30s" or "10m", got a text"#]]).await;
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
            mcp.json:2:55: mcpServers.one.env.A: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json:4:13: mcpServers.one: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json:4:42: mcpServers.one.command: expected a name of its own, got one that is there already; rename or remove one of them
            mcp.json:5:13: mcpServers.two: expected a name of its own, got one that is there already; rename or remove one of them
            policy.toml:2:14: pins.file: expected the file of the pins, such as "mcp.pins.json"; without one, remove `[pins]`
            policy.toml:5:13: servers.one.pinned_only: expected `pins.file` too, as no tool is pinned without it
            policy.toml:10:19: http.principals[2].name: expected a name of its own, got `ada` again"#]],
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
            mcp.json:1:16: expected JSON: unterminated object
            policy.toml:1:1: expected TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"]],
    )
    .await;
    std::fs::remove_file(folder.path("mcp.json")).expect("removed");
    problems(
        &folder,
        &expect!["mcp.json: No such file or directory (os error 2)"],
    )
    .await;
}

// C14
#[tokio::test]
async fn several_places_without_toml_are_reported() {
    let folder = Folder::new(
        "mode = quiet\n[[tols]]\nmatch = 'x'\n[limits]\nmax_cals = 3\ndeadline = 30s\n",
    );
    problems(
        &folder,
        &expect![[r"
        policy.toml:1:8: expected TOML: string values must be quoted, expected literal string
        policy.toml:2:3: tols: unknown key `tols`, did you mean `tools`?
        policy.toml:5:1: limits.max_cals: unknown key `max_cals`, did you mean `max_calls`?
        policy.toml:6:12: expected TOML: string values must be quoted, expected literal string"]],
    )
    .await;
}

// C16
#[tokio::test]
async fn a_byte_order_mark_is_no_part_of_a_file() {
    let folder = Folder::new("");
    let (servers, policy) = (folder.read("mcp.json"), "\u{feff}name = 'x'");
    folder.write("mcp.json", &format!("\u{feff}{servers}"));
    folder.policy(policy);
    folder.open().await.close().await;
    let wide = servers.encode_utf16().flat_map(u16::to_le_bytes);
    let wide = [0xFF, 0xFE].into_iter().chain(wide).collect::<Vec<_>>();
    std::fs::write(folder.path("mcp.json"), wide).expect("written");
    problems(
        &folder,
        &expect!["mcp.json: expected UTF-8, got UTF-16; save the file as UTF-8"],
    )
    .await;
}

// C13
#[tokio::test]
async fn places_of_editors_and_inputs_are_named() {
    let folder = Folder::new("");
    folder.write(
        "mcp.json",
        r#"{
            // The user's servers.
            "inputs": [{"type": "promptString", "id": "api key", "password": true}],
            "servers": {
                "one": {"command": "x", "env": {"A": "${input:api key}", "B": "${config:a}"}, "envFile": "missing.env"},
                "two": {"command": "x", "args": ["${command:y}"],},
                /* "mcpServers" has one of this name too */
            },
            "mcpServers": {"two": {"command": "y"}},
        }"#,
    );
    problems(&folder, &expect![[r#"
        mcp.json:5:49: servers.one.env.A: `${input:api key}` has no value; set `inputs."api key"` in the policy, or start `tool-gateway` in a terminal, where it asks for it
        mcp.json:5:74: servers.one.env.B: `${config:a}` is a variable that only the editor knows; write its value, or a variable of the environment as `${NAME}`
        mcp.json:5:95: servers.one.envFile: missing.env: No such file or directory (os error 2)
        mcp.json:6:17: servers.two: expected a name of its own, got that of `mcpServers.two`; rename or remove one of them"#]]).await;
}

#[tokio::test]
async fn private_addresses_need_a_name_in_the_policy() {
    let server = |url: &str| format!(r#"{{"mcpServers": {{"web": {{"url": "{url}"}}}}}}"#);
    for (url, policy, is_refused) in [
        ("http://127.0.0.1:9/mcp", "", false),
        ("http://127.0.0.1:9/mcp", "[egress]", true),
        (
            "http://127.0.0.1:9/mcp",
            "[egress]\nprivate = ['127.0.0.1']",
            false,
        ),
        (
            "http://10.1.2.3/mcp",
            "[egress]\nprivate = ['10.0.0.0/8']",
            false,
        ),
        (
            "http://169.254.169.254/mcp",
            "[egress]\nhosts = ['*']",
            true,
        ),
        (
            "https://mcp.example/mcp",
            "[egress]\nhosts = ['*.example']",
            false,
        ),
        (
            "https://mcp.other/mcp",
            "[egress]\nhosts = ['*.example']",
            true,
        ),
        (
            "https://mcp.example.evil/mcp",
            "[egress]\nhosts = ['*.example']",
            true,
        ),
    ] {
        let folder = Folder::new(
            &format!("{policy}\n[limits]\nstartup = '1ms'").replace("[egress]\n[", "[egress]\n\n["),
        );
        folder.write("mcp.json", &server(url));
        let opened = Gateway::open(folder.files()).await;
        assert_eq!(opened.is_err(), is_refused, "{url} {policy}: {opened:?}");
    }
}

#[tokio::test]
async fn replicas_without_a_redis_are_refused() {
    let folder = Folder::new("[sessions]\nreplicas = 1");
    let expected = expect![
        "policy.toml:2:1: sessions.replicas: only a Redis has replicas: set `sessions.redis` too"
    ];
    problems(&folder, &expected).await;
}

#[tokio::test]
async fn a_secret_of_the_policy_may_be_a_file() {
    let folder = Folder::new(
        "[[http.principals]]\nname = 'ada'\ntoken = '${file:secrets/token}'\n[sessions]\nsigning_key = '${file:key}'",
    );
    let expected = expect![[r"
        policy.toml:3:1: http.principals[0].token: secrets/token: No such file or directory (os error 2)
        policy.toml:5:1: sessions.signing_key: key: No such file or directory (os error 2)"]];
    problems(&folder, &expected).await;

    std::fs::create_dir(folder.path("secrets")).expect("created");
    folder.write("secrets/token", "0123456789abcdef\n");
    folder.write("key", &"0a".repeat(32));
    let gateway = folder.open().await;
    let url = crate::health::serve(&gateway).await;
    let status = async |token: &str| {
        let token = [("authorization", token)];
        crate::health::get(&format!("{url}/mcp"), &token).await.0
    };
    assert_ne!(status("Bearer 0123456789abcdef").await, 401);
    assert_eq!(status("Bearer 0123456789abcdee").await, 401);
    gateway.close().await;
}
