//! Credentials: where they go, and where they do not.

use crate::support::{Server, call, context, document};
use serde_json::{Value, json};
use tool_adapters::openapi::{OpenApi, OpenApiError};
use tool_core::{Secret, ToolContext};

fn secured(security: &Value) -> Value {
    let schemes = json!({"securitySchemes": {
        "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "bearer": {"type": "http", "scheme": "bearer"},
        "basic": {"type": "http", "scheme": "Basic"},
        "oauth": {"type": "oauth2", "flows": {}},
        "host": {"type": "apiKey", "in": "header", "name": "Host"},
        "mutual": {"type": "mutualTLS"},
    }});
    let parameters = json!([
        {"name": "x-key", "in": "header", "required": true, "schema": {"type": "string"}},
        {"name": "key", "in": "query", "schema": {"type": "string"}},
        {"name": "all", "in": "query", "schema": {"type": "object"}},
    ]);
    document(
        &json!({"/x": {"get": {"operationId": "get", "security": security, "parameters": parameters}}}),
        &schemes,
    )
}

fn api(security: &Value) -> OpenApi {
    OpenApi::from_value(secured(security)).expect("a document")
}

#[tokio::test]
async fn each_scheme_puts_its_credential_in_its_place() {
    let server = Server::start().await;
    let cases = [
        ("bearer", "authorization", "Bearer s3cret-key"),
        ("oauth", "authorization", "Bearer s3cret-key"),
        ("basic", "authorization", "Basic czNjcmV0LWtleQ=="),
        ("cookie", "cookie", "sid=s3cret-key"),
        ("header", "x-key", "s3cret-key"),
    ];
    for (scheme, name, expected) in cases {
        let api = api(&json!([{(scheme): []}]))
            .base_url(&server.url)
            .credential(scheme, Secret::from("s3cret-key"));
        let arguments = if scheme == "header" {
            json!({})
        } else {
            json!({"x-key": "other"})
        };
        assert!(
            call(api.toolset("test").expect("sound"), "get", &arguments)
                .await
                .is_ok(),
            "{scheme}"
        );
        assert_eq!(server.last().header(name), Some(expected), "{scheme}");
        assert_eq!(server.last().headers.get_all(name).iter().count(), 1);
    }
    let api = api(&json!([{"query": []}]))
        .base_url(&server.url)
        .credential("query", Secret::from("s3cret-key"));
    assert!(
        call(
            api.toolset("test").expect("sound"),
            "get",
            &json!({"x-key": "other"})
        )
        .await
        .is_ok()
    );
    assert_eq!(server.last().query, "key=s3cret-key");
}

#[tokio::test]
async fn the_model_cannot_set_a_credential() {
    let server = Server::start().await;
    let api = api(&json!([{"header": [], "query": []}])).base_url(&server.url);
    let api = api
        .credential("header", Secret::from("one-key"))
        .credential("query", Secret::from("two-key"));
    let tools = ToolContext::builder()
        .with(api.toolset("test").expect("sound"))
        .build()
        .expect("sound");
    for arguments in [
        json!({"x-key": "mine"}),
        json!({"key": "mine"}),
        json!({"all": {"key": "mine"}}),
    ] {
        let response = tools.call("get", arguments.to_string(), &context()).await;
        assert!(!response.is_ok(), "{arguments}");
    }
    assert!(server.seen().is_empty());
    assert!(
        tools
            .call(
                "get",
                json!({"all": {"other": "x"}}).to_string(),
                &context()
            )
            .await
            .is_ok()
    );
    assert_eq!(server.last().query, "other=x&key=two-key");
}

#[test]
fn credentials_that_are_missing_refuse_the_operation() {
    let refusal = |api: OpenApi| {
        let toolset = api.allow_host("a.example").toolset("test").expect("sound");
        toolset
            .refused()
            .first()
            .map(|refused| refused.reason.kind())
    };
    let with = |security: &Value, url: &str| {
        let mut document = secured(security);
        document["servers"] = json!([{"url": url}]);
        OpenApi::from_value(document).expect("a document")
    };
    let https = "https://a.example";
    assert_eq!(
        refusal(with(&json!([{"bearer": []}]), https)),
        Some("credentials")
    );
    assert_eq!(
        refusal(with(&json!([{"bearer": []}]), https).allow_missing_credentials()),
        None
    );
    assert_eq!(refusal(with(&json!([{"bearer": []}, {}]), https)), None);
    assert_eq!(refusal(with(&json!([]), https)), None);
    let both = json!([{"bearer": [], "header": []}, {"cookie": []}]);
    assert_eq!(
        refusal(with(&both, https).credential("bearer", "x")),
        Some("credentials")
    );
    assert_eq!(refusal(with(&both, https).credential("cookie", "x")), None);
    // Schemes that no text satisfies, and headers that would redirect the request.
    assert_eq!(
        refusal(with(&json!([{"mutual": []}]), https).credential("mutual", "x")),
        Some("credentials")
    );
    assert_eq!(
        refusal(with(&json!([{"host": []}]), https).credential("host", "x")),
        Some("credentials")
    );
}

