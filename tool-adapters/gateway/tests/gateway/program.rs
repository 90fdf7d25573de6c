//! The program `tool-gateway` as people start it.

use crate::support::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

fn program(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .arg("--config")
        .arg(folder.path("mcp.json"))
        .arg("--policy")
        .arg(folder.path("policy.toml"));
    command
}

/// A program with its client, over the standard streams.
struct Running {
    program: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(folder: &Folder) -> Self {
        Self::start_with(folder, &json!({"elicitation": {}}))
    }

    fn start_with(folder: &Folder, capabilities: &Value) -> Self {
        let mut command = program(folder);
        let streams = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut program = streams.spawn().expect("started");
        let (input, output) = (
            program.stdin.take().expect("piped"),
            program.stdout.take().expect("piped"),
        );
        let mut running = Self {
            program,
            input,
            output: BufReader::new(output).lines(),
        };
        let initialize = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}
        });
        let answer = running.request(1, "initialize", &initialize);
        assert!(
            answer["result"]["serverInfo"]["name"].is_string(),
            "{answer}"
        );
        running
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the gateway reads");
    }

    fn read(&mut self) -> Value {
        let line = self.output.next().expect("a message").expect("a line");
        serde_json::from_str(&line).expect("only the protocol")
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.read()
    }

    fn end(self) {
        let Self {
            mut program, input, ..
        } = self;
        drop(input);
        assert!(program.wait().expect("ended").success());
    }
}

#[test]
fn serves_a_client_over_its_standard_streams() {
    let folder = Folder::new("[[tools]]\nmatch = '*_write'\nmax_calls = 1");
    let mut gateway = Running::start(&folder);
    let call = json!({"name": "one_write", "arguments": {"text": "a"}});
    let answer = gateway.request(2, "tools/call", &call);
    assert_eq!(answer["result"]["structuredContent"]["result"], "wrote a");
    assert_eq!(
        gateway.request(3, "tools/call", &call)["result"]["isError"],
        true
    );
    gateway.end();
}

/// Answers a request over HTTP with 200. Returns its head in lower case, and its body.
fn receive(listener: &TcpListener) -> (String, Vec<u8>) {
    let (stream, _) = listener.accept().expect("a connection");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .expect("a length");
    let mut body = vec![0; length.parse().expect("a number")];
    reader.read_exact(&mut body).expect("a body");
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    reader.get_mut().write_all(answer).expect("written");
    (head, body)
}

