//! Answers and errors.

use crate::support::{Answer, Server, at, call};
use serde_json::{Value, json};
use tool_core::{ErrorKind, ToolResponse};

async fn answer(method: &str, answer: Answer) -> ToolResponse {
    let server = Server::answering(move |_| answer.clone()).await;
    let paths = json!({"/x": {(method): {"operationId": "go"}}});
    call(at(&server, &paths), "go", &json!({})).await
}

fn of_type(media_type: &str) -> Vec<(&'static str, String)> {
    vec![("content-type", media_type.to_owned())]
}

#[tokio::test]
async fn bodies_become_values_texts_or_descriptions() {
    let data = async |headers, body: &str| {
        let response = answer("get", (200, headers, body.to_owned())).await;
        serde_json::from_str::<Value>(response.data_json().expect("data")).expect("JSON")
    };
    assert_eq!(
        data(of_type("application/json"), r#"{"a": [1]}"#).await,
        json!({"a": [1]})
    );
    assert_eq!(
        data(of_type("application/hal+json; charset=utf-8"), "7").await,
        json!(7)
    );
    assert_eq!(data(of_type("text/csv"), "a,b").await, json!("a,b"));
    assert_eq!(data(vec![], r#"{"a": 1}"#).await, json!({"a": 1}));
    assert_eq!(
        data(of_type("application/json"), "").await,
        json!({"status": 200})
    );
    let picture = data(of_type("image/png"), "\u{1}\u{2}").await;
    assert_eq!(
        picture,
        json!({"status": 200, "contentType": "image/png", "bytes": "2"})
    );
    assert!(
        !answer("get", (200, of_type("application/json"), "{".to_owned()))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn statuses_have_the_kinds_of_errors() {
    let cases = [
        ("get", 400, ErrorKind::Permanent, false, false),
        ("get", 401, ErrorKind::Auth, false, false),
        ("get", 403, ErrorKind::Auth, false, false),
        ("get", 404, ErrorKind::Permanent, false, false),
        ("put", 409, ErrorKind::Conflict, false, false),
        ("get", 429, ErrorKind::RateLimit, true, false),
        ("get", 500, ErrorKind::Transient, true, false),
        ("put", 502, ErrorKind::Transient, true, false),
        ("post", 500, ErrorKind::Transient, false, true),
        ("post", 503, ErrorKind::Transient, true, false),
        ("get", 304, ErrorKind::Permanent, false, false),
    ];
    for (method, status, kind, retryable, effects) in cases {
        let response = answer(method, (status, vec![], String::new())).await;
        let error = response.error().expect("an error");
        let found = (error.kind, error.retryable, error.partial_side_effects);
        assert_eq!(found, (kind, retryable, effects), "{method} {status}");
    }
}

#[tokio::test]
async fn errors_show_a_bounded_text_and_the_time_to_wait() {
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("retry-after", "30".to_owned()),
    ];
    let response = answer(
        "get",
        (
            429,
            headers,
            format!(r#"{{"message":"slow down{}"}}"#, "x".repeat(100_000)),
        ),
    )
    .await;
    let message = &response.error().expect("an error").message;
    assert!(
        message.starts_with("`127.0.0.1` answered 429 Too Many Requests: {\"message\":\"slow down"),
        "{message}"
    );
    assert!(
        message.ends_with("; try again after 30 s") && message.len() < 3_000,
        "{}",
        message.len()
    );
    let page = answer("get", (502, of_type("text/html"), "<html>".to_owned())).await;
    assert_eq!(
        page.error().expect("an error").message,
        "`127.0.0.1` answered 502 Bad Gateway"
    );
}

#[tokio::test]
async fn json_may_begin_with_a_byte_order_mark() {
    for headers in [of_type("application/json"), vec![]] {
        let response = answer("get", (200, headers, "\u{feff}{\"a\": 1}".to_owned())).await;
        assert_eq!(response.data_json(), Some(r#"{"a":1}"#));
    }
}

#[tokio::test]
async fn a_501_may_have_had_effects_and_is_final() {
    for (method, effects) in [("get", false), ("post", true)] {
        let response = answer(method, (501, vec![], String::new())).await;
        let error = response.error().expect("an error");
        assert_eq!(error.kind, ErrorKind::Permanent);
        assert!(!error.retryable);
        assert_eq!(error.partial_side_effects, effects, "{method}");
    }
}

#[tokio::test]
async fn numbers_of_an_answer_keep_all_their_digits() {
    let body =
        "{\n \"id\": 123456789012345678901234, \"text\": \"a \\\"b\\\" : é\",\t\"price\": 0.10\n}";
    let response = answer("get", (200, of_type("application/json"), body.to_owned())).await;
    assert_eq!(
        response.data_json(),
        Some(r#"{"id":123456789012345678901234,"text":"a \"b\" : é","price":0.10}"#)
    );
}
