//! Calls that wait for a person. R-C1, R-C2

use super::support::{Lines, server, stateless};
use serde_json::{Value, json};

fn asks() -> Value {
    json!({"elicitation": {}})
}

async fn asked(client: &mut Lines, answer: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "erase", "arguments": {"what": "disk"}}});
    client.send(&call).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["message"].as_str().is_some_and(|text| text.contains("erase") && text.contains("disk")));
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    client.receive().await
}

#[tokio::test]
async fn the_clients_user_is_asked_and_a_yes_runs_the_call() {
    let mut client = Lines::begun(&server(), asks()).await;
    let answer = asked(&mut client, json!({"action": "accept", "content": {}})).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#""erased disk""#);
}

#[tokio::test]
async fn anything_but_a_yes_is_a_no() {
    for said in [json!({"action": "decline"}), json!({"action": "cancel"}), json!({"action": "yes"}), json!({})] {
        let mut client = Lines::begun(&server(), asks()).await;
        let answer = asked(&mut client, said).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!answer.to_string().contains("erased"));
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_told_that_nobody_was_asked_and_nothing_ran() {
    let params = json!({"name": "erase", "arguments": {"what": "disk"}});
    let mut newest = params.clone();
    newest["_meta"] = stateless(&json!({}));
    let by_url = json!({"elicitation": {"url": {}}});
    let clients = [
        (Lines::begun(&server(), json!({})).await, params.clone()),
        (Lines::begun(&server(), by_url).await, params),
        (Lines::of(&server()), newest),
    ];
    for (mut client, params) in clients {
        let answer = client.request(json!(1), "tools/call", params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("this client cannot ask") && text.contains("was not run"), "{text}");
        assert!(!text.contains("being asked") && !text.contains("will follow"), "{text}");
        let heard = client.heard.join("");
        assert!(!heard.contains("token") && !heard.contains("erased"), "{heard}");
    }
}

async fn sent_away(client: &mut Lines) -> String {
    let params = json!({"name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&asks())});
    let answer = client.request(json!(1), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(answer["result"]["inputRequests"]["confirm"]["method"], "elicitation/create");
    answer["result"]["requestState"].as_str().expect("a state").to_owned()
}

async fn come_back(client: &mut Lines, state: &str, arguments: Value, said: Value) -> Value {
    let params = json!({
        "name": "erase", "arguments": arguments, "_meta": stateless(&asks()),
        "requestState": state, "inputResponses": {"confirm": said}
    });
    client.request(json!(2), "tools/call", params).await
}

#[tokio::test]
async fn in_the_newest_revision_the_call_comes_back_with_the_answer() {
    let mut client = Lines::of(&server());
    let state = sent_away(&mut client).await;
    let answer = come_back(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#""erased disk""#);
    let again = come_back(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(again["error"]["code"], -32602, "a word is good for once");
}

#[tokio::test]
async fn what_a_client_brings_back_is_not_believed() {
    let mut client = Lines::of(&server());
    for at in 0..32 {
        let state = sent_away(&mut client).await;
        let mut forged = state.clone().into_bytes();
        forged[at] ^= 1;
        let forged = String::from_utf8(forged).expect("a text");
        let answer = come_back(&mut client, &forged, json!({"what": "disk"}), json!({"action": "accept"})).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
    let state = sent_away(&mut client).await;
    let other = come_back(&mut client, &state, json!({"what": "backup"}), json!({"action": "accept"})).await;
    assert_eq!(other["error"]["code"], -32602, "another call was not asked about");
    let late = come_back(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(late["error"]["code"], -32602, "and the first is not run after that");
    assert!(!client.heard.join("").contains("erased"));
}

#[tokio::test]
async fn a_missing_answer_is_asked_for_again() {
    let mut client = Lines::of(&server());
    let state = sent_away(&mut client).await;
    let params = json!({
        "name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&asks()),
        "requestState": state, "inputResponses": {"other": {"action": "accept"}}
    });
    let answer = client.request(json!(2), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    let state = answer["result"]["requestState"].as_str().expect("a state").to_owned();
    let denied = come_back(&mut client, &state, json!({"what": "disk"}), json!({"action": "decline"})).await;
    assert_eq!(denied["result"]["isError"], true);
}