#[test]
fn credentials_go_to_named_hosts_over_tls_only() {
    let mut document = secured(&json!([{"bearer": []}]));
    document["servers"] = json!([{"url": "http://a.example"}]);
    let api = || {
        OpenApi::from_value(document.clone())
            .expect("a document")
            .credential("bearer", Secret::from("x"))
    };
    let kinds = |api: OpenApi| {
        let toolset = api.toolset("test").expect("sound");
        toolset
            .refused()
            .iter()
            .map(|refused| refused.reason.kind())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(api()), ["host"], "the document chooses no host");
    assert_eq!(kinds(api().allow_host("b.example")), ["host"]);
    assert_eq!(kinds(api().allow_host("a.example")), ["unencrypted"]);
    assert!(kinds(api().base_url("https://a.example")).is_empty());
    assert!(
        kinds(api().base_url("http://a.example")).is_empty(),
        "the program chose http"
    );
}

#[tokio::test]
async fn redirects_lead_to_allowed_hosts_only() {
    let victim = Server::start().await;
    let target = victim.url.replace("127.0.0.1", "localhost");
    let to = target.clone();
    let server = Server::answering(move |_| {
        (
            302,
            vec![("location", format!("{to}/stolen"))],
            String::new(),
        )
    })
    .await;
    let api = || {
        api(&json!([{"bearer": []}]))
            .base_url(&server.url)
            .credential("bearer", Secret::from("s3cret-key"))
    };
    let arguments = json!({"x-key": "other"});
    let response = call(api().toolset("test").expect("sound"), "get", &arguments).await;
    assert!(
        !response.is_ok() && response.to_json().contains("localhost"),
        "{}",
        response.to_json()
    );
    assert!(victim.seen().is_empty());
    // Another allowed host gets the request without the credential.
    let response = call(
        api()
            .allow_host("localhost")
            .toolset("test")
            .expect("sound"),
        "get",
        &arguments,
    )
    .await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(
        (
            victim.last().path.as_str(),
            victim.last().header("authorization")
        ),
        ("/stolen", None)
    );
    assert_eq!(victim.last().header("x-key"), None);
}

#[tokio::test]
async fn answers_that_repeat_a_credential_do_not_show_it() {
    for status in [200, 400, 401, 500] {
        let server = Server::answering(move |seen| {
            let text = format!("{:?} {}", seen.headers, seen.query);
            let body = json!({"echo": text, (seen.header("authorization").unwrap_or_default()): 1})
                .to_string();
            (
                status,
                vec![("content-type", "application/json".to_owned())],
                body,
            )
        })
        .await;
        let api = api(&json!([{"basic": [], "query": [], "cookie": []}])).base_url(&server.url);
        let api = api.credential("basic", Secret::from("user:canary-one"));
        let api = api
            .credential("query", Secret::from("canary/two"))
            .credential("cookie", Secret::from("canary three"));
        let response = call(
            api.toolset("test").expect("sound"),
            "get",
            &json!({"x-key": "other"}),
        )
        .await;
        let text = response.to_json();
        assert!(
            text.contains("[key]") && text.contains("x-key"),
            "{status}: {text}"
        );
        for secret in ["canary", "dXNlcjpjYW5hcnktb25l"] {
            assert!(!text.contains(secret), "{status}: {text}");
        }
    }
}

#[test]
fn settings_that_the_document_does_not_have_are_errors() {
    let api = api(&json!([]))
        .base_url("ftp://a.example")
        .allow_host("a b")
        .credential("none", "x")
        .only(["nothing"]);
    let error = api
        .server_variable("region", "eu")
        .toolset("test")
        .expect_err("problems");
    let OpenApiError::Settings { problems } = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 5, "{error}");
}

