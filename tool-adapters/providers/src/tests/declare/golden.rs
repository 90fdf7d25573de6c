//! One rich set of tools in every provider's form, and the limits of its tools, in this folder's `golden/`.
//! `UPDATE=1 cargo test` writes them anew. The limits of the files are those of the provider's documentation: the tests
//! of names and of many tools hold the declarations to them, so compare them with the documentation when you read the
//! diff.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::report::NotStrict;
use crate::strict::tests::checker::problems;
use crate::tests::declare::support::{declared, definitions, hosted, json_of, raw};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use tool_core::tool::ToolAnnotations;
use tool_core::{Category, FunctionTool};

fn tools() -> Vec<FunctionTool> {
    let event = json!({"type": "object", "additionalProperties": false, "required": ["title", "start_time"], "properties": {
        "title": {"type": "string", "description": "Event title", "minLength": 1, "maxLength": 80},
        "start_time": {"type": "string", "format": "date-time", "description": "Start of the event, RFC 3339"},
        "duration_minutes": {"type": "integer", "minimum": 5, "maximum": 480, "default": 30, "description": "Length in minutes"},
        "attendees": {"type": "array", "items": {"type": "string", "format": "email"}, "default": null, "maxItems": 10},
        "color": {"$ref": "#/$defs/Color", "default": null, "description": "As the calendar shows it"},
    }, "$defs": {"Color": {"type": "string", "enum": ["red", "green"], "title": "Color"}}});
    let shapes = json!({"type": "object", "required": ["shapes"], "properties": {
        "shapes": {"type": "array", "items": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "radius"]},
            {"type": "object", "properties": {"kind": {"const": "line"}, "to": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2, "maxItems": 2}}, "required": ["kind"]},
        ]}},
        "priority": {"enum": [1, 2, 3]},
        "note": {"type": ["string", "null"]},
    }});
    let tree = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "required": ["tree"], "$defs": {
        "Tree": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}, "required": ["name"]}}});
    let labels = json!({"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}, "anything": true}});
    let deletes = ToolAnnotations {
        destructive: Some(true),
        open_world: Some(true),
        ..ToolAnnotations::default()
    };
    vec![
        raw("create_event", "Create an event in the calendar.", event)
            .title("Create an event")
            .category(Category::Action)
            .output_schema(json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]})),
        raw("shapes.draw", "Draw shapes.", shapes).output_schema(
            json!({"type": "array", "items": {"$ref": "#/$defs/Id"}, "$defs": {"Id": {"type": "integer"}}}),
        ),
        raw("files/tree:write", "Write a tree of files.", tree).flags(deletes),
        raw("label", "", labels),
        raw("now", "The time.", json!({"type": "object", "properties": {}})).category(Category::Retrieval),
    ]
}

/// The limits of the tools of a provider, as its golden file has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GoldenLimits {
    /// The most tools in a request.
    pub(crate) tools: Option<usize>,
    /// The most characters of a name.
    pub(crate) name_length: usize,
    /// The characters of a name beside letters, digits and `_`.
    pub(crate) punctuation: String,
    /// True if a name may begin with a digit or with punctuation.
    pub(crate) any_first: bool,
}

impl GoldenLimits {
    fn of_spec(provider: Provider) -> Self {
        let spec = provider.spec();
        Self {
            tools: spec.max_tools,
            name_length: spec.tool_names.max_length,
            punctuation: spec.tool_names.punctuation.to_owned(),
            any_first: spec.tool_names.any_first,
        }
    }

    /// Reads the limits of a golden file.
    pub(crate) fn read(provider: Provider) -> Self {
        #[derive(Deserialize)]
        struct File {
            limits: GoldenLimits,
        }
        if std::env::var_os("UPDATE").is_some() {
            // Another test is writing the file.
            return Self::of_spec(provider);
        }
        let path = path_of(&format!("{provider}.json"));
        let text = std::fs::read_to_string(&path).expect("a golden file");
        let file = serde_json::from_str::<File>(&text);
        file.expect("limits: run with UPDATE=1").limits
    }
}

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/tests/declare/golden")
        .join(name)
}

