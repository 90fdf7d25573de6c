//! The lossless coercions, and nothing else.
#![expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without a `&`"
)]

use crate::arguments::coerce::{Coercions, Notes, coerce};
use crate::arguments::tests::{coerce_with, coerced};
use crate::json::pointer::Path;
use crate::schema::compiled::CompiledSchema;
use serde_json::{Value, json};

fn one(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}})
}

/// Returns `x` after the coercion.
fn x(value: Value, schema: Value) -> Value {
    coerced(json!({ "x": value }), &one(schema)).0["x"].clone()
}

#[test]
fn a_text_that_is_a_number_becomes_one_where_one_is_wanted() {
    let (value, notes) = coerced(json!({"x": "5"}), &one(json!({"type": "integer"})));
    assert_eq!(value, json!({"x": 5}));
    assert_eq!(notes, ["/x: text to integer"]);
    assert_eq!(x(json!("2.5"), json!({"type": "number"})), json!(2.5));
    assert_eq!(x(json!("5.0"), json!({"type": "integer"})), json!(5));
    assert_eq!(
        x(json!("1e2"), json!({"type": ["integer", "null"]})),
        json!(100)
    );
}

#[test]
fn a_text_stays_where_a_text_is_allowed() {
    assert_eq!(
        x(json!("5"), json!({"type": ["integer", "string"]})),
        json!("5")
    );
    assert_eq!(x(json!("5"), json!(true)), json!("5"));
    assert_eq!(
        x(json!("true"), json!({"type": ["boolean", "string"]})),
        json!("true")
    );
}

#[test]
fn a_text_that_is_nearly_a_number_stays() {
    for text in [
        " 5", "5 ", "+5", "05", "5.", ".5", "0x5", "1_000", "five", "", "NaN", "1e", "-",
    ] {
        assert_eq!(x(json!(text), json!({"type": "integer"})), json!(text));
        assert_eq!(x(json!(text), json!({"type": "number"})), json!(text));
    }
    assert_eq!(x(json!("5.5"), json!({"type": "integer"})), json!("5.5"));
}

#[test]
fn a_number_that_would_change_by_being_held_stays_a_text() {
    for text in [
        "1e400",
        "9007199254740993e4000",
        "18446744073709551617",
        "1e-400",
    ] {
        assert_eq!(x(json!(text), json!({"type": "number"})), json!(text));
        assert_eq!(x(json!(text), json!({"type": "integer"})), json!(text));
    }
    for (text, held) in [
        ("1e23", 1e23),
        ("1e41", 1e41),
        ("3.4028234663852886e38", 3.402_823_466_385_288_6e38),
        ("0.1", 0.1),
    ] {
        assert_eq!(x(json!(text), json!({"type": "number"})), json!(held));
    }
    let long = "1".repeat(50);
    assert_eq!(x(json!(long), json!({"type": "number"})), json!(long));
    assert_eq!(
        x(json!("9007199254740993"), json!({"type": "number"})),
        json!(9_007_199_254_740_993_u64)
    );
    assert_eq!(
        x(json!("18446744073709551616"), json!({"type": "integer"})),
        json!(18_446_744_073_709_551_616.0)
    );
}

#[test]
fn true_and_false_become_booleans_and_nothing_else_does() {
    assert_eq!(x(json!("true"), json!({"type": "boolean"})), json!(true));
    for value in [json!("True"), json!("yes"), json!("1"), json!(1), json!(0)] {
        assert_eq!(x(value.clone(), json!({"type": "boolean"})), value);
    }
}

#[test]
fn nothing_becomes_a_text_or_an_array() {
    assert_eq!(x(json!(5), json!({"type": "string"})), json!(5));
    assert_eq!(x(json!("a"), json!({"type": "array"})), json!("a"));
    assert_eq!(x(json!(5.5), json!({"type": "integer"})), json!(5.5));
    assert_eq!(x(json!(true), json!({"type": "integer"})), json!(true));
}

