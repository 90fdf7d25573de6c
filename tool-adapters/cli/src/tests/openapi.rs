//! `openapi`.

use crate::CommandStatus;
use crate::tests::{file, in_json, path, piped};
use serde_json::json;

fn document() -> tempfile::NamedTempFile {
    let parameters =
        json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]);
    file(
        json!({
            "openapi": "3.0.3",
            "servers": [{"url": "https://pets.example"}],
            "security": [{"key": []}],
            "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
            "paths": {
                "/pets/{id}": {"get": {"operationId": "getPet", "summary": "Find a pet.", "parameters": parameters}},
                "/photos": {"post": {"requestBody": {"content": {"image/png": {}}}}},
            },
        })
        .to_string(),
    )
}

#[tokio::test]
async fn lists_tools_and_refused_operations() {
    let document = document();
    let ran = piped(&["openapi", path(&document)]).await;
    assert_eq!(ran.status, CommandStatus::Success, "{}", ran.errors);
    for part in [
        "getPet",
        "GET /pets/{id}",
        "Find a pet.",
        "warning: POST /photos: expected a body of JSON, a form or text, got image/png",
        "1 tools, 1 refused operations",
    ] {
        assert!(ran.output.contains(part), "{part}: {}", ran.output);
    }
}

#[tokio::test]
async fn json_of_a_document_is_what_other_commands_read() {
    let document = document();
    let printed = in_json(&["openapi", path(&document)]).await;
    assert_eq!(printed.json()["refused"][0]["kind"], "body");
    let declared = file(&printed.output);
    let called = piped(&["call", "getPet", "id=7", "--tools", path(&declared)]).await;
    assert_eq!(
        (called.status, called.json()),
        (CommandStatus::Success, json!({"id": 7})),
        "{}",
        called.errors
    );
}

#[tokio::test]
async fn names_the_file_and_the_problem() {
    let old = file(r#"{"swagger": "2.0"}"#);
    let ran = piped(&["openapi", path(&old)]).await;
    assert_eq!(ran.status, CommandStatus::Usage);
    assert!(
        ran.errors.contains(path(&old)) && ran.errors.contains("convert it to OpenAPI 3"),
        "{}",
        ran.errors
    );
    let ran = piped(&["openapi", path(&document()), "--only", "none"]).await;
    assert!(
        ran.errors.contains("the document has no operation `none`"),
        "{}",
        ran.errors
    );
    let ran = piped(&["openapi", "http://127.0.0.1:9/api.json"]).await;
    assert_eq!(ran.status, CommandStatus::Failure);
    assert!(
        ran.errors.contains("expected a public host"),
        "{}",
        ran.errors
    );
}
