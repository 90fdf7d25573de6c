//! Mistakes that real converters of schemas have made.

use crate::Provider;
use crate::Provider::{Anthropic, Gemini, GeminiJsonSchema, GeminiLive, Ollama, OpenAiChat};
use crate::report::{ChangeKind, Refusal};
use crate::schema::tests::{parameter, project, projected, reported};
use serde_json::{Value, json};

const FORMS: [Provider; 5] = [OpenAiChat, Anthropic, Gemini, GeminiJsonSchema, Ollama];

// Point 2
#[test]
fn parameters_may_be_named_like_keywords() {
    let names = [
        "title",
        "type",
        "properties",
        "$ref",
        "enum",
        "items",
        "required",
        "$defs",
        "anyOf",
        "description",
        "const",
    ];
    let properties: serde_json::Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    for provider in FORMS.into_iter().filter(|provider| *provider != Anthropic) {
        let written = projected(provider, &schema).schema;
        for name in names {
            let kind = written["properties"][name]["type"]
                .as_str()
                .expect(name)
                .to_ascii_lowercase();
            assert_eq!(kind, "string", "{provider}");
        }
        assert_eq!(written["required"], json!(names), "{provider}");
    }
}

// Point 3
#[test]
fn what_has_no_type_stays_without() {
    assert_eq!(parameter(OpenAiChat, &json!({})), json!({}));
    assert_eq!(
        parameter(Ollama, &json!({"description": "Any"})),
        json!({"description": "Any"})
    );
    // The typed form refuses a schema without a type, so all types are spelled out.
    let spelled = json!({"anyOf": [
        {"type": "STRING", "description": "Any", "nullable": true},
        {"type": "NUMBER"},
        {"type": "BOOLEAN"},
        {"type": "OBJECT"},
        {"type": "ARRAY", "items": {}},
    ]});
    assert_eq!(parameter(Gemini, &json!({"description": "Any"})), spelled);
    assert_eq!(
        parameter(Gemini, &Value::Bool(true))["anyOf"][3],
        json!({"type": "OBJECT"})
    );
}

// Point 4
#[test]
fn a_tuple_has_widened_items_and_its_length() {
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2});
    let either = json!([{"type": "STRING"}, {"type": "INTEGER"}]);
    let written = parameter(Gemini, &pair);
    assert_eq!(
        (
            &written["items"]["anyOf"],
            &written["minItems"],
            &written["maxItems"]
        ),
        (&either, &json!(2), &json!(2))
    );
    assert!(
        written["description"]
            .as_str()
            .is_some_and(|text| text.starts_with("items in this order: "))
    );
    // Further items may be booleans.
    let open =
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "boolean"}});
    let written = parameter(Gemini, &open);
    assert_eq!(
        written["items"]["anyOf"],
        json!([{"type": "STRING"}, {"type": "BOOLEAN"}])
    );
    assert_eq!(written.get("maxItems"), None);
    // Further items may be anything.
    let loose = json!({"type": "array", "prefixItems": [{"type": "string"}]});
    assert_eq!(parameter(Ollama, &loose).get("items"), None);
}

// Point 5
#[test]
fn listed_numbers_are_no_texts_for_gemini() {
    let described = json!({"type": "INTEGER", "description": "Size (one of 1, 2, 5)", "minimum": 1, "maximum": 5});
    assert_eq!(
        parameter(
            Gemini,
            &json!({"type": "integer", "enum": [1, 2, 5], "description": "Size"})
        ),
        described
    );
    let mixed = parameter(Gemini, &json!({"enum": ["auto", 1.5, null]}));
    let either = json!([
        {"type": "STRING", "enum": ["auto"], "nullable": true},
        {"type": "NUMBER", "description": "always 1.5", "minimum": 1.5, "maximum": 1.5},
    ]);
    assert_eq!(mixed, json!({"anyOf": either}));
    assert_eq!(
        parameter(GeminiJsonSchema, &json!({"enum": [1, 2]})),
        json!({"type": "integer", "enum": [1, 2]})
    );
}

