//! Which tools are proven to read what they publish, so that a call needs no validator.
#![allow(
    unused_variables,
    clippy::many_single_char_names,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unused_self,
    reason = "methods of which only the signatures matter"
)]

use crate::registry::ToolContext;
use crate::schema::tests::types::{
    Closed, Color, Keywords, Level, Named, Paging, Point, Tree, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use tool_macros::toolset;

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Aliased {
    #[serde(alias = "why")]
    x: i32,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Strange {
    inner: Option<Box<Strange>>,
    #[serde(deserialize_with = "strange")]
    next: Option<Box<Strange>>,
}

fn strange<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<Strange>>, D::Error> {
    BTreeMap::<String, Value>::deserialize(from).map(|_| None)
}

/// Accepts fewer texts than its schema.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Narrow;

impl TryFrom<String> for Narrow {
    type Error = &'static str;

    fn try_from(_: String) -> Result<Self, &'static str> {
        Err("no text is good enough")
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Panics;

impl TryFrom<String> for Panics {
    type Error = &'static str;

    fn try_from(_: String) -> Result<Self, &'static str> {
        panic!("a text was not expected")
    }
}

static RUNS: AtomicU32 = AtomicU32::new(0);

struct Tools;

#[toolset(discover = false)]
impl Tools {
    /// Scalars.
    #[tool]
    fn scalars(
        &self,
        a: i8,
        b: u16,
        c: isize,
        d: u128,
        e: f32,
        f: f64,
        g: bool,
        h: String,
        i: Option<&str>,
    ) {
        RUNS.fetch_add(1, Ordering::Relaxed);
    }

    /// Collections.
    #[tool]
    fn collections(
        &self,
        a: Vec<Option<u8>>,
        b: HashMap<String, Point>,
        c: (u8, String),
        d: &[Level],
        e: Value,
    ) {
    }

    /// Structs.
    #[tool]
    fn structs(
        &self,
        a: Point,
        b: Option<Closed>,
        c: Paging,
        d: Named,
        e: Keywords,
        f: Tree,
        g: Option<Color>,
    ) {
    }

    /// Limits, which no text of a probe satisfies.
    #[tool]
    fn limits(
        &self,
        #[arg(range(200..))] a: u8,
        #[arg(pattern = "^(?=x)x$")] b: String,
        #[arg(one_of("q"))] c: &str,
    ) {
    }

    /// A flattened type and one with a further name.
    #[tool]
    fn flattened(&self, #[serde(alias = "b")] a: u8, #[arg(flatten)] window: Window) {}

    /// Nothing.
    #[tool]
    fn nothing(&self) {}

    /// An alias.
    #[tool]
    fn aliased(&self, a: Vec<Aliased>) {}

    /// A function inside of a recursive type.
    #[tool]
    fn recursive(&self, a: Strange) {}

    /// A narrow type.
    #[tool]
    fn narrow(&self, a: u8, b: Narrow) {}

    /// A type that panics.
    #[tool]
    fn panics(&self, a: Panics) {}
}

#[test]
fn tools_of_derived_types_need_no_validator() {
    let tools = ToolContext::builder().with(Tools).build().expect("sound");
    let proven = tools
        .definitions()
        .filter(|tool| !tool.compiled.schema.needs_validator);
    let proven = proven
        .map(|tool| tool.name().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(
        proven,
        [
            "scalars",
            "collections",
            "structs",
            "limits",
            "flattened",
            "nothing"
        ]
    );
    assert_eq!(RUNS.load(Ordering::Relaxed), 0, "no method runs");
}
