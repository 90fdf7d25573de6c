//! Tools with several parameters, with none, with flattened and with renamed ones.

#![allow(clippy::needless_pass_by_value)] // a tool owns its parameters

use super::enums::{Internal, Level};
use super::structs::{Closed, Point};
use super::{Echo, echo, listed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::{Timestamp, tool, toolset};

/// Takes nothing.
#[tool]
fn nothing() -> Echo {
    echo(json!({}))
}

/// Takes one of each.
#[tool]
#[allow(clippy::too_many_arguments, clippy::many_single_char_names)]
fn many(
    a: u8,
    b: String,
    c: bool,
    d: Vec<i16>,
    e: Option<f64>,
    f: Level,
    g: Point,
    #[arg(default = 3, range(1..=5))] h: u32,
    #[arg(length(1..=3))] i: Option<&str>,
) -> Echo {
    echo(json!({"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g, "h": h, "i": i}))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Paging {
    page: u32,
    size: Option<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sorting {
    #[serde(default)]
    descending: bool,
    by: Option<String>,
}

/// Takes two structs as if their fields were its own.
#[tool]
fn flattened_two(
    query: String,
    #[arg(flatten)] paging: Paging,
    #[arg(flatten)] sorting: Sorting,
) -> Echo {
    echo(
        json!({"query": query, "page": paging.page, "size": paging.size, "descending": sorting.descending,
        "by": sorting.by}),
    )
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Window {
    #[serde(alias = "begin")]
    start: u32,
    end: u32,
}

/// Takes a struct whose fields have further names.
#[tool]
fn flattened_names(query: String, #[arg(flatten)] window: Window) -> Echo {
    echo(json!({"query": query, "start": window.start, "end": window.end}))
}

/// Takes a struct that may be left out as a whole.
#[tool]
fn flattened_option(query: String, #[arg(flatten)] paging: Option<Paging>) -> Echo {
    echo(
        json!({"query": query, "page": paging.as_ref().map(|paging| paging.page),
        "size": paging.and_then(|paging| paging.size)}),
    )
}

/// Takes an enum as if its fields were its own.
#[tool]
fn flattened_enum(query: String, #[arg(flatten)] which: Internal) -> Echo {
    let mut all = json!({"query": query});
    if let (Value::Object(all), Ok(Value::Object(more))) = (&mut all, serde_json::to_value(which)) {
        all.extend(more);
    }
    echo(all)
}

/// Takes a closed struct as if its fields were its own.
#[tool]
fn flattened_shut(query: String, #[arg(flatten)] inner: Closed) -> Echo {
    let mut all = json!({"query": query});
    if let (Value::Object(all), Ok(Value::Object(more))) = (&mut all, serde_json::to_value(inner)) {
        all.extend(more);
    }
    echo(all)
}

/// Takes whatever else there is.
#[tool]
fn flattened_map(
    query: String,
    #[arg(flatten)] rest: std::collections::BTreeMap<String, u8>,
) -> Echo {
    let mut all = serde_json::to_value(rest).unwrap_or_default();
    all["query"] = query.into();
    echo(all)
}

/// Takes parameters by several names.
#[tool]
fn many_names(
    #[serde(alias = "town", alias = "place")] city: String,
    #[serde(rename = "maxDays", alias = "days")] max_days: Option<u8>,
    #[serde(default)] detailed: bool,
) -> Echo {
    echo(json!({"city": city, "maxDays": max_days, "detailed": detailed}))
}

fn one_name(value: &mut Value) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    for (alias, name) in [("town", "city"), ("place", "city"), ("days", "maxDays")] {
        if let Some(value) = map.remove(alias) {
            map.insert(name.to_owned(), value);
        }
    }
}

/// Takes a parameter with its own `Deserialize`.
#[tool]
fn derived(#[schemars(range(min = 2, max = 4))] count: u8, name: String) -> Echo {
    echo(json!({"count": count, "name": name}))
}

/// Normalises an instant.
fn start(value: &mut Value) {
    let spelled = value.get_mut("start_time");
    if let Some(Value::String(text)) = spelled
        && let Ok(instant) = text.parse::<Timestamp>()
    {
        *text = instant.to_string();
    }
}

struct Calendar {
    minutes: u32,
}

/// Methods with state.
#[toolset(discover = false)]
impl Calendar {
    /// The tool of rule L34.
    #[tool]
    #[allow(clippy::unused_async)] // an async tool is part of the test
    async fn create_event(
        &self,
        title: String,
        start_time: Timestamp,
        #[arg(default = self.minutes, range(5..=480))] duration_minutes: u32,
        attendees: Option<Vec<String>>,
        description: Option<&str>,
    ) -> Echo {
        echo(
            json!({"title": title, "start_time": start_time, "duration_minutes": duration_minutes,
            "attendees": attendees, "description": description}),
        )
    }
}

mod listing {
    use super::{
        derived, flattened_enum, flattened_map, flattened_names, flattened_option, flattened_shut,
        flattened_two, listed, many, many_names, nothing, one_name,
    };

    listed! {
        nothing;
        many;
        flattened_two;
        flattened_names;
        flattened_option;
        flattened_enum;
        flattened_shut;
        flattened_map;
        many_names, one_name;
        derived;
    }
}

pub(crate) fn cases() -> Vec<super::Case> {
    let mut all = listing::cases();
    all.push(super::Case {
        name: "create_event",
        loosen: start,
    });
    all
}

pub(crate) fn tools(
    tools: tool_core::registry::ToolContextBuilder,
) -> tool_core::registry::ToolContextBuilder {
    listing::tools(tools).with(Calendar { minutes: 30 })
}
