//! Operations that are no tools, and documents that are none.

use crate::support::document;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tool_adapters::openapi::{OpenApi, OpenApiToolset};

fn toolset(paths: &Value, components: &Value) -> OpenApiToolset {
    let api = OpenApi::from_value(document(paths, components)).expect("a document");
    api.base_url("https://a.example/v1")
        .toolset("test")
        .expect("sound")
}

#[test]
fn every_operation_is_a_tool_or_refused() {
    let path = |name: &str| json!([{"name": name, "in": "path", "required": true, "schema": {"type": "string"}}]);
    let with = |parameter: Value| json!({"get": {"parameters": [parameter]}});
    let body = |media_type: &str| json!({"post": {"requestBody": {"content": {(media_type): {}}}}});
    let paths = json!({
        "/fine/{id}": {"get": {"parameters": path("id")}, "delete": {"parameters": path("id")}, "description": "Two."},
        "/undeclared/{id}": {"get": {}},
        "no-slash": {"get": {}},
        "/a/../b": {"get": {}},
        "/a?x={y}": {"get": {}},
        "/trace": {"trace": {}},
        "/nothing": {"get": 7},
        "/item": {"$ref": "other.json#/item"},
        "/remote": with(json!({"$ref": "https://evil.example/p.json"})),
        "/loop": with(json!({"$ref": "#/components/parameters/a"})),
        "/unnamed": with(json!({"in": "query"})),
        "/place": with(json!({"name": "x", "in": "body"})),
        "/style": with(json!({"name": "x", "in": "query", "style": "matrix"})),
        "/header": with(json!({"name": "a b", "in": "header"})),
        "/forwarded": with(json!({"name": "X-Forwarded-Host", "in": "header", "required": true})),
        "/xml": with(json!({"name": "x", "in": "query", "content": {"application/xml": {}}})),
        "/multipart": body("multipart/mixed"),
        "/octets": body("application/octet-stream"),
        "/schema": with(json!({"name": "x", "in": "query", "schema": {"type": "file"}})),
        "/circle": with(json!({"name": "x", "in": "query", "schema": {"$ref": "#/components/schemas/A"}})),
        "/large": with(json!({"name": "x", "in": "query", "schema": {"enum": ["x".repeat(600_000)]}})),
        "/elsewhere": {"get": {"servers": [{"url": "https://evil.example"}]}},
        "/password": {"get": {"servers": [{"url": "https://u:p@a.example"}]}},
        "/variable": {"get": {"servers": [{"url": "https://{region}.example"}]}},
    });
    let components = json!({
        "parameters": {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}},
        "schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
    });
    let toolset = toolset(&paths, &components);
    let expected = [
        ("/a/../b", "path"),
        ("/a?x={y}", "path"),
        ("/circle", "schema"),
        ("/elsewhere", "host"),
        ("/forwarded", "parameter"),
        ("/header", "parameter"),
        ("/item", "reference"),
        ("/large", "too_large"),
        ("/loop", "reference"),
        ("/multipart", "body"),
        ("/nothing", "malformed"),
        ("/octets", "body"),
        ("/password", "server"),
        ("/place", "parameter"),
        ("/remote", "reference"),
        ("/schema", "schema"),
        ("/style", "parameter"),
        ("/trace", "path"),
        ("/undeclared/{id}", "path"),
        ("/unnamed", "malformed"),
        ("/variable", "server"),
        ("/xml", "parameter"),
        ("no-slash", "path"),
    ];
    let refused = toolset
        .refused()
        .iter()
        .map(|refused| (refused.path.as_str(), refused.reason.kind()));
    assert_eq!(
        refused.collect::<BTreeMap<_, _>>(),
        BTreeMap::from(expected)
    );
    let offered = toolset
        .offered()
        .iter()
        .map(|offered| format!("{} {}", offered.method, offered.path));
    assert_eq!(
        offered.collect::<Vec<_>>(),
        ["GET /fine/{id}", "DELETE /fine/{id}"]
    );
    assert_eq!(toolset.refused().len(), expected.len());
}

#[test]
fn other_versions_are_errors() {
    let error = |document: Value| {
        OpenApi::from_value(document)
            .expect_err("an error")
            .to_string()
    };
    assert!(error(json!({"swagger": "2.0"})).contains("convert it to OpenAPI 3"));
    for version in ["3.2.0", "4.0", "3.01", "2.0"] {
        assert!(
            error(json!({"openapi": version})).contains(version),
            "{version}"
        );
    }
    assert!(error(json!([])).contains("without `openapi`"));
    for version in ["3.0", "3.0.3", "3.1.0", "3.1.0-rc1"] {
        assert!(
            OpenApi::from_value(json!({"openapi": version})).is_ok(),
            "{version}"
        );
    }
    assert!(
        OpenApi::from_json("openapi: 3.0.0")
            .expect_err("YAML")
            .to_string()
            .contains("YAML")
    );
}

#[test]
fn swagger_is_refused_with_a_converter() {
    for text in [r#"{"swagger": "2.0"}"#, "swagger: '2.0'", "swagger: 2.0"] {
        let error = OpenApi::from_text(text).expect_err("an error").to_string();
        assert!(
            error.contains("Swagger `2.0`") && error.contains("npx swagger2openapi"),
            "{error}"
        );
    }
}

