//! Invalid messages: each gets one typed error, and the next call works.

use super::http::{EventReader, HttpClient, serve};
use super::support::{LineClient, server, stateless, until};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tool_adapters::mcp::Server;
use tool_core::Runtime;

fn corpus() -> Vec<(Vec<u8>, i64)> {
    let (parse, invalid, params) = (-32700, -32600, -32602);
    let mut corpus = [
        ("{", parse),
        ("}", parse),
        ("[", parse),
        ("nul", parse),
        ("'a'", parse),
        ("{\"a\":1,}", parse),
        ("{a:1}", parse),
        ("[1,,2]", parse),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", parse),
        ("01", parse),
        ("1e", parse),
        ("NaN", parse),
        ("\"\\ud800\"", parse),
        ("\"\\x\"", parse),
        ("\"a\tb\"", parse),
        ("\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", parse),
        ("1e400", parse),
        ("null", invalid),
        ("true", invalid),
        ("7", invalid),
        ("\"text\"", invalid),
        ("[]", invalid),
        ("{}", invalid),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1}"#, invalid),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, invalid),
        (r#"{"id":1,"method":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":"{}"}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":[1,2]}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#, params),
    ]
    .map(|(text, code)| (text.as_bytes().to_vec(), code))
    .to_vec();
    corpus.push((
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}".to_vec(),
        parse,
    ));
    corpus.push(("[".repeat(100_000).into_bytes(), parse));
    corpus.push((
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(),
        parse,
    ));
    corpus.push((format!("\"{}\"", "x".repeat(5 << 20)).into_bytes(), invalid));
    corpus
}

/// Members with similar names and duplicate members, of which another parser may read the other one.
fn look_alikes() -> Vec<(&'static str, i64)> {
    let (invalid, params, method) = (-32600, -32602, -32601);
    vec![
        (r#"{"jsonrpc":"2.0","id":1,"METHOD":"ping"}"#, invalid),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            invalid,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","meth\u006fd":"tools/call"}"#,
            invalid,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            invalid,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}"#,
            invalid,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2,"b":3}}}"#,
            invalid,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"add","arguments":{}}}"#,
            params,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ADD","arguments":{"a":1,"b":2}}}"#,
            params,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#,
            method,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"add","arguments":{"a":1,"b":2}}}"#,
            method,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools\u2215call","params":{"name":"add","arguments":{}}}"#,
            method,
        ),
    ]
}

async fn assert_refused(client: &mut LineClient, line: &[u8], code: i64) {
    client.send_text(line).await;
    let answer = client.receive().await;
    let shown = String::from_utf8_lossy(line.get(..line.len().min(120)).unwrap_or_default());
    assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|message| !message.is_empty()),
        "{shown}"
    );
    let next = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(next["result"]["content"][0]["text"], "3", "after {shown}");
}

#[tokio::test]
async fn answers_an_invalid_message_once_and_goes_on() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for (line, code) in corpus() {
        assert_refused(&mut client, &line, code).await;
    }
}

#[tokio::test]
async fn refuses_lookalike_and_duplicate_members() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for (line, code) in look_alikes() {
        assert_refused(&mut client, line.as_bytes(), code).await;
    }
}

/// Returns messages with members that are not known, among them ones that look like those that are.
fn with_unknown_members() -> [Value; 6] {
    let arguments = json!({"a": 1, "b": 2});
    [
        json!({"name": "add", "arguments": arguments, "task": {"ttl": 1}, "x": {"y": [1]}}),
        json!({"name": "add", "arguments": arguments, "Name": "erase"}),
        json!({"name": "add", "arguments": arguments, "Arguments": {"a": "x"}}),
        json!({"name": "add", "arguments": arguments, "ar\u{261}uments": 7}),
        json!({"name": "add", "arguments": arguments, "_meta": null, "requestState": null}),
        json!({"name": "add", "arguments": arguments, "_meta": {"x/y": [1]}}),
    ]
}

// T23
#[tokio::test]
async fn ignores_members_that_it_does_not_know() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for params in with_unknown_members() {
        let answer = client.request(json!(1), "tools/call", params.clone()).await;
        assert_eq!(
            answer["result"]["content"][0]["text"], "3",
            "{params}: {answer}"
        );
    }
    for message in [
        json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"x": 1}, "Method": "tools/call", "ID": 3}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"_meta": null}}),
    ] {
        client.send(&message).await;
        assert_eq!(
            client.receive().await,
            json!({"jsonrpc": "2.0", "id": 2, "result": {}})
        );
    }
    let listed = client
        .request(json!(3), "tools/list", json!({"cursor": null, "x": 1}))
        .await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[tokio::test]