#[test]
fn spans_of_calls_are_exported() {
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = receiver.local_addr().expect("an address");
    let folder = Folder::new(&format!(
        "name = 'desk'\n[otel]\nendpoint = 'http://{endpoint}'\nheaders = {{ x-api-key = 'k-7' }}\ncontent = true"
    ));
    let export = std::thread::spawn(move || {
        loop {
            let (head, body) = receive(&receiver);
            if head.starts_with("post /v1/traces ") {
                return (head, body);
            }
        }
    });
    let mut gateway = Running::start(&folder);
    let call =
        json!({"name": "one_echo", "arguments": {"text": "seven", "password": "hunter2-hunter2"}});
    gateway.request(2, "tools/call", &call);
    gateway.end();
    let (head, body) = export.join().expect("a request");
    assert!(
        head.contains("x-api-key: k-7") && head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let has = |text: &str| {
        body.windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    for text in ["desk", "one_echo", "mcp.method.name", "tools/call", "seven"] {
        assert!(has(text), "{text}");
    }
    assert!(!has("hunter2"), "arguments are redacted");
}

/// A gateway with an inspector, which asks before each write, and its log, which is kept open.
struct Inspected {
    folder: Folder,
    gateway: Running,
    address: String,
    _log: Lines<BufReader<ChildStderr>>,
}

const TOKEN: &str = "0123456789abcdef";

impl Inspected {
    fn start(limits: &str, capabilities: &Value) -> Self {
        let folder = Folder::new(&format!(
            "[inspector]\nlisten = '127.0.0.1:0'\ntoken = '{TOKEN}'\n[audit]\nfile = 'audit.jsonl'\n\
             [[tools]]\nmatch = '*_write'\nconfirm = true\n[limits]\n{limits}"
        ));
        let mut gateway = Running::start_with(&folder, capabilities);
        let mut log = BufReader::new(gateway.program.stderr.take().expect("piped")).lines();
        let address = log.find_map(|line| {
            let line = line.ok()?;
            let (_, url) = line.split_once("the inspector is at http://")?;
            Some(url.trim_end_matches('/').to_owned())
        });
        Self {
            folder,
            gateway,
            address: address.expect("the log has the address"),
            _log: log,
        }
    }

    fn inspect(&self, method: &str, path: &str) -> Value {
        self.send(method, path, &Value::Null)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let address = &self.address;
        let mut stream = TcpStream::connect(address).expect("it listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n"
        );
        let length = body.len();
        write!(
            stream,
            "{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body)
            .expect("a body");
        serde_json::from_str::<Value>(body).expect("JSON")
    }

    /// Waits for the only call that an operator has to decide on.
    fn waiting(&self) -> Value {
        loop {
            let mut waiting = self.inspect("GET", "/api/approvals");
            if let Some(calls) = waiting.as_array_mut().filter(|calls| !calls.is_empty()) {
                assert_eq!(calls.len(), 1, "{calls:?}");
                return calls.remove(0);
            }
            std::thread::yield_now();
        }
    }

    fn decide(&self, decision: &str) -> Value {
        let id = self.waiting()["id"].as_str().expect("an id").to_owned();
        self.inspect("POST", &format!("/api/approvals/{id}/{decision}"))
    }

    fn writes(&self) -> usize {
        self.folder
            .notes("one")
            .iter()
            .filter(|note| note.starts_with("write"))
            .count()
    }

    /// Ends the gateway. Returns the outcomes in its audit log.
    fn end(self) -> Vec<Value> {
        self.gateway.end();
        let audit = self.folder.read("audit.jsonl");
        audit
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["outcome"].clone())
            .collect()
    }
}

#[test]
fn an_operator_approves_a_call_in_the_inspector() {
    let mut run = Inspected::start("", &json!({"elicitation": {}}));
    let call =
        json!({"name": "one_write", "arguments": {"text": "a", "password": "hunter2-hunter2"}});
    let question = run.gateway.request(2, "tools/call", &call);
    assert_eq!(
        question["method"], "elicitation/create",
        "the client's user may answer, too"
    );
    let waiting = run.waiting();
    assert_eq!(waiting["tool"], "one_write", "{waiting}");
    assert!(!waiting.to_string().contains("hunter2"), "{waiting}");
    assert_eq!(run.writes(), 0);
    let approved = run.decide("approve");
    assert_eq!(
        approved["response"]["envelope"]["data"]["result"], "wrote a",
        "{approved}"
    );
    assert_eq!(run.inspect("GET", "/api/approvals"), json!([]));

    let mut messages = [run.gateway.read(), run.gateway.read()];
    messages.sort_by_key(|message| message["id"].is_null());
    let [answer, withdrawal] = messages;
    assert_eq!(
        answer["result"]["structuredContent"]["result"], "wrote a",
        "{answer}"
    );
    assert_eq!(
        withdrawal["params"]["requestId"], question["id"],
        "{withdrawal}"
    );
    // The user's answer comes too late, and does not run the call again.
    run.gateway.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}));
    run.gateway.request(3, "ping", &json!({}));
    assert_eq!(run.writes(), 1);
    assert_eq!(run.end(), ["CONFIRMATION_REQUIRED", "OK"]);
}

