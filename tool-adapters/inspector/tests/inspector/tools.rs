//! The tools and their declarations.

use crate::support::served;
use serde_json::{Value, json};
use tool_adapters::Provider;

#[tokio::test]
async fn lists_all_tools_with_their_options() {
    let listed = served().await.get("/api/tools").await;
    let tools = listed["tools"].as_array().expect("a list");
    let of = |name: &str| {
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {listed}"))
    };
    assert_eq!(of("search")["category"], "retrieval");
    assert_eq!(of("search")["summary"], "Search the notes.");
    assert_eq!(of("hang_up")["modes"], json!(["voice"]));
    assert!(
        of("delete")["options"]
            .as_array()
            .expect("a list")
            .contains(&"confirm".into())
    );
}

#[tokio::test]
async fn a_tool_has_its_schemas_and_its_order() {
    let tool = served().await.get("/api/tools/search").await;
    assert_eq!(tool["parameters"]["properties"]["limit"]["maximum"], 50);
    assert_eq!(tool["order"], json!(["query", "limit"]));
    assert_eq!(tool["output"]["items"]["type"], "string");
    assert!(
        tool["source"]
            .as_str()
            .expect("a place")
            .contains("support.rs:"),
        "{tool}"
    );
}

#[tokio::test]
async fn unknown_tools_are_not_found() {
    let answer = served().await.send("GET", "/api/tools/invented", "").await;
    assert!(answer.error(404).contains("`invented`"), "{}", answer.body);
}

#[tokio::test]
async fn each_provider_has_a_declaration_and_a_report() {
    let served = served().await;
    for provider in Provider::ALL {
        let path = format!("/api/tools/search/declarations/{}", provider.name());
        let found = served.post(&path, json!({})).await;
        assert_eq!(found["report"]["tool"], "search", "{provider}");
        assert_eq!(found["nameAmongAll"], "search", "{provider}");
        assert!(
            found["declaration"].to_string().contains("search"),
            "{provider}: {found}"
        );
        assert!(
            !found["declaration"].to_string().contains("sign_in"),
            "{provider}: {found}"
        );
    }
}

#[tokio::test]
async fn a_declaration_can_be_strict() {
    let served = served().await;
    let mut strict = [Value::Null, Value::Null];
    for (at, wanted) in [false, true].into_iter().enumerate() {
        let found = served
            .post(
                "/api/tools/search/declarations/openai-chat",
                json!({"strict": wanted}),
            )
            .await;
        strict[at] = found["report"]["strict"].clone();
    }
    assert_eq!(strict, [json!(false), json!(true)]);
}

#[tokio::test]
async fn unknown_providers_are_not_found() {
    let answer = served()
        .await
        .send("POST", "/api/tools/search/declarations/invented", "{}")
        .await;
    assert!(
        answer.error(404).contains("unknown provider `invented`"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn the_overview_names_all_providers() {
    let overview = served().await.get("/api/overview").await;
    assert_eq!(
        overview["providers"].as_array().map(Vec::len),
        Some(Provider::ALL.len())
    );
    assert_eq!(overview["model"], Value::Null);
}
