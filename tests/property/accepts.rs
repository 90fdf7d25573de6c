//! The differential property: tools accept what the schema accepts, and receive it unchanged.

use crate::coercions;
use crate::driver::{accepted, call, schema, tools};
use crate::exceptions;
use crate::generate::Maker;
use crate::json::Json;
use crate::mutate::mutate;
use crate::oracle;
use crate::same::{Known, same};
use crate::tape::Tape;
use crate::types::Case;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use serde_json::{Value, json};
use std::cell::Cell;
use tool_core::{ToolContext, ToolResponse};

/// Returns `PROPTEST_CASES` for each type, or a number that takes seconds.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Generates the numbers of a tape.
pub(crate) fn numbers() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 1..120)
}

// V1: all tools are tried before a failure is reported
#[test]
fn a_tool_accepts_what_its_schema_accepts() {
    let taken = Cell::new(0);
    let failures: Vec<String> = tools()
        .cases
        .iter()
        .filter_map(|case| differs(case, &taken).err())
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} types differ\n{}",
        failures.len(),
        tools().cases.len(),
        failures.join("\n")
    );
    let cases = tools().cases.len();
    assert!(
        taken.get() > 10 * cases,
        "only {} texts were accepted by {cases} types",
        taken.get()
    );
}

/// Returns the smallest difference between a tool and its schema.
fn differs(case: &Case, taken: &Cell<usize>) -> Result<(), String> {
    let attempt = |numbers: Vec<u32>| {
        let tape = Tape::new(&numbers);
        let sent = sent(case, &tape);
        let text = sent.written(&tape);
        let compared = compare(case, &sent, &text);
        taken.set(taken.get() + usize::from(compared == Ok(true)));
        compared
            .map(drop)
            .map_err(|difference| TestCaseError::fail(format!("{text}\n  {difference}")))
    };
    match TestRunner::new(config(100)).run(&numbers(), attempt) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, _)) => {
            Err(format!("{}: {reason}\n  {}", case.name, schema(case.name)))
        }
        Err(error) => Err(format!("{}: {error}", case.name)),
    }
}

/// Generates arguments: valid, with up to three mistakes, or encoded as a text.
fn sent(case: &Case, tape: &Tape<'_>) -> Json {
    let mut sent = Maker {
        root: schema(case.name),
        tape,
    }
    .arguments();
    for _ in 0..[0, 0, 1, 1, 1, 2, 3][tape.below(7)] {
        mutate(&mut sent, tape);
    }
    if tape.one_in(20) {
        Json::Text(sent.text())
    } else {
        sent
    }
}

/// Returns true if the tool accepts the text with its coercions.
pub(crate) fn compare(case: &Case, sent: &Json, text: &str) -> Result<bool, String> {
    let published = schema(case.name);
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    // L26: a tool without parameters publishes an open object. It ignores members with coercions, and refuses them without.
    let enforced = if case.name == "nothing" {
        &closed
    } else {
        published
    };

    // With every coercion disabled the instance counts as it is, except for duplicates and values that are not objects.
    let raw = sent
        .value()
        .filter(|value| value.is_object() && !sent.repeats());
    side(case, &tools().strict, (sent, text), enforced, raw)?;

    // With all coercions the coerced instance counts.
    let ignored = |value: Value| {
        if case.name == "nothing" && value.is_object() {
            json!({})
        } else {
            value
        }
    };
    let better =
        coercions::arguments(sent).map(|value| ignored(coercions::coerced(&value, enforced)));
    side(case, &tools().coercing, (sent, text), enforced, better)
}

fn side(
    case: &Case,
    tools: &ToolContext,
    (sent, text): (&Json, &str),
    schema: &Value,
    value: Option<Value>,
) -> Result<bool, String> {
    let response = call(tools, case.name, text);
    let takes = accepted(&response)?;
    let Some(value) = value else {
        return if takes {
            Err("accepted a value that is no object".to_owned())
        } else {
            Ok(false)
        };
    };
    let should = oracle::accepts(schema, schema, &value);
    if takes != should {
        if should && (exceptions::may_refuse(case.name, &value) || exceptions::rounds(sent)) {
            return Ok(false);
        }
        let said = response.error().map_or("taken", |error| &error.message);
        return Err(format!(
            "the schema says {should} of {value}, the tool says {takes}: {said}"
        ));
    }
    if takes {
        arrived(case, &response, schema, value).map(|()| true)
    } else {
        Ok(false)
    }
}

/// Returns whether the tool received the instance.
fn arrived(
    case: &Case,
    response: &ToolResponse,
    schema: &Value,
    mut value: Value,
) -> Result<(), String> {
    let mut got: Value = response.data().map_err(|error| error.to_string())?;
    (case.loosen)(&mut value);
    (case.loosen)(&mut got);
    if same(&value, &got, &Known::of(schema)) {
        Ok(())
    } else {
        Err(format!("sent {value}, got {got}"))
    }
}