#[test]
fn a_call_of_the_inspector_is_governed_and_recorded() {
    let run = Inspected::start("retrieval = 1", &json!({}));
    assert_eq!(run.inspect("GET", "/api/overview")["sessionsOnly"], true);
    let write = json!({"tool": "one_write", "arguments": r#"{"text": "a"}"#, "mode": "text"});
    let answer = run.send("POST", "/api/call", &write);
    assert_eq!(
        answer["response"]["envelope"]["error"]["type"], "CONFIRMATION_REQUIRED",
        "{answer}"
    );
    let session = answer["session"]["id"]
        .as_str()
        .expect("a session")
        .to_owned();
    let echo = json!({"tool": "one_echo", "arguments": r#"{"text": "a"}"#, "session": session});
    assert_eq!(
        run.send("POST", "/api/call", &echo)["response"]["envelope"]["ok"],
        true
    );
    assert_eq!(
        run.send("POST", "/api/call", &echo)["response"]["envelope"]["ok"],
        false,
        "over its budget"
    );
    assert_eq!(run.writes(), 0);
    assert_eq!(
        run.end(),
        ["CONFIRMATION_REQUIRED", "OK", "BUDGET_EXCEEDED"]
    );
}

#[test]
fn a_client_that_cannot_ask_waits_for_the_operator() {
    let mut run = Inspected::start("", &json!({}));
    for (id, decision, is_error) in [(2, "approve", false), (3, "deny", true)] {
        let params = json!({"name": "one_write", "arguments": {"text": decision}});
        run.gateway
            .write(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        run.decide(decision);
        let answer = run.gateway.read();
        assert_eq!(
            (&answer["id"], answer["result"]["isError"] == true),
            (&json!(id), is_error),
            "{answer}"
        );
    }
    assert_eq!(
        (run.writes(), run.end()),
        (
            1,
            [
                "CONFIRMATION_REQUIRED",
                "OK",
                "CONFIRMATION_REQUIRED",
                "DENIED"
            ]
            .map(Value::from)
            .to_vec()
        )
    );
}

#[test]
fn a_repeated_call_gets_the_result_of_the_approved_one() {
    let mut run = Inspected::start("approval_wait = '1ms'", &json!({}));
    let call = json!({"name": "one_write", "arguments": {"text": "a", "password": "p"}});
    let reordered = json!({"name": "one_write", "arguments": {"password": "p", "text": "a"}});
    for (id, call) in [(2, &call), (3, &reordered), (4, &call), (5, &call)] {
        let answer = run.gateway.request(id, "tools/call", call);
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(
            answer["result"]["isError"] == true && text.contains("same arguments"),
            "{answer}"
        );
    }
    let other = json!({"name": "one_echo", "arguments": {"text": "other"}});
    assert_ne!(
        run.gateway.request(6, "tools/call", &other)["result"]["isError"],
        true,
        "others run"
    );
    run.decide("approve");
    assert_eq!(run.writes(), 1);
    let answer = run.gateway.request(7, "tools/call", &reordered);
    assert_eq!(
        answer["result"]["structuredContent"]["result"], "wrote a",
        "{answer}"
    );
    // It is given once: the next one is a call of its own.
    let answer = run.gateway.request(8, "tools/call", &call);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    run.decide("deny");
    let answer = run.gateway.request(9, "tools/call", &call);
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("refused")),
        "{answer}"
    );
    assert_eq!(run.writes(), 1);
    assert_eq!(
        run.end(),
        [
            "CONFIRMATION_REQUIRED",
            "OK",
            "OK",
            "CONFIRMATION_REQUIRED",
            "DENIED"
        ]
    );
}

#[test]
fn a_waiting_call_that_its_client_cancels_is_denied() {
    let mut run = Inspected::start("", &json!({}));
    let params = json!({"name": "one_write", "arguments": {"text": "a"}});
    run.gateway
        .write(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    run.waiting();
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    run.gateway.write(&cancelled);
    while run.inspect("GET", "/api/approvals") != json!([]) {
        std::thread::yield_now();
    }
    assert_eq!(
        (run.writes(), run.end()),
        (0, vec![json!("CONFIRMATION_REQUIRED"), json!("DENIED")])
    );
}

#[test]
fn problems_of_the_files_end_it_with_a_list() {
    let folder = Folder::new("limit = 1\nname = 7");
    let output = program(&folder)
        .stdin(Stdio::null())
        .output()
        .expect("ended");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        errors
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count(),
        2,
        "{errors}"
    );
    assert!(
        errors.contains("unknown key `limit`") && errors.contains("`limits`"),
        "{errors}"
    );
}

/// The book's policy has every key, so that it shows all of them and this reads all of them.
#[test]
fn the_policy_of_the_book_is_valid() {
    let book = include_str!("../../../../docs/book/gateway.md");
    let policy = book
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a policy");
    let folder = Folder::new(policy);
    folder.servers(&json!({"github": folder.child("github", "v1")}));
    tool_adapters::mcp::Pins::create(folder.path("mcp.pins.json")).expect("created");
    let check = |policy: &str| {
        folder.policy(policy);
        let mut check = program(&folder);
        check
            .args(["--check", "--log", "error"])
            .env("SIGNING_KEY", "0a".repeat(32))
            .env("OTEL_KEY", "k");
        check.env("GITHUB_TOKEN", "t");
        for name in ["ADA_TOKEN", "METRICS_TOKEN", "INSPECTOR_TOKEN"] {
            check.env(name, "0123456789abcdef");
        }
        let output = check.output().expect("ended");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(check(policy), (Some(0), String::new()));
    let uncommented = policy.replace("# oauth = ", "oauth = ");
    // The error about a key that does not exist lists those of its table, which the book has all.
    let is_in_book = |key: &str| {
        let written = [
            format!("\n{key} = "),
            format!("\n# {key} = "),
            format!("{{ {key} = "),
            format!(", {key} = "),
            format!("[{key}]"),
            format!("[{key}."),
        ];
        written.iter().any(|text| book.contains(text))
    };
    for table in [
        "",
        "[limits]",
        "[[tools]]",
        "[servers.github]",
        "sampling = { ",
        "[pins]",
        "[egress]",
        "[network]",
        "[redaction]",
        "[http]",
        "principals = [{ ",
        "[admin]",
        "[inspector]",
        "[audit]",
        "[otel]",
        "[sessions]",
        "oauth = { ",
    ] {
        let member = match table.chars().last() {
            None => "bad = 1\n",
            Some(']') => "\nbad = 1",
            Some(_) => "bad = 1, ",
        };
        let policy = uncommented.replacen(table, &format!("{table}{member}"), 1);
        let (code, errors) = check(&policy);
        assert_eq!(code, Some(2), "{table}");
        let unknown = errors
            .lines()
            .find(|line| line.contains("unknown key `bad`"));
        let keys = unknown
            .expect("the key is unknown")
            .split('`')
            .skip(3)
            .step_by(2);
        for key in keys {
            assert!(is_in_book(key), "{table} {key}");
        }
    }
}

#[test]
fn check_prints_the_tools_and_what_holds_for_them() {
    let folder = Folder::new(
        "deny = ['*_crash']\n[[tools]]\nmatch = ['*_write', 'nothing_*']\nconfirm = true\nmax_calls = 2\nrate = '5/1m'",
    );
    let output = program(&folder).arg("--check").output().expect("ended");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("one: connected\n"), "{text}");
    assert!(
        text.contains(
            "  one_write (action, confirm, max_calls 2 a turn, timeout 30s, rate 5/60s)\n"
        ),
        "{text}"
    );
    assert!(
        !text.contains("one_crash") && text.contains("\"nothing_*\" matches no tool"),
        "{text}"
    );

    folder.servers(&json!({"one": {"command": "false"}}));
    let output = program(&folder).arg("--check").output().expect("ended");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn check_names_tools_without_the_argument_of_a_rule() {
    let rule = |name: &str| format!("[[tools]]\nmatch = '*_echo'\nconfirm_if = {{ {name} = '*' }}");
    let check = |policy: &str| {
        let output = program(&Folder::new(policy))
            .arg("--check")
            .output()
            .expect("ended");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let missing =
        "warning: `confirm_if` confirms no call of `one_echo`, which has no argument `path`\n";
    assert!(check(&rule("path")).ends_with(missing));
    for policy in [
        rule("text"),
        format!("{}\n[[tools]]\nmatch = '*'\nconfirm = true", rule("path")),
    ] {
        assert!(!check(&policy).contains("warning"), "{policy}");
    }
}

#[test]
fn no_server_starts_before_a_refused_address() {
    let lacks = |keys: &str| format!("other machines can reach 0.0.0.0:0; set {keys}");
    for (policy, arguments, problem) in [
        (
            "",
            &["--http", "0.0.0.0:0"][..],
            format!("--http: {}", lacks("`http.hosts` and `http.principals`")),
        ),
        (
            "",
            &["--check", "--http", "0.0.0.0:0"],
            format!("--http: {}", lacks("`http.hosts` and `http.principals`")),
        ),
        (
            "http = { hosts = ['x'], listen = '0.0.0.0:0' }",
            &["--check"],
            lacks("`http.principals`"),
        ),
        (
            "http = { allow_anonymous = true, listen = '0.0.0.0:0' }",
            &["--http"],
            lacks("`http.hosts`"),
        ),
        (
            "admin = { listen = '0.0.0.0:0' }",
            &[],
            format!("admin.listen: {}", lacks("`http.hosts` and `admin.token`")),
        ),
    ] {
        let folder = Folder::new(policy);
        folder.servers(&json!({"one": {"command": "touch", "args": [folder.path("started")]}}));
        let output = program(&folder)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("ended");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(&problem), "{errors}");
        assert_eq!(
            (output.status.code(), folder.path("started").exists()),
            (Some(2), false),
            "{policy} {errors}"
        );
    }
}

#[test]
fn check_without_the_pins_is_a_problem_of_a_file() {
    let output = program(&Folder::new("[pins]\nfile = 'pins.json'"))
        .arg("--check")
        .output()
        .expect("ended");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("error: pins.file: expected pins in ")
    );
}

#[test]
fn a_server_that_is_gone_is_logged_once_in_plain_words() {
    let folder = Folder::new("");
    folder.servers(
        &json!({"one": folder.child("one", "v1"), "gone": {"url": "http://127.0.0.1:9/mcp"}}),
    );
    let output = program(&folder)
        .stdin(Stdio::null())
        .output()
        .expect("ended");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(
        log.contains("server=gone error=failed to connect to the server: "),
        "{log}"
    );
    assert!(!log.contains("Custom {"), "{log}");
}

/// Answers each connection with a text, and ends it. Returns the address.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // Small requests come at once.
            _ = stream.read(&mut [0; 1 << 13]);
            _ = stream.write_all(answer.as_bytes());
        }
    });
    address.to_string()
}