async fn ignores_unknown_members_over_http() {
    let client = HttpClient::new(&serve(&server()).await);
    let session = client.initialize(&json!({})).await.expect("a session");
    for params in with_unknown_members() {
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, "x": 1});
        for accept in [
            "application/json, text/event-stream",
            "text/event-stream;q=1, application/json",
        ] {
            let answer = EventReader::new(session.with("accept", accept).post(&call).await)
                .next()
                .await;
            assert_eq!(
                answer.expect("an answer")["result"]["content"][0]["text"],
                "3",
                "{params}"
            );
        }
    }
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": stateless(&json!({})), "x": 1}});
    let modern = client
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", "server/discover");
    let answer = EventReader::new(modern.post(&discover).await)
        .next()
        .await
        .expect("an answer");
    assert!(
        answer["result"]["capabilities"]["tools"].is_object(),
        "{answer}"
    );
}

#[tokio::test]
async fn takes_null_arguments_for_none() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let params = json!({"name": "work", "arguments": null});
    let answer = client.request(json!(1), "tools/call", params.clone()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    let session = HttpClient::new(&serve(&server()).await)
        .initialize(&json!({}))
        .await
        .expect("a session");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for accept in [
        "application/json, text/event-stream",
        "text/event-stream;q=1, application/json",
    ] {
        let answer = EventReader::new(session.with("accept", accept).post(&call).await)
            .next()
            .await;
        assert_eq!(
            answer.expect("an answer")["result"]["content"][0]["text"],
            "done"
        );
    }
}

#[tokio::test]
async fn methods_of_sessions_are_not_found_without_them() {
    let url = serve(&server()).await;
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "x",
    ] {
        let client = HttpClient::new(&url)
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", method);
        let answer = client
            .post(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}}))
            .await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method}");
        let answer = answer.json::<Value>().await.expect("JSON");
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32601)),
            "{method}"
        );
    }
}

#[tokio::test]
async fn answers_every_unknown_method_in_one_form() {
    let methods = [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "completion/complete",
        "tasks/get",
        "subscriptions/listen",
        "notifications/initialized",
        "x",
        "",
    ];
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let session = HttpClient::new(&serve(&server()).await)
        .initialize(&json!({}))
        .await
        .expect("a session");
    for method in methods {
        for params in [
            json!({}),
            json!({"name": "x", "uri": "x", "level": "info", "taskId": "1"}),
        ] {
            let message = format!(
                "unknown method `{method}`; this server has `initialize`, `server/discover`, `ping`, `logging/setLevel`, `tools/list`, `tools/call`"
            );
            let expected =
                json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": message}});
            assert_eq!(
                client.request(json!(7), method, params.clone()).await,
                expected
            );
            let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            let answer = session.post(&request).await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.json::<Value>().await.expect("JSON"), expected);
        }
    }
}

/// Returns calls that are not read, for their size or their depth, with the id 7 at either end.
fn too_much() -> Vec<(String, &'static str)> {
    let long = "x".repeat(5 << 20);
    let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
    let mut messages = Vec::new();
    for (text, error) in [
        (format!("\"{long}\""), "at most 4194304 bytes, got 5242"),
        (deep, "nested more than 128 deep"),
    ] {
        let params = format!(r#"{{"name":"add","arguments":{{"id":1,"a":{text}}}}}"#);
        messages.push((
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#),
            error,
        ));
        messages.push((
            format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":7}}"#),
            error,
        ));
    }
    messages
}

#[tokio::test]
async fn answers_what_it_does_not_read_under_its_id() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for (message, error) in too_much() {
        client.send_text(message.as_bytes()).await;
        let answer = client.receive().await;
        assert_eq!(answer["id"], 7, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains(error)),
            "{answer}"
        );
        assert_eq!(
            client.call("add", json!({"a": 1, "b": 2})).await["result"]["content"][0]["text"],
            "3"
        );
    }
}

// T23
#[tokio::test]
async fn a_session_outlives_what_the_server_does_not_read() {
    let session = HttpClient::new(&serve(&server()).await)
        .initialize(&json!({}))
        .await
        .expect("a session");
    for (message, error) in too_much() {
        let request = session
            .request(Method::POST)
            .header("content-type", "application/json")
            .body(message);
        let answer = request.send().await.expect("an answer");
        assert_eq!(
            answer.status(),
            StatusCode::OK,
            "clients end a session at any other"
        );
        let answer = answer.json::<Value>().await.expect("JSON");
        assert_eq!(answer["id"], 7, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains(error)),
            "{answer}"
        );
        let call = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
        let next = EventReader::new(session.post(&call).await)
            .next()
            .await
            .expect("an answer");
        assert_eq!(next["result"]["content"][0]["text"], "3");
    }
}

