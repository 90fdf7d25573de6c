//! Confirmation of calls by the client's user.

use super::support::{LineClient, server, stateless};
use serde_json::{Value, json};
use std::time::Duration;

fn elicitation() -> Value {
    json!({"elicitation": {}})
}

async fn call_and_answer(client: &mut LineClient, answer: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "erase", "arguments": {"what": "disk"}}});
    client.send(&call).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["message"].as_str().is_some_and(|text| text.contains("erase") && text.contains("disk")));
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    client.receive().await
}

#[tokio::test]
async fn runs_the_call_when_the_user_accepts() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    let answer = call_and_answer(&mut client, json!({"action": "accept", "content": {}})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
}

#[tokio::test]
async fn denies_the_call_unless_the_user_accepts() {
    for result in [json!({"action": "decline"}), json!({"action": "cancel"}), json!({"action": "yes"}), json!({})] {
        let mut client = LineClient::initialized(&server(), elicitation()).await;
        let answer = call_and_answer(&mut client, result).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!answer.to_string().contains("erased"));
    }
}

#[tokio::test]
async fn denies_the_call_if_the_client_lacks_elicitation() {
    let params = json!({"name": "erase", "arguments": {"what": "disk"}});
    let mut newest = params.clone();
    newest["_meta"] = stateless(&json!({}));
    let by_url = json!({"elicitation": {"url": {}}});
    let clients = [
        (LineClient::initialized(&server(), json!({})).await, params.clone()),
        (LineClient::initialized(&server(), by_url).await, params),
        (LineClient::connect(&server()), newest),
    ];
    for (mut client, params) in clients {
        let answer = client.request(json!(1), "tools/call", params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("this client cannot ask") && text.contains("was not run"), "{text}");
        assert!(!text.contains("being asked") && !text.contains("will follow"), "{text}");
        let received = client.received.join("");
        assert!(!received.contains("token") && !received.contains("erased"), "{received}");
    }
}

async fn call_pending(client: &mut LineClient) -> String {
    let params = json!({"name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&elicitation())});
    let answer = client.request(json!(1), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(answer["result"]["inputRequests"]["confirm"]["method"], "elicitation/create");
    answer["result"]["requestState"].as_str().expect("a state").to_owned()
}

async fn repeat_call(client: &mut LineClient, state: &str, arguments: Value, result: Value) -> Value {
    let params = json!({
        "name": "erase", "arguments": arguments, "_meta": stateless(&elicitation()),
        "requestState": state, "inputResponses": {"confirm": result}
    });
    client.request(json!(2), "tools/call", params).await
}

#[tokio::test]
async fn runs_the_repeated_call_with_the_answer_once() {
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let answer = repeat_call(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
    let again = repeat_call(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(again["error"]["code"], -32602, "a state is valid once");
}

#[tokio::test]
async fn time_limits_of_a_server_can_be_endless() {
    let max = Duration::MAX;
    let mut client = LineClient::connect(&server().confirm_timeout(max).idle_timeout(max).turn_after(max));
    let state = call_pending(&mut client).await;
    let answer = repeat_call(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
    let mut client = LineClient::initialized(&server().confirm_timeout(max), elicitation()).await;
    let answer = call_and_answer(&mut client, json!({"action": "accept"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
}

#[tokio::test]
async fn refuses_a_forged_state_and_changed_arguments() {
    for at in 0..32 {
        let mut client = LineClient::connect(&server());
        let state = call_pending(&mut client).await;
        let mut forged = state.clone().into_bytes();
        forged[at] ^= 1;
        let forged = String::from_utf8(forged).expect("a text");
        let answer = repeat_call(&mut client, &forged, json!({"what": "disk"}), json!({"action": "accept"})).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let other = repeat_call(&mut client, &state, json!({"what": "backup"}), json!({"action": "accept"})).await;
    assert_eq!(other["error"]["code"], -32602, "the user was asked about another call");
    let late = repeat_call(&mut client, &state, json!({"what": "disk"}), json!({"action": "accept"})).await;
    assert_eq!(late["error"]["code"], -32602, "the first call is denied too");
    assert!(!client.received.join("").contains("erased"));
}

#[tokio::test]
async fn asks_again_if_the_answer_is_missing() {
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let params = json!({
        "name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&elicitation()),
        "requestState": state, "inputResponses": {"other": {"action": "accept"}}
    });
    let answer = client.request(json!(2), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    let state = answer["result"]["requestState"].as_str().expect("a state").to_owned();
    let denied = repeat_call(&mut client, &state, json!({"what": "disk"}), json!({"action": "decline"})).await;
    assert_eq!(denied["result"]["isError"], true);
}