#[test]
fn check_describes_broken_servers_in_plain_words() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi";
    let broken = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    let locked =
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n";
    let (closed, other) = (
        "the server closed the connection before it answered",
        "the answer is not HTTP; check the URL",
    );
    let url =
        |scheme: &str, answer| json!({"url": format!("{scheme}://{}/mcp", answering(answer))});
    let script = |script: &str| json!({"command": "sh", "args": ["-c", script]});
    let refusal = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"no"}}'; read -r line"#;
    let servers = [
        (
            "html",
            url("http", html),
            "expected an answer in JSON or as events, got `text/html`; check the path of the URL",
        ),
        (
            "broken",
            url("http", broken),
            "the server broke off its answer",
        ),
        (
            "locked",
            url("http", locked),
            "the server wants a login or another key (HTTP 401: Bearer)",
        ),
        ("closed", url("http", ""), closed),
        ("other", url("http", "SSH-2.0-x\r\n"), other),
        (
            "tls",
            url("https", html),
            "the answer is not TLS; check that the URL has the right scheme and port",
        ),
        (
            "gone",
            json!({"url": "http://127.0.0.1:9/mcp"}),
            "nothing takes connections at this address; check that the server runs",
        ),
        (
            "name",
            json!({"url": "https://name.invalid/"}),
            "failed to find the address of `name.invalid`; check the name",
        ),
        (
            "refuses",
            script(refusal),
            "it answered `initialize` with the error -32600: no",
        ),
    ];
    let folder = Folder::new("");
    folder.servers(
        &servers
            .iter()
            .map(|(name, server, _)| ((*name).to_owned(), server.clone()))
            .collect(),
    );
    let output = program(&folder)
        .args(["--check", "--log", "error"])
        .output()
        .expect("ended");
    let shown = String::from_utf8_lossy(&output.stdout);
    for (name, _, error) in servers {
        let start = format!("{name}: failed to connect to the server: {error}");
        assert!(
            shown.lines().any(|line| line.starts_with(&start)),
            "{start}\n{shown}"
        );
    }
    let folder = Folder::new("");
    folder.servers(&json!({"one": {"command": "true", "cwd": "missing"}}));
    let output = program(&folder).arg("--check").output().expect("ended");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.starts_with("one: failed to start the server: `") && shown.contains("/missing`: "),
        "{shown}"
    );
}

