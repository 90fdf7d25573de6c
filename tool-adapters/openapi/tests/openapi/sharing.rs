//! Operations with one large schema: it is kept once, and enforced for each.

use crate::counting;
use crate::support::{Server, context, document};
use serde_json::{Map, Value, json};
use tool_adapters::openapi::{OpenApi, OpenApiToolset};
use tool_core::ToolContext;

/// The size of the documents in bytes.
const DOCUMENT: usize = 458_000;

/// Most memory that the tools of such a document may take, in bytes.
const MOST: i64 = 64 << 20;

fn large_schema() -> Value {
    let property = |at: usize| (format!("property_{at}"), json!({"type": "string"}));
    json!({"type": "object", "properties": (0..1_000).map(property).collect::<Map<_, _>>()})
}

/// Returns a document of many operations. `operation` makes each by its number, and may add components.
fn large_document(components: Value, operation: impl Fn(usize, &mut Value) -> Value) -> Value {
    let mut paths = Map::new();
    let mut components = components;
    let mut size = components.to_string().len();
    while size < DOCUMENT {
        let number = paths.len();
        let item = json!({"post": operation(number, &mut components)});
        size += item.to_string().len();
        paths.insert(format!("/r{number}"), item);
    }
    document(&paths.into(), &components)
}

fn toolset(document: Value) -> OpenApiToolset {
    let api = OpenApi::from_value(document).expect("a document");
    api.base_url("https://a.example")
        .toolset("test")
        .expect("sound")
}

fn peak_of_tools(document: Value) -> i64 {
    let expected = document["paths"].as_object().expect("paths").len();
    let (tools, peak) = counting::peak(|| {
        let toolset = toolset(document);
        assert_eq!(
            (toolset.offered().len(), toolset.refused()),
            (expected, &[][..])
        );
        ToolContext::builder()
            .with(toolset)
            .build()
            .expect("sound tools")
    });
    assert_eq!(tools.definitions().count(), expected);
    peak
}

fn body(schema: &Value) -> Value {
    json!({"content": {"application/json": {"schema": schema}}})
}

fn big() -> Value {
    json!({"$ref": "#/components/schemas/Big"})
}

// T22
#[test]
fn operations_with_one_body_keep_its_schema_once() {
    let components = json!({"schemas": {"Big": large_schema()}});
    let peak = peak_of_tools(large_document(
        components,
        |_, _| json!({"requestBody": body(&big())}),
    ));
    assert!(peak < MOST, "{} MiB", peak >> 20);
}

// T22
#[test]
fn bodies_with_descriptions_keep_their_schema_once() {
    let components = json!({"schemas": {"Big": large_schema()}});
    let document = large_document(components, |number, _| {
        let mut body = body(&big());
        body["description"] = format!("Body {number}").into();
        json!({"requestBody": body, "parameters": [{"name": format!("p{number}"), "in": "query", "schema": {}}]})
    });
    let peak = peak_of_tools(document);
    assert!(peak < MOST, "{} MiB", peak >> 20);
}

// T22
#[test]
fn schemas_that_contain_one_schema_keep_it_once() {
    let components = json!({"schemas": {"Big": large_schema()}});
    let document = large_document(components, |number, components| {
        let name = format!("Body{number}");
        components["schemas"][&name] = json!({"properties": {"items": {"items": big()}}});
        json!({"requestBody": body(&json!({"$ref": format!("#/components/schemas/{name}")}))})
    });
    let peak = peak_of_tools(document);
    assert!(peak < MOST, "{} MiB", peak >> 20);
}

// T22
#[test]
fn operations_with_one_request_body_keep_its_schema_once() {
    let components = json!({
        "requestBodies": {"Big": body(&large_schema())},
        "parameters": {"big": {"name": "big", "in": "query", "content": {"application/json": {"schema": large_schema()}}}},
    });
    let document = large_document(components, |_, _| {
        let parameter = json!({"$ref": "#/components/parameters/big"});
        json!({"requestBody": {"$ref": "#/components/requestBodies/Big"}, "parameters": [parameter]})
    });
    let peak = peak_of_tools(document);
    assert!(peak < MOST, "{} MiB", peak >> 20);
}

#[tokio::test]
async fn a_shared_schema_is_published_and_enforced_for_each_operation() {
    let server = Server::start().await;
    let paths = json!({
        "/a": {"post": {"operationId": "a", "requestBody": body(&big())}},
        "/b": {"post": {"operationId": "b", "requestBody": body(&json!({"type": "array", "items": big()}))}},
    });
    let document = document(&paths, &json!({"schemas": {"Big": large_schema()}}));
    let api = OpenApi::from_value(document)
        .expect("a document")
        .base_url(&server.url);
    let tools = ToolContext::builder()
        .with(api.toolset("test").expect("sound"))
        .build()
        .expect("sound tools");
    for definition in tools.definitions() {
        let published = serde_json::from_str::<Value>(definition.parameters_json()).expect("JSON");
        assert_eq!(
            (&published, &published["$defs"]["Big"]),
            (definition.parameters(), &large_schema())
        );
    }
    let ctx = context();
    assert!(
        tools
            .call("a", r#"{"body": {"property_7": "x"}}"#, &ctx)
            .await
            .is_ok()
    );
    assert!(
        tools
            .call("b", r#"{"body": [{"property_7": "x"}]}"#, &ctx)
            .await
            .is_ok()
    );
    let refused = tools
        .call("b", r#"{"body": [{"property_7": true}]}"#, &ctx)
        .await;
    assert!(
        refused
            .error()
            .expect("refused")
            .message
            .contains("/body/0/property_7"),
        "{refused:?}"
    );
}