#[tokio::test]
async fn a_key_in_a_cookie_is_sent_as_it_is() {
    let server = Server::start().await;
    for (key, expected) in [
        ("s3cret/key+a=b:c%20==", "sid=s3cret/key+a=b:c%20=="),
        ("a b;c,d\"e\\f", "sid=a%20b%3Bc%2Cd%22e%5Cf"),
        ("é", "sid=%C3%A9"),
    ] {
        let api = api(&json!([{"cookie": []}])).base_url(&server.url);
        let api = api.credential("cookie", Secret::from(key));
        let toolset = api.toolset("test").expect("sound");
        let response = call(toolset, "get", &json!({"x-key": "other"})).await;
        assert!(response.is_ok(), "{}", response.to_json());
        assert_eq!(server.last().header("cookie"), Some(expected));
    }
}

#[tokio::test]
async fn answers_show_no_credential_without_its_scheme() {
    for (scheme, key) in [
        ("basic", "user:canary-one"),
        ("header", "Bearer canary-one"),
    ] {
        let server = Server::answering(|seen| {
            let header = seen.header("authorization").or(seen.header("x-key"));
            let (_, token) = header
                .unwrap_or_default()
                .split_once(' ')
                .expect("a scheme");
            let headers = vec![("content-type", "text/plain".to_owned())];
            (200, headers, format!("got {token}"))
        })
        .await;
        let api = api(&json!([{(scheme): []}])).base_url(&server.url);
        let api = api.credential(scheme, Secret::from(key));
        let arguments = if scheme == "header" {
            json!({})
        } else {
            json!({"x-key": "other"})
        };
        let response = call(api.toolset("test").expect("sound"), "get", &arguments).await;
        assert_eq!(response.data_json(), Some(r#""got [key]""#), "{scheme}");
    }
}

#[tokio::test]
async fn errors_show_no_credential_with_escapes_of_json() {
    let long = "x".repeat(70_000);
    for body in [
        r#"{"sent": "canary\/one\u002Btwo"}"#.to_owned(),
        format!(r#"{{"sent": "\u0063anary\/one+two", "rest": "{long}"}}"#),
    ] {
        let server = Server::answering(move |_| {
            let headers = vec![("content-type", "application/json".to_owned())];
            (400, headers, body.clone())
        })
        .await;
        let api = api(&json!([{"header": []}])).base_url(&server.url);
        let api = api.credential("header", Secret::from("canary/one+two"));
        let response = call(api.toolset("test").expect("sound"), "get", &json!({})).await;
        let message = &response.error().expect("an error").message;
        assert!(message.contains(r#"{"sent": "[key]""#), "{message}");
    }
}

#[tokio::test]
async fn answers_show_no_credential_that_is_a_number() {
    let server = Server::answering(|_| {
        let headers = vec![("content-type", "application/json".to_owned())];
        (200, headers, r#"{"key": 1234567890, "more": 7}"#.to_owned())
    })
    .await;
    let api = api(&json!([{"header": []}])).base_url(&server.url);
    let api = api.credential("header", Secret::from("1234567890"));
    let response = call(api.toolset("test").expect("sound"), "get", &json!({})).await;
    assert_eq!(response.data_json(), Some(r#"{"key":"[key]","more":7}"#));
}

#[tokio::test]
async fn answers_show_no_credential_in_json_within_json() {
    for status in [200, 400] {
        let server = Server::answering(move |_| {
            let headers = vec![("content-type", "application/json".to_owned())];
            let body = r#"{"request":"{\"key\":\"canary\\\/one\"}"}"#;
            (status, headers, body.to_owned())
        })
        .await;
        let api = api(&json!([{"header": []}])).base_url(&server.url);
        let api = api.credential("header", Secret::from("canary/one"));
        let response = call(api.toolset("test").expect("sound"), "get", &json!({})).await;
        let text = response.to_json();
        assert!(text.contains("[key]"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn answers_show_no_credential_that_is_a_float() {
    let server = Server::answering(|_| {
        let headers = vec![("content-type", "application/json".to_owned())];
        (200, headers, r#"{"key": 1.23456789e9}"#.to_owned())
    })
    .await;
    let api = api(&json!([{"header": []}])).base_url(&server.url);
    let api = api.credential("header", Secret::from("1234567890"));
    let response = call(api.toolset("test").expect("sound"), "get", &json!({})).await;
    assert_eq!(response.data_json(), Some(r#"{"key":"[key]"}"#));
}