#[test]
fn no_secret_of_the_files_is_printed() {
    let secret = "hunter2-0123456789abcdef";
    let folder = Folder::new(&format!(
        "[[http.principals]]\nname = 'ada'\ntoken = '{secret}'\n[admin]\ntoken = '{secret}'\n[inspector]\nlisten = '127.0.0.1:0'\ntoken = '{secret}'"
    ));
    let mut one = folder.child("one", "v1");
    one["env"]["SECRET"] = json!(secret);
    folder.servers(&json!({
        "one": one,
        "web": {"url": format!("http://127.0.0.1:9/{secret}/mcp?key={secret}"), "headers": {"X-Api-Key": secret}},
        "ends": {"command": "sh", "args": ["-c", "echo \"$SECRET\" >&2; exit 1", secret], "env": {"SECRET": secret}}
    }));
    for arguments in [&["--check"][..], &["--log", "debug"]] {
        let output = program(&folder)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("ended");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(printed.contains("ends"), "{printed}");
    }
}

/// Returns true if a process runs. A zombie does not.
fn runs(process: &str) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .expect("ps");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn an_interrupted_program_leaves_no_process() {
    let folder = Folder::new("");
    let script = "sleep 1000 & echo $$ $! >new; mv new processes; exec sleep 1000";
    folder.servers(&json!({"stuck": {"command": "sh", "args": ["-c", script], "cwd": "."}}));
    let mut gateway = program(&folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    // It waits for the server then.
    while !folder.path("processes").exists() {
        std::thread::yield_now();
    }
    let signal = Command::new("kill")
        .args(["-INT", &gateway.id().to_string()])
        .status()
        .expect("kill");
    assert!(signal.success());
    assert_eq!(gateway.wait().expect("ended").code(), Some(1));
    let waiting = std::time::Instant::now();
    while folder.read("processes").split_whitespace().any(runs) {
        assert!(waiting.elapsed().as_secs() < 20, "they go on");
    }
}
