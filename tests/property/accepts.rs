//! The differential property: acceptance is that of the schema, and what is accepted arrives.

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
use tool_core::{ToolContext, ToolResponse};

/// `PROPTEST_CASES` for each type, or a number that takes seconds.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

/// Numbers for a tape.
pub(crate) fn numbers() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 1..120)
}

// DESIGN section 5: what is published is what is enforced. All tools are tried before any failure is told.
#[test]
fn a_tool_accepts_what_its_schema_accepts() {
    let failures: Vec<String> = tools().cases.iter().filter_map(|case| differs(case).err()).collect();
    assert!(failures.is_empty(), "{} of {} types differ\n{}", failures.len(), tools().cases.len(), failures.join("\n"));
}

/// The smallest difference that is found between a tool and its schema.
fn differs(case: &Case) -> Result<(), String> {
    let attempt = |numbers: Vec<u32>| {
        let tape = Tape::new(&numbers);
        let sent = sent(case, &tape);
        let text = sent.written(&tape);
        compare(case, &sent, &text).map_err(|difference| TestCaseError::fail(format!("{text}\n  {difference}")))
    };
    match TestRunner::new(config(100)).run(&numbers(), attempt) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, _)) => Err(format!("{}: {reason}\n  {}", case.name, schema(case.name))),
        Err(error) => Err(format!("{}: {error}", case.name)),
    }
}

/// Arguments for the tool: right, or with up to three mistakes, or as a text of themselves.
fn sent(case: &Case, tape: &Tape<'_>) -> Json {
    let mut sent = Maker { root: schema(case.name), tape }.arguments();
    for _ in 0..[0, 0, 1, 1, 1, 2, 3][tape.below(7)] {
        mutate(&mut sent, tape);
    }
    if tape.one_in(20) { Json::Text(sent.text()) } else { sent }
}

pub(crate) fn compare(case: &Case, sent: &Json, text: &str) -> Result<(), String> {
    let published = schema(case.name);
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    // L26: what a tool without parameters publishes says nothing of unknown ones, which it refuses all the same.
    let enforced = if case.name == "nothing" { &closed } else { published };

    // With every coercion switched off: the instance as it is, duplicates and what is no object aside.
    let raw = sent.value().filter(|value| value.is_object() && !sent.repeats());
    side(case, &tools().strict, (sent, text), enforced, raw)?;

    // With all of them: the instance that they lead to.
    let better = coercions::arguments(sent).map(|value| coercions::coerced(&value, enforced));
    side(case, &tools().coercing, (sent, text), enforced, better)
}

fn side(
    case: &Case,
    tools: &ToolContext,
    (sent, text): (&Json, &str),
    schema: &Value,
    value: Option<Value>,
) -> Result<(), String> {
    let response = call(tools, case.name, text);
    let takes = accepted(&response)?;
    let Some(value) = value else {
        return if takes { Err("took what is no object of its own".to_owned()) } else { Ok(()) };
    };
    let should = oracle::accepts(schema, schema, &value);
    if takes != should {
        if should && (exceptions::may_refuse(case.name, &value) || exceptions::rounds(sent)) {
            return Ok(());
        }
        let said = response.error().map_or("taken", |error| &error.message);
        return Err(format!("the schema says {should} of {value}, the tool says {takes}: {said}"));
    }
    if takes { arrived(case, &response, schema, value) } else { Ok(()) }
}

/// Whether the tool got what was sent.
fn arrived(case: &Case, response: &ToolResponse, schema: &Value, mut value: Value) -> Result<(), String> {
    let mut got: Value = response.data()?;
    (case.loosen)(&mut value);
    (case.loosen)(&mut got);
    if same(&value, &got, &Known::of(schema)) { Ok(()) } else { Err(format!("sent {value}, got {got}")) }
}
