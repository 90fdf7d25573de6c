//! Invalid messages: each gets one typed error, and the next call works.

use super::support::{LineClient, server};
use serde_json::json;

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
    corpus.push((b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}".to_vec(), parse));
    corpus.push(("[".repeat(100_000).into_bytes(), parse));
    corpus.push((format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(), parse));
    corpus.push((format!("\"{}\"", "x".repeat(5 << 20)).into_bytes(), invalid));
    corpus
}

/// Members with similar names and duplicate members, of which another parser may read the other one.
fn look_alikes() -> Vec<(&'static str, i64)> {
    let (invalid, params, method) = (-32600, -32602, -32601);
    vec![
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","ID":2}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"METHOD":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","meth\u006fd":"tools/call"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}"#, invalid),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2,"b":3}}}"#,
            invalid,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Name":"erase"}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Arguments":{}}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","ar\u0261uments":{}}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ADD","arguments":{"a":1,"b":2}}}"#, params),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#, method),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"add","arguments":{"a":1,"b":2}}}"#,
            method,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools\u2215call","params":{"name":"add","arguments":{}}}"#, method),
    ]
}

async fn assert_refused(client: &mut LineClient, line: &[u8], code: i64) {
    client.send_text(line).await;
    let answer = client.receive().await;
    let shown = String::from_utf8_lossy(line.get(..line.len().min(120)).unwrap_or_default());
    assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{shown}");
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

#[tokio::test]
async fn skips_messages_before_initialize() {
    let mut client = LineClient::connect(&server());
    client.send_text(b"nonsense").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    assert_eq!(client.receive().await["error"]["code"], -32602, "the revision is not negotiated yet");
    let begin =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = client.request(json!(3), "initialize", begin).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn skips_empty_lines_and_accepts_carriage_returns() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for line in ["", "\r", ""] {
        client.send_text(line.as_bytes()).await;
    }
    client.send_text(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r").await;
    assert_eq!(client.receive().await, json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    assert_eq!(client.received.iter().filter(|line| line.contains("error")).count(), 0);
}
