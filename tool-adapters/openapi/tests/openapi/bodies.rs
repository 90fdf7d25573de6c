//! Bodies of parts, as a server reads them.

use crate::support::{Server, at, call};
use serde_json::{Value, json};

fn path(schema: &Value) -> Value {
    let content = json!({"multipart/form-data": {
        "schema": schema, "encoding": {"photo": {"contentType": "image/png"}},
    }});
    json!({"/pets": {"post": {"operationId": "add", "requestBody": {"required": true, "content": content}}}})
}

#[tokio::test]
async fn a_form_of_parts_arrives_with_its_files() {
    let server = Server::start().await;
    let paths = path(
        &json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "owner": {"type": "object"},
            "photo": {"type": "string", "format": "binary"},
        }}),
    );
    let arguments = json!({"body": {"name": "Rex", "tags": ["a", "b"], "owner": {"id": 7}, "photo": "bm90IHJlYWxseSBhIHBuZw=="}});
    let response = call(at(&server, &paths), "add", &arguments).await;
    assert!(response.is_ok(), "{}", response.to_json());
    let seen = server.last();
    let media_type = seen.header("content-type").expect("a type");
    let boundary = media_type
        .strip_prefix("multipart/form-data; boundary=")
        .expect("a form of parts");
    let parts = seen
        .body
        .split(&format!("--{boundary}"))
        .collect::<Vec<_>>();
    let part = |head: &str, contents: &str| {
        format!("\r\nContent-Disposition: form-data; name={head}\r\n\r\n{contents}\r\n")
    };
    let expected = [
        String::new(),
        part("\"name\"", "Rex"),
        part("\"tags\"", "a"),
        part("\"tags\"", "b"),
        part("\"owner\"\r\nContent-Type: application/json", r#"{"id":7}"#),
        part(
            "\"photo\"; filename=\"photo\"\r\nContent-Type: image/png",
            "not really a png",
        ),
        "--\r\n".to_owned(),
    ];
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn a_file_that_is_no_base64_is_not_sent() {
    let server = Server::start().await;
    let paths = path(
        &json!({"type": "object", "properties": {"photo": {"type": "string", "format": "binary"}}}),
    );
    let toolset = at(&server, &paths);
    let described =
        toolset.offered()[0].tool.definition().parameters()["properties"]["body"]["description"]
            .clone();
    assert_eq!(
        described,
        "Give the contents of these files in base64: `photo`."
    );
    let response = call(
        toolset,
        "add",
        &json!({"body": {"photo": "a picture of a dog"}}),
    )
    .await;
    assert!(
        response
            .error()
            .expect("an error")
            .message
            .contains("base64")
    );
    assert!(server.seen().is_empty());
}

// V7
#[tokio::test]
async fn formats_are_left_to_the_server() {
    let server = Server::start().await;
    let schema =
        json!({"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}});
    let body = json!({"content": {"application/json": {"schema": schema}}});
    let parameter =
        json!({"name": "day", "in": "query", "schema": {"type": "string", "format": "date"}});
    let paths = json!({"/x": {"post": {"operationId": "x", "requestBody": body, "parameters": [parameter]}}});
    let arguments = json!({"day": "tomorrow", "body": {"at": "2026-01-05T10:00:00"}});
    let response = call(at(&server, &paths), "x", &arguments).await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(server.last().body, r#"{"at":"2026-01-05T10:00:00"}"#);
}

// V3
#[tokio::test]
async fn texts_that_spell_numbers_become_numbers() {
    let server = Server::start().await;
    let parameter = json!({"name": "count", "in": "query", "schema": {"type": "integer"}});
    let paths = json!({"/x": {"get": {"operationId": "x", "parameters": [parameter]}}});
    let response = call(at(&server, &paths), "x", &json!({"count": "5"})).await;
    assert_eq!(response.meta().coerced(), ["/count: text to integer"]);
    assert_eq!(server.last().query, "count=5");
}

/// Returns the part that a member `upload` becomes, without its boundary.
async fn part_of(schema: &Value, content_type: &Value, upload: &Value) -> String {
    let server = Server::start().await;
    let content = json!({"multipart/form-data": {
        "schema": {"type": "object", "properties": {"upload": schema}},
        "encoding": {"upload": content_type},
    }});
    let paths =
        json!({"/pets": {"post": {"operationId": "add", "requestBody": {"content": content}}}});
    let arguments = json!({"body": {"upload": upload}});
    let response = call(at(&server, &paths), "add", &arguments).await;
    assert!(response.is_ok(), "{schema}: {}", response.to_json());
    server.last().body
}

#[tokio::test]
async fn a_file_that_may_be_missing_is_sent_as_a_file() {
    let file = json!({"type": "string", "format": "binary"});
    let raw = json!({"type": "string", "contentMediaType": "application/octet-stream"});
    let nothing = json!({"type": "null"});
    for schema in [
        json!({"anyOf": [file, nothing]}),
        json!({"oneOf": [nothing, raw]}),
        json!({"allOf": [{"oneOf": [file]}]}),
        json!({"anyOf": [{"type": "array", "items": {"allOf": [file]}}, nothing]}),
    ] {
        let upload = if schema.to_string().contains("items") {
            json!(["aGk="])
        } else {
            json!("aGk=")
        };
        let sent = part_of(&schema, &json!({}), &upload).await;
        assert!(sent.contains("; filename=\"upload\""), "{schema}: {sent}");
        assert!(sent.contains("\r\n\r\nhi\r\n"), "{schema}: {sent}");
    }
}

#[tokio::test]
async fn a_part_that_may_be_a_text_is_sent_as_a_text() {
    let file_or_url =
        json!({"anyOf": [{"type": "string", "format": "binary"}, {"type": "string"}]});
    let sent = part_of(&file_or_url, &json!({}), &json!("https://a.example/b")).await;
    assert!(sent.contains("\r\n\r\nhttps://a.example/b\r\n"), "{sent}");
}

#[tokio::test]
async fn a_part_without_a_type_is_a_file_by_its_encoding() {
    let png = json!({"contentType": "image/png"});
    for schema in [json!({}), json!({"description": "A photo."})] {
        let sent = part_of(&schema, &png, &json!("aGk=")).await;
        assert!(
            sent.contains("Content-Type: image/png\r\n\r\nhi\r\n"),
            "{sent}"
        );
    }
    for content_type in ["text/csv", "application/json"] {
        let encoding = json!({"contentType": content_type});
        let sent = part_of(&json!({}), &encoding, &json!("aGk=")).await;
        assert!(!sent.contains("filename"), "{sent}");
    }
}

#[tokio::test]
async fn a_text_with_a_media_type_of_text_is_no_file() {
    for media_type in ["application/json", "text/plain", "application/xml"] {
        let schema = json!({"type": "string", "contentMediaType": media_type});
        let sent = part_of(&schema, &json!({}), &json!("[1]")).await;
        assert!(sent.contains("name=\"upload\"\r\n\r\n[1]\r\n"), "{sent}");
    }
}

#[tokio::test]
async fn whole_numbers_of_a_body_have_no_fraction() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}});
    let body = json!({"content": {"application/json": {"schema": schema}}});
    let paths = json!({"/x": {"post": {"operationId": "x", "requestBody": body}}});
    let response = call(
        at(&server, &paths),
        "x",
        &json!({"body": {"ids": [7.0, 1e2]}}),
    )
    .await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(server.last().body, r#"{"ids":[7,100]}"#);
}

#[tokio::test]
async fn a_stated_type_comes_before_a_range() {
    let server = Server::start().await;
    let form = json!({"schema": {"type": "object"}});
    let content = json!({"*/*": {}, "application/x-www-form-urlencoded": form});
    let paths = json!({"/x": {"post": {"operationId": "x", "requestBody": {"content": content}}}});
    let response = call(at(&server, &paths), "x", &json!({"body": {"a": 1}})).await;
    assert!(response.is_ok(), "{}", response.to_json());
    assert_eq!(server.last().body, "a=1");
}
