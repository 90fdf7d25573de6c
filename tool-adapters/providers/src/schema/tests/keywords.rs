//! Every keyword of JSON Schema 2020-12, and what becomes of it with each provider.

use crate::Provider;
use crate::report::Change;
use crate::schema::tests::oracle::read;
use crate::schema::tests::projected;
use expect_test::expect_file;
use serde_json::{Value, json};

/// A parameter `p` with the keyword among others; the first keyword is the one that is asked about.
fn parameters() -> Vec<(&'static str, Value)> {
    vec![
        ("type", json!({"type": "string"})),
        ("type", json!({"type": ["string", "null"]})),
        ("type", json!({"type": ["string", "integer"]})),
        ("enum", json!({"enum": ["a", "b"], "type": "string"})),
        ("enum", json!({"enum": [1, 2], "type": "integer"})),
        ("enum", json!({"enum": ["a", 1, null]})),
        ("const", json!({"const": "a"})),
        ("const", json!({"const": 1})),
        ("multipleOf", json!({"multipleOf": 5, "type": "integer"})),
        ("maximum", json!({"maximum": 5, "type": "number"})),
        (
            "exclusiveMaximum",
            json!({"exclusiveMaximum": 5, "type": "integer"}),
        ),
        (
            "exclusiveMaximum",
            json!({"exclusiveMaximum": 5, "type": "number"}),
        ),
        ("minimum", json!({"minimum": 5, "type": "number"})),
        (
            "exclusiveMinimum",
            json!({"exclusiveMinimum": 5, "type": "integer"}),
        ),
        (
            "exclusiveMinimum",
            json!({"exclusiveMinimum": 5, "type": "number"}),
        ),
        ("maxLength", json!({"maxLength": 5, "type": "string"})),
        ("minLength", json!({"minLength": 5, "type": "string"})),
        ("pattern", json!({"pattern": "^a", "type": "string"})),
        (
            "maxItems",
            json!({"maxItems": 5, "type": "array", "items": {"type": "string"}}),
        ),
        (
            "minItems",
            json!({"minItems": 5, "type": "array", "items": {"type": "string"}}),
        ),
        (
            "uniqueItems",
            json!({"uniqueItems": true, "type": "array", "items": {"type": "string"}}),
        ),
        (
            "maxContains",
            json!({"maxContains": 5, "contains": {"const": 1}, "type": "array"}),
        ),
        (
            "minContains",
            json!({"minContains": 5, "contains": {"const": 1}, "type": "array"}),
        ),
        (
            "maxProperties",
            json!({"maxProperties": 5, "type": "object"}),
        ),
        (
            "minProperties",
            json!({"minProperties": 5, "type": "object"}),
        ),
        (
            "required",
            json!({"required": ["a"], "type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        (
            "dependentRequired",
            json!({"dependentRequired": {"a": ["b"]}, "type": "object"}),
        ),
        (
            "prefixItems",
            json!({"prefixItems": [{"type": "string"}, {"type": "integer"}], "type": "array"}),
        ),
        (
            "items",
            json!({"items": {"type": "string"}, "type": "array"}),
        ),
        ("items", json!({"items": true, "type": "array"})),
        ("items", json!({"items": false, "type": "array"})),
        (
            "items",
            json!({"items": false, "prefixItems": [{"type": "string"}], "type": "array"}),
        ),
        (
            "contains",
            json!({"contains": {"const": 1}, "type": "array"}),
        ),
        (
            "additionalProperties",
            json!({"additionalProperties": false, "type": "object"}),
        ),
        (
            "additionalProperties",
            json!({"additionalProperties": {"type": "integer"}, "type": "object"}),
        ),
        (
            "properties",
            json!({"properties": {"a": {"type": "string"}}, "type": "object"}),
        ),
        (
            "properties",
            json!({"properties": {"a": {"type": "string"}}}),
        ),
        (
            "patternProperties",
            json!({"patternProperties": {"^a": {"type": "string"}}, "type": "object"}),
        ),
        (
            "dependentSchemas",
            json!({"dependentSchemas": {"a": {"required": ["b"]}}, "type": "object"}),
        ),
        (
            "propertyNames",
            json!({"propertyNames": {"pattern": "^a"}, "type": "object"}),
        ),
        (
            "if",
            json!({"if": {"minLength": 1}, "then": {"pattern": "^a"}, "type": "string"}),
        ),
        (
            "then",
            json!({"then": {"pattern": "^a"}, "if": {"minLength": 1}, "type": "string"}),
        ),
        (
            "else",
            json!({"else": {"pattern": "^a"}, "if": {"minLength": 1}, "type": "string"}),
        ),
        (
            "allOf",
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
        ),
        (
            "anyOf",
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (
            "anyOf",
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (
            "oneOf",
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        ("not", json!({"not": {"const": "a"}, "type": "string"})),
        (
            "unevaluatedItems",
            json!({"unevaluatedItems": false, "type": "array"}),
        ),
        (
            "unevaluatedProperties",
            json!({"unevaluatedProperties": false, "type": "object"}),
        ),
        ("title", json!({"title": "A", "type": "string"})),
        (
            "description",
            json!({"description": "A.", "type": "string"}),
        ),
        ("default", json!({"default": "a", "type": "string"})),
        ("default", json!({"default": null, "type": "string"})),
        ("deprecated", json!({"deprecated": true, "type": "string"})),
        ("readOnly", json!({"readOnly": true, "type": "string"})),
        ("writeOnly", json!({"writeOnly": true, "type": "string"})),
        ("examples", json!({"examples": ["a"], "type": "string"})),
        ("format", json!({"format": "date-time", "type": "string"})),
        ("format", json!({"format": "email", "type": "string"})),
        ("format", json!({"format": "uint64", "type": "integer"})),
        (
            "contentEncoding",
            json!({"contentEncoding": "base64", "type": "string"}),
        ),
        (
            "contentMediaType",
            json!({"contentMediaType": "image/png", "type": "string"}),
        ),
        (
            "contentSchema",
            json!({"contentSchema": {"type": "integer"}, "contentMediaType": "application/json", "type": "string"}),
        ),
        ("$ref", json!({"$ref": "#/$defs/d"})),
        ("$ref", json!({"$ref": "#/$defs/d", "description": "A."})),
        ("$ref", json!({"$ref": "#/$defs/d", "minLength": 1})),
        ("$ref", json!({"$ref": "https://example.com/a.json"})),
        ("$dynamicRef", json!({"$dynamicRef": "#d"})),
        ("$anchor", json!({"$anchor": "here", "type": "string"})),
        (
            "$dynamicAnchor",
            json!({"$dynamicAnchor": "here", "type": "string"}),
        ),
        ("$id", json!({"$id": "urn:p", "type": "string"})),
        ("$comment", json!({"$comment": "for us", "type": "string"})),
        (
            "$defs",
            json!({"$defs": {"x": {"type": "string"}}, "type": "string"}),
        ),
        ("example", json!({"example": "a", "type": "string"})),
        ("optional", json!({"optional": true, "type": "string"})),
    ]
}

/// The root itself with the keyword first.
fn roots() -> Vec<(&'static str, Value)> {
    vec![
        (
            "$schema",
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}),
        ),
        ("$id", json!({"$id": "urn:root"})),
        ("$vocabulary", json!({"$vocabulary": {}})),
        ("$defs", json!({"$defs": {"x": {"type": "string"}}})),
        ("type", json!({"type": ["object", "null"]})),
        ("enum", json!({"enum": [{"a": "b"}]})),
        ("const", json!({"const": {"a": "b"}})),
        ("not", json!({"not": {"required": ["a", "b"]}})),
        (
            "if",
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        ),
        ("allOf", json!({"allOf": [{"required": ["a"]}]})),
        (
            "anyOf",
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (
            "oneOf",
            json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (
            "$ref",
            json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "required": ["a"]}}}),
        ),
        (
            "patternProperties",
            json!({"patternProperties": {"^a": {"type": "string"}}}),
        ),
        ("minProperties", json!({"minProperties": 1})),
        (
            "dependentRequired",
            json!({"dependentRequired": {"a": ["b"]}}),
        ),
        (
            "unevaluatedProperties",
            json!({"unevaluatedProperties": false}),
        ),
    ]
}

/// In a word what became of the keyword; panics where the output and the report disagree.
fn fate(provider: Provider, schema: &Value, pointer: &str, keyword: &str) -> String {
    let projection = projected(provider, schema);
    let at = |root: &Value| {
        root.pointer(pointer)
            .and_then(|it| it.get(keyword))
            .cloned()
    };
    let same = at(schema) == at(&read(provider, &projection.schema));
    let mut changes = projection.changes.iter();
    let change = changes.find(|change| change.pointer == pointer && change.keyword == keyword);
    if let Some(change) = change {
        return word(change);
    }
    if same {
        return "survives".to_owned();
    }
    // Something inside has changed, such as a `pattern` in `propertyNames`.
    let place = format!("{pointer}/{keyword}");
    let is_inside = |change: &&Change| {
        let rest = change.pointer.strip_prefix(&place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let inner = projection.changes.iter().find(is_inside);
    let Some(inner) = inner else {
        let text = &projection.schema;
        panic!("{provider}: `{keyword}` of {schema} changed without a word: {text}");
    };
    format!("`{}` in it {}", inner.keyword, word(inner))
}

fn word(change: &Change) -> String {
    let kind = serde_json::to_value(change.kind).expect("a word");
    kind.as_str().expect("a word").to_owned()
}

/// A keyword in a schema.
struct Case {
    keyword: &'static str,
    /// The part of the schema that the table shows.
    shown: Value,
    schema: Value,
    /// The place of the keyword.
    pointer: &'static str,
}

fn cases_in_a_parameter() -> Vec<Case> {
    let case = |(keyword, parameter): (&'static str, Value)| Case {
        keyword,
        schema: json!({"type": "object", "properties": {"p": parameter}, "$defs": {"d": {"type": "string"}}}),
        shown: parameter,
        pointer: "/properties/p",
    };
    parameters().into_iter().map(case).collect()
}

fn cases_at_the_root() -> Vec<Case> {
    let case = |(keyword, root): (&'static str, Value)| {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        schema
            .as_object_mut()
            .expect("an object")
            .extend(root.as_object().expect("an object").clone());
        Case {
            keyword,
            shown: root,
            schema,
            pointer: "",
        }
    };
    roots().into_iter().map(case).collect()
}

/// Providers that declare the same schemas.
struct Column {
    providers: Vec<&'static str>,
    /// The declared schema of each case.
    schemas: Vec<Value>,
    /// The fate of the keyword in each case.
    fates: Vec<String>,
}

fn columns(cases: &[Case]) -> Vec<Column> {
    let mut columns = Vec::<Column>::new();
    for provider in Provider::ALL {
        let schema_of = |case: &Case| projected(provider, &case.schema).schema;
        let schemas = cases.iter().map(schema_of).collect::<Vec<_>>();
        let fate_of = |case: &Case| fate(provider, &case.schema, case.pointer, case.keyword);
        let fates = cases.iter().map(fate_of).collect::<Vec<_>>();

        let is_same = |column: &&mut Column| column.schemas == schemas && column.fates == fates;
        match columns.iter_mut().find(is_same) {
            Some(column) => column.providers.push(provider.name()),
            None => columns.push(Column {
                providers: vec![provider.name()],
                schemas,
                fates,
            }),
        }
    }
    columns
}

// For each keyword a test says whether it survives, weakens or is reported.
#[test]
fn every_keyword_survives_or_is_reported() {
    let in_a_parameter = cases_in_a_parameter();
    let of_parameters = in_a_parameter.len();
    let mut cases = in_a_parameter;
    cases.extend(cases_at_the_root());
    let columns = columns(&cases);

    let names = columns.iter().map(|column| column.providers.join(", "));
    let names = names.collect::<Vec<_>>().join(" | ");
    let header = format!(
        "| keyword | schema | {names} |\n|---|---|{}\n",
        "---|".repeat(columns.len())
    );
    let row = |(at, case): (usize, &Case)| {
        let fates = columns.iter().map(|column| column.fates[at].as_str());
        let fates = fates.collect::<Vec<_>>().join(" | ");
        format!("| `{}` | `{}` | {fates} |\n", case.keyword, case.shown)
    };
    let rows = cases.iter().enumerate().map(row).collect::<Vec<_>>();
    let (parameters, roots) = rows.split_at(of_parameters);

    let table = format!(
        "# What becomes of each keyword\n\nThe projections that are not strict. The providers of a column declare the same schemas.\n\n\
         ## In a parameter\n\n{header}{}\n## At the root\n\n{header}{}",
        parameters.concat(),
        roots.concat()
    );
    expect_file!["../golden/keywords.md"].assert_eq(&table);
}
