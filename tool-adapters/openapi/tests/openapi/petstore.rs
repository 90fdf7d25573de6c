//! The tools of a small shop of pets, in both versions.

use expect_test::expect;
use serde_json::{Value, json};
use tool_adapters::openapi::OpenApi;

fn shop(version: &str, nullable: &Value) -> Value {
    json!({
        "openapi": version,
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://{region}.pets.example/v1", "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}}}],
        "paths": {
            "/pets": {
                "get": {
                    "operationId": "pets/list",
                    "summary": "List pets.",
                    "description": "The newest come first.",
                    "parameters": [
                        {"$ref": "#/components/parameters/Limit"},
                        {"name": "kinds", "in": "query", "explode": false, "schema": {"type": "array", "items": {"type": "string"}}},
                    ],
                },
                "post": {
                    "operationId": "pets/list",
                    "requestBody": {"required": true, "description": "The pet", "content": {
                        "multipart/form-data": {}, "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
                    }},
                },
            },
            "/pets/{petId}": {
                "parameters": [{"name": "petId", "in": "path", "required": true, "schema": {"type": "integer", "format": "int64"}}],
                "get": {"summary": "Find a pet."},
                "delete": {"operationId": "2-delete pet", "deprecated": true, "summary": "Delete a pet."},
            },
        },
        "components": {
            "parameters": {"Limit": {"name": "limit", "in": "query", "description": "At most so many", "schema": {"type": "integer", "maximum": 100}}},
            "schemas": {
                "Pet": {"type": "object", "required": ["id", "name"], "properties": {
                    "id": {"type": "integer", "readOnly": true},
                    "name": {"type": "string"},
                    "nick": nullable,
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                }},
                "Unused": {"type": "string"},
            },
        },
    })
}

fn tools(document: Value) -> String {
    let api = OpenApi::from_value(document)
        .expect("a document")
        .server_variable("region", "us");
    let toolset = api
        .allow_host("us.pets.example")
        .toolset("pets")
        .expect("sound");
    assert!(toolset.refused().is_empty(), "{:?}", toolset.refused());
    let lines = toolset.offered().iter().map(|offered| {
        let tool = offered.tool.definition();
        let flags = tool.flags();
        format!(
            "{} = {} {} ({}{}{})\n  {:?}\n  {}\n",
            tool.name(),
            offered.method,
            offered.path,
            tool.category().as_str(),
            if flags.idempotent { ", idempotent" } else { "" },
            if flags.destructive == Some(true) {
                ", destructive"
            } else {
                ""
            },
            tool.description(),
            tool.parameters(),
        )
    });
    lines.collect()
}

#[test]
fn both_versions_give_the_same_tools() {
    let expected = expect![[r##"
        pets_list = GET /pets (retrieval, idempotent)
          "List pets.\n\nThe newest come first."
          {"type":"object","properties":{"limit":{"type":"integer","maximum":100,"description":"At most so many"},"kinds":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}
        pets_list_2 = POST /pets (action)
          "POST /pets"
          {"type":"object","properties":{"body":{"$ref":"#/$defs/Pet","description":"The pet"}},"additionalProperties":false,"required":["body"],"$defs":{"Pet":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"nick":{"type":["string","null"]},"friends":{"type":"array","items":{"$ref":"#/$defs/Pet"}}}}}}
        get_pets_by_petId = GET /pets/{petId} (retrieval, idempotent)
          "Find a pet."
          {"type":"object","properties":{"petId":{"type":"integer"}},"additionalProperties":false,"required":["petId"]}
        _2-delete_pet = DELETE /pets/{petId} (action, idempotent, destructive)
          "Deprecated. Delete a pet."
          {"type":"object","properties":{"petId":{"type":"integer"}},"additionalProperties":false,"required":["petId"]}
    "##]];
    let old = tools(shop("3.0.3", &json!({"type": "string", "nullable": true})));
    expected.assert_eq(&old);
    assert_eq!(
        tools(shop("3.1.0", &json!({"type": ["string", "null"]}))),
        old
    );
}

#[test]
fn only_and_filter_choose_operations() {
    let document = || {
        OpenApi::from_value(shop("3.1.0", &json!({})))
            .expect("a document")
            .allow_host("eu.pets.example")
    };
    let names = |api: OpenApi| {
        let toolset = api.toolset("pets").expect("sound");
        toolset
            .offered()
            .iter()
            .map(|offered| offered.tool.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(document().only(["GET /pets/{petId}"]).prefix("shop")),
        ["shop_get_pets_by_petId"]
    );
    assert_eq!(
        names(
            document()
                .filter(|operation| operation.is_deprecated() && operation.method() == "DELETE")
        ),
        ["_2-delete_pet"]
    );
    assert_eq!(
        names(document().only(["pets/list"])),
        ["pets_list", "pets_list_2"]
    );
}

#[test]
fn variables_of_a_server_are_limited_to_its_values() {
    let api = OpenApi::from_value(shop("3.1.0", &json!({}))).expect("a document");
    let toolset = api
        .server_variable("region", "evil.example/")
        .allow_host("evil.example")
        .toolset("pets")
        .expect("sound");
    assert!(toolset.offered().is_empty());
    assert!(
        toolset
            .refused()
            .iter()
            .all(|refused| refused.reason.kind() == "server"),
        "{:?}",
        toolset.refused()
    );
}
