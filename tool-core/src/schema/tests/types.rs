//! Types of all the forms that schemars knows.
#![allow(dead_code, reason = "only their schemas are looked at")]

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Point {
    /// To the right
    pub(crate) x: i32,
    y: i32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    id: u64,
    note: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// How loud
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Hardly heard
    Low,
    /// Over two lines
    /// of documentation
    High,
    Off,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum Inline {
    /// The first
    A,
    /// The second
    B,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Shape {
    Circle { radius: f64 },
    Square { side: f64, color: Option<Color> },
}

/// A variant takes names that no schema lists.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub(crate) enum Filter<T> {
    ById { id: u32 },
    ByLabels(HashMap<String, T>),
}

#[derive(Deserialize, JsonSchema)]
pub(crate) enum External {
    Nothing,
    Text(String),
    Place { lat: f32, lon: f32 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value")]
pub(crate) enum Adjacent {
    Number(i64),
    Flag(bool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Count(u8),
    Flag(bool),
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Tree {
    value: i64,
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Named(String);

/// A struct whose fields have the names of keywords.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Keywords {
    title: String,
    r#type: String,
    #[serde(rename = "$ref")]
    reference: String,
    #[serde(rename = "$schema")]
    schema: u8,
    #[serde(rename = "enum")]
    choice: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Validated {
    #[schemars(length(min = 1), regex(pattern = "^[a-z]+$"))]
    slug: String,
    #[schemars(range(min = 1, max = 10))]
    rank: u8,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Paging {
    /// How many at once
    #[serde(default = "ten")]
    limit: u32,
    cursor: Option<String>,
}

fn ten() -> u32 {
    10
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Window {
    from: String,
    to: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Everything {
    bytes: (i8, u8, i16, u16),
    words: (i32, u32, i64, u64, i128, u128, isize, usize),
    floats: [f32; 2],
    double: f64,
    letter: char,
    unit: (),
    set: BTreeSet<u8>,
    by_name: HashMap<String, Point>,
    by_number: HashMap<u32, bool>,
    by_level: HashMap<Color, u8>,
    any: serde_json::Value,
    address: std::net::IpAddr,
    wait: std::time::Duration,
}

impl std::hash::Hash for Color {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
    }
}

impl PartialEq for Color {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Eq for Color {}