// L33
#[test]
fn a_constant_is_an_enum_of_one_value() {
    assert_eq!(
        parameter(Gemini, &json!({"const": "a"})),
        json!({"type": "STRING", "enum": ["a"]})
    );
    assert_eq!(
        parameter(Gemini, &json!({"const": true})),
        json!({"type": "BOOLEAN", "description": "always true"})
    );
    assert_eq!(
        parameter(Gemini, &json!({"const": null})),
        json!({"type": "NULL"})
    );
    assert_eq!(
        parameter(Ollama, &json!({"const": {"a": 1}})),
        json!({"type": "object", "enum": [{"a": 1}]})
    );
}

// An empty text among the values is refused by Gemini.
#[test]
fn an_empty_text_is_no_value_of_a_typed_enum() {
    let written = parameter(Gemini, &json!({"type": "string", "enum": ["", "a"]}));
    assert_eq!(
        written,
        json!({"type": "STRING", "description": r#"one of "", "a""#})
    );
}

// Point 11: a format is a note. To make it a bound would refuse what the tool takes.
#[test]
fn formats_that_upset_validators_are_told() {
    for provider in [OpenAiChat, GeminiJsonSchema, Ollama] {
        let written = parameter(
            provider,
            &json!({"type": "integer", "format": "uint64", "minimum": 0}),
        );
        assert!(
            written["description"]
                .as_str()
                .is_some_and(|text| text.contains("format uint64")),
            "{provider}"
        );
        assert_eq!(written.get("format"), None, "{provider}");
    }
    let known = parameter(Gemini, &json!({"type": "integer", "format": "int64"}));
    assert_eq!(known, json!({"type": "INTEGER", "format": "int64"}));
    assert_eq!(
        parameter(Gemini, &json!({"type": "string", "format": "int64"})).get("format"),
        None
    );
}

// Point 18
#[test]
fn descriptions_are_never_cut() {
    let long = "word ".repeat(5_000);
    let schema = json!({"type": "string", "description": long, "examples": ["x".repeat(2_000)], "multipleOf": 2});
    for provider in FORMS {
        let written = parameter(provider, &schema);
        let text = written["description"].as_str().expect("a description");
        assert!(text.starts_with(&long), "{provider}");
    }
    assert!(
        parameter(Ollama, &schema)["description"]
            .as_str()
            .is_some_and(|text| text.contains(&"x".repeat(2_000)))
    );
}

#[test]
fn what_a_form_cannot_say_is_told_in_words() {
    let minutes = json!({"type": "integer", "description": "Length in minutes", "minimum": 5, "maximum": 480, "default": 30});
    let told =
        json!({"type": "integer", "description": "Length in minutes (5 to 480; default 30)"});
    assert_eq!(parameter(Ollama, &minutes), told);
    let name = json!({"type": "string", "pattern": "^x$", "minLength": 1, "format": "email", "not": {"const": "x"}});
    let told = r#"matches ^x$; at least 1 characters; format email; does not fit {"const":"x"}"#;
    let words = parameter(Ollama, &name)["description"]
        .as_str()
        .expect("words")
        .to_owned();
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split("; ").map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(sorted(&words), sorted(told));
}

// "When using any_of, it must be the only field set."
#[test]
fn a_typed_union_stands_alone() {
    let either = json!({"description": "Who", "default": "me", "anyOf": [{"type": "string"}, {"type": "integer", "description": "An id"}, {"type": "null"}]});
    let branches = json!([
        {"type": "STRING", "description": "Who (default \"me\")", "nullable": true},
        {"type": "INTEGER", "description": "An id"},
    ]);
    assert_eq!(parameter(Gemini, &either), json!({"anyOf": branches}));
    assert_eq!(parameter(GeminiLive, &either), parameter(Gemini, &either));
    let maybe = json!({"type": ["string", "null"], "description": "Who", "minLength": 1});
    assert_eq!(
        parameter(Gemini, &maybe),
        json!({"type": "STRING", "description": "Who", "minLength": 1, "nullable": true})
    );
}

#[test]
fn what_is_said_beside_a_union_holds_in_its_branches() {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
        "anyOf": [{"properties": {"at": {"type": "string"}}}, {"properties": {"in": {"type": "integer"}}}],
    });
    let written = parameter(Gemini, &schema);
    for (branch, name) in [(0, "at"), (1, "in")] {
        let branch = &written["anyOf"][branch];
        assert_eq!(branch["properties"]["id"], json!({"type": "STRING"}));
        assert!(branch["properties"][name].is_object() && branch["required"] == json!(["id"]));
    }
}