fn declare(provider: Provider, strict: bool) -> Declarations {
    let hosted = [
        hosted("google_search", "gemini", json!({"googleSearch": {}})),
        hosted(
            "web_search",
            "openai-responses",
            json!({"type": "web_search"}),
        ),
        hosted(
            "web_search",
            "anthropic",
            json!({"type": "web_search_20260209", "name": "web_search"}),
        ),
    ];
    let options = DeclareOptions {
        strict,
        only_single_type: false,
        model_mixes: true,
        defer: false,
    };
    declared(provider, &tools(), &hosted, options)
}

/// Without the order of the features that a build happens to have.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Object(map) => {
            let mut members = map.iter().collect::<Vec<_>>();
            members.sort_unstable_by_key(|(name, _)| *name);
            members
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

#[test]
fn every_declaration_is_what_its_golden_file_says() {
    for provider in Provider::ALL {
        let has_strict = provider.spec().strict.is_some();
        for strict in [false, true]
            .into_iter()
            .filter(|strict| !strict || has_strict)
        {
            let declared = declare(provider, strict);
            let report = serde_json::to_value(declared.report()).expect("a report");
            let mut all = json!({"tools": json_of(&declared), "settings": declared.settings(), "report": report});
            if !strict {
                let limits = GoldenLimits::of_spec(provider);
                all["limits"] = serde_json::to_value(limits).expect("limits");
            }
            let all = sorted(&all);
            let name = format!("{provider}{}.json", if strict { ".strict" } else { "" });
            let path = path_of(&name);
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(
                    &path,
                    serde_json::to_string_pretty(&all).expect("JSON") + "\n",
                )
                .expect("written");
            }
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|_| panic!("no {name}: run with UPDATE=1"));
            assert_eq!(
                all,
                serde_json::from_str::<Value>(&text).expect("JSON"),
                "{name}"
            );
        }
    }
}

#[test]
fn a_provider_without_strict_tools_declares_the_same() {
    for provider in Provider::ALL {
        if provider.spec().strict.is_some() {
            continue;
        }
        let plain = declare(provider, false);
        let strict = declare(provider, true);
        assert_eq!(json_of(&strict), json_of(&plain), "{provider}");
        assert_eq!(strict.settings(), plain.settings(), "{provider}");
        for (tool, plain) in strict.report().tools.iter().zip(&plain.report().tools) {
            assert_eq!(tool.not_strict, Some(NotStrict::Unsupported), "{provider}");
            assert_eq!(tool.changes, plain.changes, "{provider}");
        }
    }
}

// Strictness is computed, never asserted.
#[test]
fn what_is_declared_strict_is_and_nothing_else_is() {
    for provider in Provider::ALL {
        let declared = declare(provider, true);
        let json = json_of(&declared);
        let settings = declared.settings().get("strict_tools") == Some(&json!(true));
        for (at, (tool, definition)) in declared
            .report()
            .tools
            .iter()
            .zip(definitions(&tools()))
            .enumerate()
        {
            let item = ["function", "toolSpec"]
                .iter()
                .find_map(|member| json[at].get(*member))
                .unwrap_or(&json[at]);
            let says = item
                .get("strict")
                .map_or(settings, |strict| *strict == json!(true));
            assert_eq!(says, tool.strict, "{provider}: {}", definition.name());
            assert_eq!(
                tool.strict,
                tool.not_strict.is_none(),
                "{provider}: {}",
                definition.name()
            );
            let schema = ["parameters", "input_schema", "inputSchema"]
                .iter()
                .find_map(|member| item.get(*member));
            if let (true, Some(schema)) = (tool.strict, schema) {
                let schema = schema.get("json").unwrap_or(schema);
                assert_eq!(
                    problems(provider, schema),
                    Vec::<String>::new(),
                    "{provider}: {}",
                    definition.name()
                );
            }
        }
    }
}