/// Returns the parameters of `initialize` in the revision with batches.
fn with_batches() -> Value {
    json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
}

/// Returns a batch of five messages, of which four are answered, and the texts of the answers by id.
fn batch() -> (Value, [(Value, &'static str); 4]) {
    let call = |id: u64, a: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": a, "b": 1}}});
    let begin =
        json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": with_batches()});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([call(1, 1), initialized, call(2, 2), 7, begin]);
    (
        batch,
        [
            (json!(1), "2"),
            (json!(2), "3"),
            (Value::Null, "expected an object"),
            (json!(4), "not allowed in a batch"),
        ],
    )
}

fn assert_answers(answers: &[Value]) {
    assert_eq!(answers.len(), 4, "{answers:?}");
    for (id, text) in batch().1 {
        let answer = answers
            .iter()
            .find(|answer| answer["id"] == id)
            .expect("an answer");
        assert!(answer.to_string().contains(text), "{answer}");
    }
}

#[tokio::test]
async fn answers_a_batch_of_its_revision_with_an_array() {
    let mut client = LineClient::connect(&server());
    client
        .request(json!("begin"), "initialize", with_batches())
        .await;
    for _ in 0..3 {
        client.send(&batch().0).await;
        assert_answers(client.receive().await.as_array().expect("an array"));
    }
    client
        .send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]))
        .await;
    for empty in ["[]".to_owned(), json!(vec![0; 1_001]).to_string()] {
        client.send_text(empty.as_bytes()).await;
        assert_eq!(client.receive().await["error"]["code"], -32600);
    }
    assert_eq!(
        client.call("add", json!({"a": 1, "b": 2})).await["result"]["content"][0]["text"],
        "3"
    );
}

#[tokio::test]
async fn a_batch_whose_last_call_is_cancelled_is_answered() {
    let mut client = LineClient::connect(&server());
    client
        .request(json!("begin"), "initialize", with_batches())
        .await;
    let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
    client
        .send(&json!([call(1, "wait"), call(2, "work")]))
        .await;
    client.call("add", json!({"a": 1, "b": 2})).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let answers = client.receive().await;
    assert_eq!(
        (&answers[0]["id"], answers.as_array().map(Vec::len)),
        (&json!(2), Some(1)),
        "{answers}"
    );
}

#[tokio::test]
async fn answers_a_batch_over_http() {
    let client = HttpClient::new(&serve(&server()).await);
    let opened = client
        .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": with_batches()}))
        .await;
    let id = opened.headers()["mcp-session-id"]
        .to_str()
        .expect("a text")
        .to_owned();
    let session = client
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", "2025-03-26");
    let mut events = EventReader::new(session.post(&batch().0).await);
    let mut answers = Vec::new();
    while let Some(answer) = events.next().await {
        answers.push(answer);
    }
    assert_answers(&answers);
    let notification = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(
        session.post(&notification).await.status(),
        StatusCode::ACCEPTED
    );
    let ended = session
        .request(Method::DELETE)
        .send()
        .await
        .expect("an answer");
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
}

// T23
#[tokio::test]
async fn a_repeated_id_runs_once() {
    let runtime = Runtime::builder(super::support::tools())
        .build()
        .expect("a runtime");
    let mut client = LineClient::initialized(&Server::new(runtime.clone()), json!({})).await;
    let wait =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}});
    for _ in 0..1_000 {
        client.send(&wait).await;
    }
    client.call("add", json!({"a": 1, "b": 2})).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    until(async || runtime.metrics().tools.contains_key("wait")).await;
    client.call("add", json!({"a": 1, "b": 3})).await;
    assert_eq!(runtime.metrics().tools["wait"].calls, 1, "of 1,000");
    let again = client
        .request(json!(1), "tools/call", json!({"name": "work"}))
        .await;
    assert_eq!(
        again["result"]["content"][0]["text"], "done",
        "the id is free again"
    );
}

#[tokio::test]
async fn skips_messages_before_initialize() {
    let mut client = LineClient::connect(&server());
    client.send_text(b"nonsense").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
        .await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        .await;
    assert_eq!(
        client.receive().await["error"]["code"],
        -32602,
        "the revision is not negotiated yet"
    );
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = client.request(json!(3), "initialize", begin).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn skips_empty_lines_and_accepts_carriage_returns() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for line in ["", "\r", ""] {
        client.send_text(line.as_bytes()).await;
    }
    client
        .send_text(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r")
        .await;
    assert_eq!(
        client.receive().await,
        json!({"jsonrpc": "2.0", "id": 5, "result": {}})
    );
    assert_eq!(
        client
            .received
            .iter()
            .filter(|line| line.contains("error"))
            .count(),
        0
    );
}