#[test]
fn documents_in_yaml_are_read_like_their_json() {
    let text = "
openapi: 3.0.3
servers: [{url: https://a.example}]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters:
        - {name: id, in: path, required: true, schema: &id {type: integer}}
        - {name: after, in: query, schema: *id}
      responses:
        200: {description: A pet.}
";
    let toolset = OpenApi::from_text(text)
        .expect("a document")
        .allow_host("a.example")
        .toolset("pets")
        .expect("sound");
    let parameters = toolset.offered()[0].tool.definition().parameters();
    assert_eq!(
        parameters["properties"],
        json!({"id": {"type": "integer"}, "after": {"type": "integer"}})
    );
    let in_json = format!("\u{feff}{}", document(&json!({}), &json!({})));
    assert!(OpenApi::from_text(&in_json).is_ok());
    for text in [
        "openapi: 3.0",
        "{openapi: 3.1.0}",
        "---\nopenapi: '3.1.0'\n",
    ] {
        assert!(OpenApi::from_text(text).is_ok(), "{text}");
    }
    for text in ["", "[", "openapi: 3.0.0\n---\nopenapi: 3.0.0", "a: &a [*a]"] {
        assert!(OpenApi::from_text(text).is_err(), "{text}");
    }
}

#[test]
fn a_document_that_nests_too_deep_is_refused() {
    let text = format!(
        r#"{{"openapi":"3.1.0","x":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    OpenApi::from_json(&text).expect_err("too deep");
    let deep = (0..100_000).fold(Value::Null, |deep, _| Value::Array(vec![deep]));
    let document = Map::from_iter([
        ("openapi".to_owned(), "3.1.0".into()),
        ("x".to_owned(), deep),
    ]);
    OpenApi::from_value(document.into()).expect_err("too deep");
}

#[test]
fn tools_of_a_large_document_stop_at_the_limit() {
    let paths = (0..10_100).map(|number| {
        (
            format!("/x/{number}"),
            json!({"get": {"operationId": "same"}}),
        )
    });
    let toolset = toolset(&Value::Object(paths.collect::<Map<_, _>>()), &json!({}));
    assert_eq!(
        (toolset.offered().len(), toolset.refused().len()),
        (10_000, 100)
    );
    assert!(
        toolset
            .refused()
            .iter()
            .all(|refused| refused.reason.kind() == "too_large")
    );
    let names = toolset
        .offered()
        .iter()
        .map(|offered| offered.tool.name().to_owned());
    assert_eq!(
        names.collect::<std::collections::HashSet<_>>().len(),
        10_000
    );
}

#[test]
fn server_variables_may_be_numbers_and_booleans() {
    let text = "
openapi: 3.1.0
servers:
  - url: https://{host}.example:{port}/v{version}/{beta}
    variables:
      host: {default: a}
      port: {default: 8443, enum: [443, 8443]}
      version: {default: 1.5}
      beta: {default: true}
paths: {/x: {get: {operationId: x}}}
";
    let api = || OpenApi::from_text(text).expect("a document");
    let toolset = api()
        .allow_host("a.example")
        .toolset("test")
        .expect("sound");
    assert!(toolset.refused().is_empty(), "{:?}", toolset.refused());
    let chosen = api().server_variable("port", "443");
    assert_eq!(chosen.hosts().len(), 1);
    let other = api().server_variable("port", "80");
    assert!(other.hosts().is_empty(), "the port is not allowed");
}

#[test]
fn lists_in_cookies_need_a_notation() {
    let cookie = |explode: bool, schema: Value| {
        let parameter = json!({"name": "x", "in": "cookie", "explode": explode, "schema": schema});
        json!({"get": {"parameters": [parameter]}})
    };
    let list = json!({"type": "array", "items": {"type": "string"}});
    let paths = json!({
        "/exploded": cookie(true, list.clone()),
        "/object": cookie(true, json!({"type": ["object", "null"]})),
        "/referred": cookie(true, json!({"$ref": "#/components/schemas/List"})),
        "/joined": cookie(false, list.clone()),
        "/text": cookie(true, json!({"type": "string"})),
        "/either": cookie(true, json!({"type": ["array", "string"]})),
    });
    let toolset = toolset(&paths, &json!({"schemas": {"List": list}}));
    let refused = toolset
        .refused()
        .iter()
        .map(|refused| (refused.path.as_str(), refused.reason.kind()));
    assert_eq!(
        refused.collect::<BTreeMap<_, _>>(),
        BTreeMap::from([
            ("/exploded", "parameter"),
            ("/object", "parameter"),
            ("/referred", "parameter"),
        ])
    );
}

#[test]
fn a_file_has_no_notation_under_a_range_of_types() {
    let body = |range: &str, schema: Value| {
        let content = json!({(range): {"schema": schema}});
        json!({"post": {"requestBody": {"content": content}}})
    };
    let paths = json!({
        "/any": body("*/*", json!({"type": "string", "format": "binary"})),
        "/application": body("application/*", json!({"contentMediaType": "image/png"})),
        "/json": body("*/*", json!({"type": "object"})),
    });
    let toolset = toolset(&paths, &json!({}));
    let refused = toolset
        .refused()
        .iter()
        .map(|refused| (refused.path.as_str(), refused.reason.kind()));
    assert_eq!(
        refused.collect::<BTreeMap<_, _>>(),
        BTreeMap::from([("/any", "body"), ("/application", "body")])
    );
}