#[test]
fn conjunctions_are_merged_where_the_form_has_none() {
    let schema = json!({
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "number", "minimum": 1}}, "required": ["a"]},
            {"properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "string"}}},
        ],
        "additionalProperties": true,
    });
    let written = parameter(Gemini, &schema);
    assert_eq!(
        written["properties"]["a"],
        json!({"type": "INTEGER", "minimum": 3})
    );
    assert_eq!(written["required"], json!(["a"]));
    assert_eq!(
        written["propertyOrdering"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn what_is_required_is_among_the_properties_of_the_typed_form() {
    let written = parameter(
        Gemini,
        &json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}}),
    );
    assert_eq!(written["properties"], json!({"a": {"type": "STRING"}}));
}

#[test]
fn a_remote_reference_is_never_fetched() {
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "https://example.com/a.json", "type": "string"}}});
    for provider in FORMS {
        let projection = projected(provider, &schema);
        assert_eq!(
            reported(&projection, "/properties/p", "$ref"),
            Some(ChangeKind::Weakened),
            "{provider}"
        );
        assert_eq!(
            projection.schema["properties"]["p"].get("$ref"),
            None,
            "{provider}"
        );
        assert!(
            projection.schema["properties"]["p"].get("type").is_some(),
            "{provider}"
        );
    }
}

// A weakened schema under `not` would refuse more.
#[test]
fn nothing_is_weakened_inside_a_negation() {
    let remote = json!({"$ref": "https://example.com/a.json"});
    let schema = json!({"type": "object", "properties": {"p": {"not": remote}, "q": {"oneOf": [{"type": "string"}, remote]}}});
    let projection = projected(OpenAiChat, &schema);
    assert_eq!(projection.schema["properties"]["p"], json!({}));
    assert_eq!(
        projection.schema["properties"]["q"],
        json!({"anyOf": [{"type": "string"}, {}]})
    );
    assert_eq!(
        reported(&projection, "/properties/p", "not"),
        Some(ChangeKind::Dropped)
    );
    let exact = json!({"type": "object", "properties": {"p": {"not": {"const": 1}}}});
    assert_eq!(projected(OpenAiChat, &exact).schema, exact);
}

#[test]
fn a_weakened_schema_leaves_others_as_they_are() {
    let schema = json!({"type": "object", "properties": {
        "p": {"$ref": "https://example.com/a.json"},
        "q": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "r": {"not": {"const": 1}},
        "s": {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false},
    }});
    let written = projected(OpenAiChat, &schema).schema;
    for name in ["q", "r", "s"] {
        assert_eq!(
            written["properties"][name], schema["properties"][name],
            "{name}"
        );
    }
}

#[test]
fn a_negation_of_what_refers_to_a_weakened_schema_goes() {
    let schema = json!({
        "type": "object",
        "properties": {"p": {"not": {"$ref": "#/$defs/a"}}, "q": {"not": {"$ref": "#/$defs/b"}}},
        "$defs": {
            "a": {"type": "object", "properties": {"x": {"$dynamicRef": "#x"}}},
            "b": {"type": "string"},
        },
    });
    let written = projected(OpenAiChat, &schema).schema;
    assert_eq!(written["properties"]["p"], json!({}));
    assert_eq!(
        written["properties"]["q"],
        json!({"not": {"$ref": "#/$defs/b"}})
    );
}