#[test]
fn the_json_of_an_array_or_object_becomes_it_and_is_looked_into() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    let (value, notes) = coerced(json!({"x": "[1, \"2\"]"}), &one(schema));
    assert_eq!(value, json!({"x": [1, 2]}));
    assert_eq!(notes, ["/x: text to array", "/x/1: text to integer"]);
    assert_eq!(
        x(json!(" {\"a\": 1}"), json!({"type": "object"})),
        json!({"a": 1})
    );
    assert_eq!(
        x(json!("{\"a\": 1}"), json!({"type": "array"})),
        json!("{\"a\": 1}")
    );
    assert_eq!(
        x(json!("{\"a\": 1, \"a\": 2}"), json!({"type": "object"})),
        json!("{\"a\": 1, \"a\": 2}")
    );
    assert_eq!(x(json!("[1"), json!({"type": "array"})), json!("[1"));
}

// L29
#[test]
fn null_becomes_absence_where_it_is_not_allowed_and_nothing_is_required() {
    let inner = json!({"type": "object", "properties": {"y": {"type": "integer"}, "z": {"type": ["integer", "null"]}}});
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/inner"}, "b": {"type": "string"}, "c": {"type": "string"}},
        "required": ["c"],
        "$defs": {"inner": inner},
    });
    let (value, notes) = coerced(
        json!({"a": {"y": null, "z": null}, "b": null, "c": null, "d": null}),
        &schema,
    );
    assert_eq!(value, json!({"a": {"z": null}, "c": null, "d": null}));
    assert_eq!(notes, ["/b: null to absent", "/a/y: null to absent"]);
}

#[test]
fn null_stays_in_maps_and_arrays() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert_eq!(x(json!({"a": null}), map), json!({"a": null}));
    assert_eq!(
        x(
            json!([null]),
            json!({"type": "array", "items": {"type": "integer"}})
        ),
        json!([null])
    );
}

#[test]
fn all_places_of_a_value_are_reached() {
    let number = json!({"type": "integer"});
    assert_eq!(
        x(
            json!(["1", "2"]),
            json!({"type": "array", "prefixItems": [number], "items": number})
        ),
        json!([1, 2])
    );
    assert_eq!(
        x(
            json!({"k": "1"}),
            json!({"type": "object", "additionalProperties": number})
        ),
        json!({"k": 1})
    );
    assert_eq!(
        x(json!("1"), json!({"allOf": [{"minimum": 0}, number]})),
        json!(1)
    );
    let keys = json!({"type": "object", "additionalProperties": false, "patternProperties": {"^\\d+$": number}});
    assert_eq!(x(json!({"7": "1"}), keys), json!({"7": 1}));
}

#[test]
fn a_choice_is_made_only_if_one_branch_alone_accepts() {
    let either = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]});
    assert_eq!(x(json!("5"), either.clone()), json!(5));
    assert_eq!(x(json!("true"), either), json!(true));
    let both = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    assert_eq!(x(json!("5"), both), json!("5"));
    let text = json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
    assert_eq!(x(json!("5"), text), json!("5"));
    let refused = json!({"anyOf": [{"type": "integer", "minimum": 10}, {"type": "null"}]});
    assert_eq!(x(json!("5"), refused), json!("5"));
}

#[test]
fn a_tagged_choice_is_looked_into() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"t": {"const": "a"}, "n": {"type": "integer"}}, "required": ["t", "n"]},
        {"type": "object", "properties": {"t": {"const": "b"}, "n": {"type": "boolean"}}, "required": ["t", "n"]},
    ]});
    assert_eq!(
        x(json!({"t": "b", "n": "true"}), schema),
        json!({"t": "b", "n": true})
    );
}

#[test]
fn each_coercion_has_a_switch() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "b": {"type": "boolean"}, "a": {"type": "array"}, "o": {"type": "string"},
    }});
    let sent = json!({"n": "1", "b": "true", "a": "[]", "o": null});
    let with = |switches| {
        let mut value = sent.clone();
        coerce_with(&mut value, &schema, switches).len()
    };
    assert_eq!(with(Coercions::ALL), 4);
    assert_eq!(
        with(Coercions {
            text_as_scalar: false,
            ..Coercions::ALL
        }),
        2
    );
    assert_eq!(
        with(Coercions {
            text_as_json: false,
            ..Coercions::ALL
        }),
        3
    );
    assert_eq!(
        with(Coercions {
            null_as_absent: false,
            ..Coercions::ALL
        }),
        3
    );
    assert_eq!(with(Coercions::NONE), 0);
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    let schema = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/a"}]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]},
    }});
    coerced(json!({"x": "5"}), &schema);
}

