//! Whole schemas, beside this folder in `golden/`. `UPDATE=1 cargo test` writes them anew.

use crate::arguments::validate;
use crate::schema::build::normalize_result;
use crate::schema::example::minimal_example;
use crate::schema::generator::result_generator;
use crate::schema::parameter::{Constraint, Number, Parameter, Range};
use crate::schema::tests::types::{
    Adjacent, Closed, Color, Everything, External, Inline, Keywords, Level, Named, Paging, Point,
    Shape, Tree, Untagged, Validated, Window,
};
use crate::schema::tests::{build, built};
use crate::schema::validator;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn tools() -> Vec<(&'static str, Vec<Parameter>)> {
    let minutes = Constraint::Range(Range {
        min: Some(Number::Int(5)),
        max: Some(Number::Int(480)),
        exclusive: false,
    });
    let minutes: &'static [Constraint] = Box::leak(Box::new([minutes]));
    vec![
        ("no_parameters", vec![]),
        (
            "create_event",
            vec![
                Parameter::new::<String>("title", "Event title"),
                Parameter::new::<String>("start_time", "Start of the event, RFC 3339")
                    .constraints(&[Constraint::Format("date-time")]),
                Parameter::new::<u32>("duration_minutes", "Length in minutes")
                    .default_literal("30")
                    .constraints(minutes),
                Parameter::new::<Option<Vec<String>>>("attendees", "Addresses of the attendees")
                    .constraints(&[
                        Constraint::Format("email"),
                        Constraint::Items(Some(1), Some(10)),
                    ]),
                Parameter::new::<Option<String>>("description", "Text shown in the event"),
            ],
        ),
        ("struct", vec![Parameter::new::<Point>("at", "Where")]),
        (
            "closed_struct",
            vec![Parameter::new::<Closed>("record", "")],
        ),
        (
            "optional_struct",
            vec![Parameter::new::<Option<Point>>("at", "Where")],
        ),
        (
            "documented_enum",
            vec![Parameter::new::<Level>("level", "How loud it is")],
        ),
        (
            "optional_enum",
            vec![Parameter::new::<Option<Color>>("color", "")],
        ),
        (
            "inline_enum",
            vec![Parameter::new::<Option<Inline>>(
                "which",
                "Which of the two",
            )],
        ),
        (
            "internally_tagged",
            vec![Parameter::new::<Vec<Shape>>("shapes", "")],
        ),
        (
            "externally_tagged",
            vec![Parameter::new::<External>("what", "")],
        ),
        (
            "adjacently_tagged",
            vec![Parameter::new::<Adjacent>("what", "")],
        ),
        ("untagged", vec![Parameter::new::<Untagged>("what", "")]),
        ("recursion", vec![Parameter::new::<Tree>("tree", "")]),
        (
            "newtype",
            vec![
                Parameter::new::<Named>("name", "")
                    .constraints(&[Constraint::Length(Some(1), Some(80))]),
            ],
        ),
        (
            "keywords_as_names",
            vec![Parameter::new::<Keywords>("title", "")],
        ),
        ("validated", vec![Parameter::new::<Validated>("entry", "")]),
        ("everything", vec![Parameter::new::<Everything>("all", "")]),
        (
            "flatten",
            vec![
                Parameter::new::<String>("query", ""),
                Parameter::flattened::<Paging>("paging"),
            ],
        ),
        (
            "flatten_optional",
            vec![Parameter::flattened::<Option<Window>>("window")],
        ),
        (
            "flatten_union",
            vec![
                Parameter::new::<String>("name", ""),
                Parameter::flattened::<Shape>("shape"),
            ],
        ),
        (
            "aliases",
            vec![Parameter::new::<String>("query", "What to look for").aliases(&["q", "text"])],
        ),
        (
            "optional_alias",
            vec![
                Parameter::new::<u8>("count", "")
                    .default_literal("1")
                    .aliases(&["n"]),
            ],
        ),
    ]
}

#[test]
fn every_canonical_schema_is_what_its_golden_file_says() {
    for (name, parameters) in tools() {
        compare(name, &built(&parameters).value);
    }
}

#[test]
fn a_result_has_the_same_form() {
    let schema = result_generator()
        .into_root_schema_for::<Vec<Level>>()
        .to_value();
    compare("output", &normalize_result(schema));
}

#[test]
fn every_canonical_schema_passes_the_meta_schema() {
    for (name, parameters) in tools() {
        let schema = built(&parameters).value;
        assert!(
            jsonschema::draft202012::meta::is_valid(&schema),
            "{name}: {schema}"
        );
    }
}

#[test]
fn the_text_is_the_value_with_parameters_in_the_order_of_the_signature() {
    for (name, parameters) in tools() {
        let canonical = built(&parameters);
        assert_eq!(
            serde_json::from_str::<Value>(&canonical.text).expect(name),
            canonical.value
        );
        let places: Vec<_> = parameters
            .iter()
            .filter(|parameter| !parameter.flatten)
            .map(|parameter| {
                canonical
                    .text
                    .find(&format!("\"{}\":{{", parameter.name))
                    .expect(name)
            })
            .collect();
        assert!(places.is_sorted(), "{name}: {}", canonical.text);
    }
}

#[test]
fn the_minimal_example_of_every_schema_is_valid() {
    for (name, parameters) in tools() {
        let schema = built(&parameters).value;
        let example = minimal_example(&schema, &schema);
        let problems = validate::validate(&validator::Validator::new(schema), &example);
        assert_eq!(problems, [], "{name}: {example}");
    }
}

// L26
#[test]
fn a_tool_without_parameters_has_an_empty_object_and_nothing_else() {
    assert_eq!(built(&[]).text, r#"{"type":"object","properties":{}}"#);
}

// L34
#[test]
fn create_event_requires_title_and_start_time_alone() {
    let (_, parameters) = tools().swap_remove(1);
    let schema = build(&parameters).expect("it is sound").value;
    assert_eq!(schema["required"], json!(["title", "start_time"]));
    assert_eq!(
        schema["properties"]["duration_minutes"]["default"],
        json!(30)
    );
    assert_eq!(schema["properties"]["description"]["default"], Value::Null);
}

fn compare(name: &str, schema: &Value) {
    let path = folder().join(format!("{name}.json"));
    let now = format!("{schema:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).expect("golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let golden: Value = serde_json::from_str(&golden).unwrap_or_default();
    assert_eq!(
        golden,
        *schema,
        "{name} differs from {}:\n{now}",
        path.display()
    );
}

/// `file!()` is relative to the workspace.
fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(Path::new(file!()));
    here.parent()
        .and_then(Path::parent)
        .expect("a file lies in a folder")
        .join("golden")
}