#[test]
fn a_condition_stays_if_only_its_consequence_is_weakened() {
    let remote = json!({"$ref": "https://example.com/a.json"});
    let condition = |inner: &Value, then: &Value| {
        let schema = json!({"if": inner, "then": then, "else": {"type": "integer"}});
        parameter(OpenAiChat, &schema)
    };
    let text = json!({"type": "string"});
    let kept = condition(&text, &remote);
    assert_eq!(kept["if"], text);
    assert_eq!(kept["else"], json!({"type": "integer"}));
    let lost = condition(&remote, &text);
    assert_eq!(lost, json!({}));
}

#[test]
fn what_is_unevaluated_goes_with_a_weakened_schema_beside_it() {
    let schema = json!({
        "type": "object",
        "allOf": [{"$ref": "https://example.com/a.json"}],
        "unevaluatedProperties": false,
    });
    let written = parameter(OpenAiChat, &schema);
    assert_eq!(written.get("unevaluatedProperties"), None);
}

#[test]
fn a_most_of_weakened_items_is_described() {
    let schema = json!({"type": "array", "contains": {"$dynamicRef": "#x"}, "maxContains": 2});
    let written = parameter(OpenAiChat, &schema);
    assert_eq!(written.get("maxContains"), None);
    assert_eq!(written["description"], "at most 2 such items");
}

#[test]
fn a_schema_that_nothing_fits_is_refused() {
    for provider in Provider::ALL {
        let refused = |schema: Value| project(provider, &schema, false).err();
        assert_eq!(
            refused(json!({"type": "string"})),
            Some(Refusal::NoObject),
            "{provider}"
        );
        assert_eq!(
            refused(Value::Bool(false)),
            Some(Refusal::Unsatisfiable {
                pointer: String::new()
            }),
            "{provider}"
        );
    }
    let impossible = json!({"type": "object", "properties": {"a": false}, "required": ["a"]});
    assert!(project(Gemini, &impossible, false).is_err());
}

// L30
#[test]
fn the_schema_is_left_as_it_is_and_properties_keep_their_order() {
    let schema = json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"$ref": "#/$defs/m"}, "m": {"enum": [1]}}, "$defs": {"m": {"const": 1}}});
    let before = schema.clone();
    let names: Vec<&String> = schema["properties"]
        .as_object()
        .expect("properties")
        .keys()
        .collect();
    for provider in Provider::ALL {
        let written = projected(provider, &schema).schema;
        assert_eq!(
            written["properties"]
                .as_object()
                .expect("properties")
                .keys()
                .collect::<Vec<_>>(),
            names,
            "{provider}"
        );
        assert_eq!(
            projected(provider, &schema).schema.to_string(),
            written.to_string(),
            "{provider}"
        );
    }
    assert_eq!(
        projected(Gemini, &schema).schema["propertyOrdering"],
        json!(names)
    );
    assert_eq!(schema, before);
}

#[test]
fn an_exclusive_bound_of_an_integer_is_the_next_integer() {
    let written = |schema: Value| parameter(Gemini, &schema);
    let both = json!({"type": "integer", "exclusiveMinimum": -2.5, "exclusiveMaximum": 2.5});
    assert_eq!(
        written(both),
        json!({"type": "INTEGER", "minimum": -2, "maximum": 2})
    );
    let whole = json!({"type": "integer", "exclusiveMinimum": 2.0, "exclusiveMaximum": 5});
    assert_eq!(
        written(whole),
        json!({"type": "INTEGER", "minimum": 3, "maximum": 4})
    );
    let number = written(json!({"type": "number", "exclusiveMinimum": 0}));
    assert_eq!(
        number,
        json!({"type": "NUMBER", "description": "more than 0", "minimum": 0})
    );
}