// `tests/cost` counts what they take.
#[test]
fn choices_within_choices_are_corrected_within_the_steps() {
    let branch = |op: &str| {
        json!({"type": "object", "required": ["op", "l", "r"],
               "properties": {"op": {"const": op}, "l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}}})
    };
    let schema = json!({"$ref": "#/$defs/e", "$defs": {"e": {"oneOf": [branch("+"), branch("*"), {"type": "integer"}]}}});
    // Each level doubles the choices.
    let corrections = |depth| {
        let value = (0..depth).fold(
            json!("1"),
            |value, _| json!({"op": "+", "l": value, "r": "1"}),
        );
        coerced(value, &schema).1.len()
    };
    assert_eq!([2, 4, 12].map(corrections), [3, 5, 0]);
}

#[test]
fn false_becomes_a_boolean() {
    assert_eq!(x(json!("false"), json!({"type": "boolean"})), json!(false));
}

#[test]
fn negative_numbers_keep_their_sign() {
    assert_eq!(x(json!("-5"), json!({"type": "integer"})), json!(-5));
    assert_eq!(x(json!("-2.5"), json!({"type": "number"})), json!(-2.5));
}

#[test]
fn a_zero_keeps_its_sign_only_as_a_float() {
    let float = x(json!("-0"), json!({"type": "number"}));
    assert!(
        float
            .as_f64()
            .is_some_and(|zero| zero == 0.0 && zero.is_sign_negative())
    );
    assert_eq!(x(json!("-0"), json!({"type": "integer"})), json!(0));
    assert_eq!(x(json!("0.00"), json!({"type": "integer"})), json!(0));
}

#[test]
fn exponents_of_any_length_are_read() {
    let beyond = "9".repeat(30);
    for text in [format!("1e{beyond}"), format!("1e-{beyond}")] {
        assert_eq!(x(json!(text), json!({"type": "number"})), json!(text));
    }
    for text in [format!("0e{beyond}"), format!("0e-{beyond}")] {
        assert_eq!(x(json!(text), json!({"type": "integer"})), json!(0));
    }
    assert_eq!(x(json!("1500e-2"), json!({"type": "integer"})), json!(15));
}

#[test]
fn json_that_would_be_rounded_stays_a_text() {
    let text = "[18446744073709551617]";
    assert_eq!(x(json!(text), json!({"type": "array"})), json!(text));
}

#[test]
fn json_in_a_text_is_followed_to_the_depth_of_arguments() {
    // The path to `x` is one level of the depth.
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let fits = nested(126);
    let too_deep = nested(127);
    assert!(x(json!(fits), json!({"type": "array"})).is_array());
    assert_eq!(
        x(json!(too_deep), json!({"type": "array"})),
        json!(too_deep)
    );
}

#[test]
fn the_places_after_a_prefix_have_the_schema_of_the_rest() {
    let schema = json!({
        "type": "array",
        "prefixItems": [{"type": "boolean"}],
        "items": {"type": "integer"},
    });
    assert_eq!(
        x(json!(["true", "1", "true"]), schema),
        json!([true, 1, "true"])
    );
}

#[test]
fn a_branch_that_refuses_leaves_no_correction_behind() {
    let branch = |tag: &str| {
        json!({
            "type": "object",
            "properties": {"t": {"const": tag}, "n": {"type": "integer"}, "m": {"type": "integer"}},
            "required": ["t", "n"],
        })
    };
    let schema = one(json!({"oneOf": [branch("a"), branch("b")]}));
    let (value, notes) = coerced(json!({"x": {"t": "b", "n": "1", "m": "2"}}), &schema);
    assert_eq!(value, json!({"x": {"t": "b", "n": 1, "m": 2}}));
    assert_eq!(notes, ["/x/n: text to integer", "/x/m: text to integer"]);
}

#[test]
fn a_correction_may_allow_another_one() {
    // Only with a number in `n` does one branch accept the rest.
    let schema = json!({
        "type": "object",
        "oneOf": [
            {"properties": {"n": {"const": 1}, "b": {"type": "boolean"}}},
            {"properties": {"n": {"const": 2}, "b": {"type": "integer"}}},
        ],
        "allOf": [{"anyOf": [{"properties": {"n": {"type": "integer"}}}, {"required": ["other"]}]}],
    });
    let (value, _) = coerced(json!({"n": "1", "b": "true"}), &schema);
    assert_eq!(value, json!({"n": 1, "b": true}));
}

#[test]
fn a_null_that_the_schema_publishes_is_not_reported() {
    let schema = one(json!({"type": "integer", "default": null}));
    let mut value = json!({"x": null});
    let compiled = CompiledSchema::new(&schema).expect("a schema");
    let mut notes = Notes::default();
    assert!(coerce(&mut value, &compiled, Coercions::ALL, &mut notes));
    assert!(!notes.is_empty());
    assert_eq!(value, json!({}));
    assert_eq!(notes.into_lines(), Vec::<String>::new());
}

#[test]
fn a_value_that_is_right_has_no_correction() {
    let schema = one(json!({"type": "integer"}));
    let mut value = json!({"x": 5});
    let compiled = CompiledSchema::new(&schema).expect("a schema");
    let mut notes = Notes::default();
    assert!(!coerce(&mut value, &compiled, Coercions::ALL, &mut notes));
    assert!(notes.is_empty());
}

#[test]
fn an_earlier_correction_is_none_of_this_value() {
    let schema = one(json!({"type": "integer"}));
    let mut value = json!({"x": 5});
    let compiled = CompiledSchema::new(&schema).expect("a schema");
    let mut notes = Notes::default();
    notes.add(&Path::ROOT, "text to object");
    assert!(!coerce(&mut value, &compiled, Coercions::ALL, &mut notes));
    assert_eq!(notes.into_lines(), ["arguments: text to object"]);
}

#[test]
fn twenty_corrections_are_listed_and_more_are_counted() {
    let schema = one(json!({"type": "array", "items": {"type": "integer"}}));
    let lines = |count: usize| coerced(json!({"x": vec!["1"; count]}), &schema).1;
    assert_eq!(lines(20).len(), 20);
    assert_eq!(lines(20)[19], "/x/19: text to integer");
    assert_eq!(lines(23).len(), 20);
    assert_eq!(lines(23)[18], "/x/18: text to integer");
    assert_eq!(lines(23)[19], "and 4 more corrections");
}

#[test]
fn values_beside_each_other_do_not_add_to_the_depth() {
    let schema = one(json!({"type": "array", "items": {"type": "integer"}}));
    let (value, _) = coerced(json!({"x": vec!["1"; 1000]}), &schema);
    assert_eq!(value, json!({"x": vec![1; 1000]}));
}

#[test]
fn a_long_text_in_a_choice_takes_steps_by_its_length() {
    // A copy of the text for a branch takes more than all steps.
    let schema = one(json!({"anyOf": [
        {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}, "required": ["n"]},
        {"type": "null"},
    ]}));
    let with_text = |length: usize| {
        let sent = json!({"x": {"n": "1", "t": "a".repeat(length)}});
        coerced(sent, &schema).1
    };
    assert_eq!(with_text(64_000), ["/x/n: text to integer"]);
    assert_eq!(with_text(6_500_000), Vec::<String>::new());
}

#[test]
fn a_null_that_is_accepted_stays_where_the_steps_end() {
    let nullable = json!({"type": "object", "properties": {"note": {"type": ["string", "null"]}}});
    let schema = one(json!({"type": "array", "items": nullable}));
    // More rows than there are steps.
    let sent = json!({"x": vec![json!({"note": null}); 100_000]});
    let (value, corrections) = coerced(sent.clone(), &schema);
    assert_eq!(corrections, Vec::<String>::new());
    assert_eq!(value, sent);
}
