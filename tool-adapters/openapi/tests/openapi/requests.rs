//! Requests: a percent-decoding server gets back what the model wrote, and nothing leaves its place.

use crate::support::{Server, at, call, context, pairs};
use proptest::prelude::{Strategy, any, prop, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tool_core::schema::percent_decode;
use tool_core::{ErrorKind, ToolContext, ToolResponse};

/// Texts of any characters, and above all those that delimit the parts of a URL.
fn texts() -> impl Strategy<Value = String> {
    let delimiters = prop::sample::select(vec![
        "/", "..", ".", "?", "#", "%2e", "%2F", "\\", "&", "=", ";", ",", " ", "\r\n", "@", ":",
    ]);
    let part = prop_oneof![3 => delimiters.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn samples(count: usize) -> Vec<String> {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    (0..count)
        .map(|_| texts().new_tree(&mut runner).expect("a text").current())
        .collect()
}

#[tokio::test]
async fn a_server_decodes_what_the_model_wrote() {
    let server = Server::start().await;
    let paths = json!({"/base/{id}/end": {"get": {"operationId": "get", "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
        {"name": "q", "in": "query", "schema": {"type": "string"}},
        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "deep", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
    ]}}});
    let tools = ToolContext::builder()
        .with(at(&server, &paths))
        .build()
        .expect("sound");
    let (ctx, mut sent) = (context(), 0);
    for text in samples(500) {
        let arguments =
            json!({"id": text, "q": text, "tags": [text, "x"], "deep": {(text.clone()): text}});
        let before = server.seen().len();
        let response = tools.call("get", arguments.to_string(), &ctx).await;
        if matches!(text.as_str(), "" | "." | "..") {
            assert!(
                !response.is_ok() && server.seen().len() == before,
                "{text:?}"
            );
            continue;
        }
        assert!(response.is_ok(), "{text:?}: {}", response.to_json());
        let seen = server.last();
        let inside = seen
            .path
            .strip_prefix("/base/")
            .and_then(|rest| rest.strip_suffix("/end"))
            .expect("the path");
        assert!(!inside.contains('/'), "{text:?}: {}", seen.path);
        assert_eq!(percent_decode(inside).as_deref(), Some(text.as_str()));
        let expected = [("q", &*text), ("tags", &*text), ("tags", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let deep = (format!("deep[{text}]"), text.clone());
        assert_eq!(seen.pairs(), [&expected[..], &[deep]].concat(), "{text:?}");
        sent += 1;
    }
    assert!(sent > 400, "{sent}");
}

#[tokio::test]
async fn no_value_leaves_its_path_segment() {
    let server = Server::start().await;
    let paths = json!({
        "/a/{x}{y}/b": {"get": {"operationId": "two", "parameters": [
            {"name": "x", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "y", "in": "path", "required": true, "schema": {"type": "string"}},
        ]}},
        "/label/{x}": {"get": {"operationId": "label", "parameters": [
            {"name": "x", "in": "path", "required": true, "style": "label", "schema": {"type": "string"}},
        ]}},
    });
    let tools = ToolContext::builder()
        .with(at(&server, &paths))
        .build()
        .expect("sound");
    let attacks = [
        ("two", json!({"x": ".", "y": "."})),
        ("label", json!({"x": "."})),
        ("two", json!({"x": "", "y": "admin"})),
    ];
    for (tool, arguments) in attacks {
        let response = tools.call(tool, arguments.to_string(), &context()).await;
        assert!(!response.is_ok(), "{tool} {arguments}");
    }
    assert!(server.seen().is_empty(), "{:?}", server.seen());
    for x in [
        "../../admin",
        "..%2f..%2fadmin",
        "a?admin=1",
        "a#b",
        "\\..\\admin",
        "//evil.example",
        "%2e%2e",
    ] {
        let response = tools
            .call("two", json!({"x": x, "y": "z"}).to_string(), &context())
            .await;
        assert!(response.is_ok(), "{x}: {}", response.to_json());
        let seen = server.last();
        assert_eq!(seen.path.split('/').count(), 4, "{x}: {}", seen.path);
        assert_eq!(seen.query, "", "{x}");
    }
}

#[tokio::test]
async fn headers_and_cookies_take_no_line_breaks() {
    let server = Server::start().await;
    let paths = json!({"/x": {"get": {"operationId": "get", "parameters": [
        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
        {"name": "lang", "in": "cookie", "schema": {"type": "string"}},
    ]}}});
    let tools = ToolContext::builder()
        .with(at(&server, &paths))
        .build()
        .expect("sound");
    for text in ["a\r\nX-Admin: 1", "a\nb", "\0", "a\u{7f}"] {
        let response = tools
            .call("get", json!({"X-Trace": text}).to_string(), &context())
            .await;
        assert!(!response.is_ok(), "{text:?}");
    }
    assert!(server.seen().is_empty());
    let arguments = json!({"X-Trace": "größe", "lang": "de; admin=1\r\nX-Admin: 1"});
    assert!(
        tools
            .call("get", arguments.to_string(), &context())
            .await
            .is_ok()
    );
    let seen = server.last();
    assert_eq!(seen.headers["x-trace"].as_bytes(), "größe".as_bytes());
    assert_eq!(
        seen.header("cookie"),
        Some("lang=de%3B%20admin%3D1%0D%0AX-Admin%3A%201")
    );
    assert_eq!(seen.header("x-admin"), None);
}

#[tokio::test]
async fn headers_of_the_program_are_no_parameters() {
    let server = Server::start().await;
    let names = [
        "Accept",
        "Content-Type",
        "Authorization",
        "Host",
        "Cookie",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "X-Forwarded-For",
        "X-HTTP-Method-Override",
        "Proxy-Authorization",
        "Traceparent",
    ];
    let parameters =
        names.map(|name| json!({"name": name, "in": "header", "schema": {"type": "string"}}));
    let paths = json!({"/x": {"get": {"operationId": "get", "parameters": parameters}}});
    let toolset = at(&server, &paths);
    assert_eq!(
        toolset.offered()[0].tool.definition().parameters()["properties"],
        json!({})
    );
}

#[tokio::test]
async fn bodies_have_the_form_of_their_media_type() {
    let server = Server::start().await;
    let object = json!({"type": "object"});
    let paths = json!({
        "/json": {"post": {"operationId": "json", "requestBody": {"required": true, "content": {
            "application/vnd.x+json": {"schema": object}}}}},
        "/form": {"post": {"operationId": "form", "requestBody": {"content": {"application/x-www-form-urlencoded": {
            "schema": object, "encoding": {"deep": {"style": "deepObject", "explode": true}}}}}}},
        "/text": {"post": {"operationId": "text", "requestBody": {"content": {"text/plain": {"schema": {}}}}}},
    });
    let body = json!({"a": "x & y=1", "deep": {"b": [{"c": 1}]}, "list": ["p", "q"], "object": {"d": null}});
    assert!(
        call(at(&server, &paths), "json", &json!({"body": body}))
            .await
            .is_ok()
    );
    let seen = server.last();
    assert_eq!(
        (&*seen.method, seen.header("content-type")),
        ("POST", Some("application/vnd.x+json"))
    );
    assert_eq!(
        serde_json::from_str::<Value>(&seen.body).expect("JSON"),
        body
    );

    assert!(
        call(at(&server, &paths), "form", &json!({"body": body}))
            .await
            .is_ok()
    );
    let expected = [
        ("a", "x & y=1"),
        ("deep[b][0][c]", "1"),
        ("list", "p"),
        ("list", "q"),
        ("object", "{\"d\":null}"),
    ];
    assert_eq!(
        pairs(&server.last().body),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );

    assert!(
        call(at(&server, &paths), "text", &json!({"body": "a\r\nb"}))
            .await
            .is_ok()
    );
    assert_eq!(
        (
            server.last().body.as_str(),
            server.last().header("content-type")
        ),
        ("a\r\nb", Some("text/plain"))
    );
    assert!(
        !call(at(&server, &paths), "json", &json!({})).await.is_ok(),
        "a body is required"
    );
}

#[tokio::test]
async fn paths_keep_their_fixed_query_and_lose_their_fragment() {
    let server = Server::start().await;
    let paths = json!({"/files#shared": {"get": {"operationId": "shared"}}, "/files?beta=true": {"get": {
        "operationId": "beta", "parameters": [{"name": "q", "in": "query", "schema": {"type": "object"}}]}}});
    assert!(
        call(at(&server, &paths), "shared", &json!({}))
            .await
            .is_ok()
    );
    assert_eq!(
        (server.last().path.as_str(), server.last().query.as_str()),
        ("/files", "")
    );
    assert!(
        call(at(&server, &paths), "beta", &json!({"q": {"a": "b"}}))
            .await
            .is_ok()
    );
    assert_eq!(server.last().query, "beta=true&a=b");
    assert!(
        !call(
            at(&server, &paths),
            "beta",
            &json!({"q": {"beta": "false"}})
        )
        .await
        .is_ok()
    );
}

#[tokio::test]
async fn one_name_in_two_places_is_two_arguments() {
    let server = Server::start().await;
    let paths = json!({"/x/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                       {"name": "page", "in": "query", "schema": {"type": "integer"}}],
        "get": {"operationId": "get", "parameters": [
            {"name": "id", "in": "query", "schema": {"type": "string"}},
            {"name": "page", "in": "query", "schema": {"type": "string"}},
            {"name": "expand[]", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}]},
    }});
    let arguments = json!({"id": 7, "id_query": "q", "page": "two", "expand": ["a", "b"]});
    assert!(call(at(&server, &paths), "get", &arguments).await.is_ok());
    let seen = server.last();
    assert_eq!(seen.path, "/x/7");
    let expected = [
        ("page", "two"),
        ("id", "q"),
        ("expand[]", "a"),
        ("expand[]", "b"),
    ];
    assert_eq!(
        seen.pairs(),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

// L26
#[tokio::test]
async fn an_operation_without_parameters_ignores_members() {
    let server = Server::start().await;
    let toolset = at(&server, &json!({"/ping": {"get": {"operationId": "ping"}}}));
    let response = call(toolset, "ping", &json!({"x": 1})).await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(
        response.meta().coerced(),
        ["/x: ignored, as the tool has no parameters"]
    );
    assert_eq!(server.last().pairs(), []);
}

/// Calls `GET /pets/{petId}` with a text of arguments.
async fn get_pet(server: &Server, arguments: &str) -> ToolResponse {
    let paths = json!({"/pets/{petId}": {"get": {"operationId": "get", "parameters": [
        {"name": "petId", "in": "path", "required": true, "schema": {"type": "integer"}},
        {"name": "weight", "in": "query", "schema": {"type": "number", "minimum": 1}},
    ]}}});
    let tools = ToolContext::builder()
        .with(at(server, &paths))
        .build()
        .expect("sound");
    tools.call("get", arguments, &context()).await
}

#[tokio::test]
async fn whole_numbers_are_written_as_integers() {
    let server = Server::start().await;
    for (number, expected) in [
        ("7.0", "/pets/7"),
        ("1e2", "/pets/100"),
        ("-0", "/pets/0"),
        ("1e20", "/pets/100000000000000000000"),
    ] {
        let response = get_pet(&server, &format!(r#"{{"petId": {number}}}"#)).await;
        assert!(response.is_ok(), "{number}: {}", response.to_json());
        assert_eq!(server.last().path, expected);
    }
}

#[tokio::test]
async fn an_integer_that_would_be_rounded_is_refused() {
    let server = Server::start().await;
    let response = get_pet(&server, r#"{"petId": 12345678901234567890123}"#).await;
    let error = response.error().expect("an error");
    assert_eq!(error.kind, ErrorKind::Validation);
    let expected = "/petId: refused: expected an integer of at most 64 bits";
    assert!(error.message.contains(expected), "{}", error.message);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_number_may_be_rounded() {
    let server = Server::start().await;
    let response = get_pet(&server, r#"{"petId": 7, "weight": 6.02214076e43}"#).await;
    assert!(response.is_ok(), "{}", response.to_json());
    let weight = server.last().pairs().pop().expect("a pair").1;
    assert_eq!(weight.parse::<f64>(), Ok(6.022_140_76e43));
}

#[tokio::test]
async fn members_of_a_form_explode_without_a_style() {
    let server = Server::start().await;
    let content = json!({"application/x-www-form-urlencoded": {
        "schema": {"type": "object"},
        "encoding": {"tags": {"explode": false}, "more": {"explode": true}},
    }});
    let paths = json!({"/x": {"post": {"operationId": "x", "requestBody": {"content": content}}}});
    let arguments = json!({"body": {"tags": ["a", "b"], "more": ["c", "d"]}});
    let response = call(at(&server, &paths), "x", &arguments).await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(server.last().body, "tags=a,b&more=c&more=d");
}

#[tokio::test]
async fn a_value_cannot_repeat_an_escaped_fixed_pair() {
    for fixed in ["filter[type]", "filter%5Btype%5d", "filter%5btype]"] {
        let server = Server::start().await;
        let path = format!("/search?{fixed}=public");
        let filter = json!({"name": "filter", "in": "query", "style": "deepObject",
            "schema": {"type": "object"}});
        let paths = json!({(path): {"get": {"operationId": "get", "parameters": [filter]}}});
        let arguments = json!({"filter": {"type": "private"}});
        let response = call(at(&server, &paths), "get", &arguments).await;
        assert!(!response.is_ok(), "{fixed}: {}", server.last().query);
        assert!(server.seen().is_empty());
    }
}

#[tokio::test]
async fn lists_in_cookies_are_joined() {
    let server = Server::start().await;
    let ids = json!({"name": "ids", "in": "cookie", "explode": false, "schema": {"type": "array"}});
    let shape = json!({"name": "shape", "in": "cookie", "content": {"application/json": {}}});
    let paths = json!({"/x": {"get": {"operationId": "get", "parameters": [ids, shape]}}});
    let arguments = json!({"ids": ["a;b", 2], "shape": [1]});
    let response = call(at(&server, &paths), "get", &arguments).await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(
        server.last().header("cookie"),
        Some("ids=a%3Bb,2; shape=%5B1%5D")
    );
}
