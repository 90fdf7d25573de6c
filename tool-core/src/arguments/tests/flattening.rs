//! Flattened parameters beside one another: each takes the entries that its type publishes. D6
#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    dead_code,
    reason = "tools as their authors write them, and types of which only the debug text is looked at"
)]

use crate::arguments::fields::decode_arguments;
use crate::call::context::RunContext;
use crate::registry::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use tool_macros::toolset;

#[derive(Debug, Deserialize, JsonSchema)]
struct Range {
    from: u32,
    to: u32,
}

/// Serde asks for a map to read it.
#[derive(Debug, Deserialize, JsonSchema)]
struct Window {
    #[serde(flatten)]
    range: Range,
    zone: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Sorting {
    #[serde(default)]
    descending: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Page {
    limit: u32,
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Target {
    User(String),
    Group { id: u32 },
}

/// An enum in a variant of another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Outline {
    Round(Round),
    Square { side: u32 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "form")]
enum Round {
    Circle { radius: u32 },
    Ellipse { width: u32, height: u32 },
}

/// Its schema has two choices, each in a part of `allOf`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Drawing {
    #[serde(flatten)]
    shape: Shape,
    #[serde(flatten)]
    owner: Target,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Place {
    Owned(Target),
    Near { distance: u32 },
}

/// Its schema has `oneOf` beside `anyOf`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Placed {
    #[serde(flatten)]
    shape: Shape,
    #[serde(flatten)]
    place: Place,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Numbered {
    serial: u128,
}

struct Search;

#[toolset(discover = false)]
impl Search {
    /// A struct that is read as a map, before another one.
    #[tool(args = WindowedArgs)]
    fn windowed(&self, #[arg(flatten)] window: Window, #[arg(flatten)] sorting: Sorting) -> String {
        let Range { from, to } = window.range;
        format!("{from} {to} {:?} {}", window.zone, sorting.descending)
    }

    /// A map before a struct.
    #[tool]
    fn mapped(
        &self,
        #[arg(flatten)] rest: BTreeMap<String, u32>,
        #[arg(flatten)] sorting: Sorting,
    ) -> String {
        format!("{rest:?} {}", sorting.descending)
    }

    /// A struct that may be absent, beside another one.
    #[tool]
    fn paged(
        &self,
        query: String,
        #[arg(flatten)] page: Option<Page>,
        #[arg(flatten)] sorting: Sorting,
    ) -> String {
        let page = page.map(|page| (page.limit, page.offset));
        format!("{query} {page:?} {}", sorting.descending)
    }

    /// An enum with a tag inside, beside a struct.
    #[tool]
    fn drawn(&self, #[arg(flatten)] shape: Shape, #[arg(flatten)] sorting: Sorting) -> String {
        format!("{shape:?} {}", sorting.descending)
    }

    /// An enum with a tag inside, beside a map.
    #[tool]
    fn drawn_with_more(
        &self,
        #[arg(flatten)] shape: Shape,
        #[arg(flatten)] more: BTreeMap<String, u32>,
    ) -> String {
        format!("{shape:?} {more:?}")
    }

    /// An enum in a variant of another one, beside a map.
    #[tool]
    fn outlined(
        &self,
        #[arg(flatten)] outline: Outline,
        #[arg(flatten)] more: BTreeMap<String, u32>,
    ) -> String {
        format!("{outline:?} {more:?}")
    }

    /// Two enums of one struct, beside a map.
    #[tool]
    fn drawn_for(
        &self,
        #[arg(flatten)] drawing: Drawing,
        #[arg(flatten)] more: BTreeMap<String, u32>,
    ) -> String {
        format!("{:?} {:?} {more:?}", drawing.shape, drawing.owner)
    }

    /// An enum with a tag and one without in one struct, beside a map.
    #[tool]
    fn placed(
        &self,
        #[arg(flatten)] placed: Placed,
        #[arg(flatten)] more: BTreeMap<String, u32>,
    ) -> String {
        format!("{:?} {:?} {more:?}", placed.shape, placed.place)
    }

    /// An enum that refuses unknown names, in a variant of another one.
    #[tool]
    fn found(&self, query: String, #[arg(flatten)] place: Place) -> String {
        format!("{query} {place:?}")
    }

    /// An enum whose tag is the name of its entry.
    #[tool]
    fn aimed(&self, query: String, #[arg(flatten)] target: Target) -> String {
        format!("{query} {target:?}")
    }

    /// A wide integer in a struct.
    #[tool(args = NumberedArgs)]
    fn numbered(&self, #[arg(flatten)] numbered: Numbered) -> String {
        numbered.serial.to_string()
    }
}

fn search() -> ToolContext {
    ToolContext::builder().with(Search).build().expect("sound")
}

#[track_caller]
fn answer(tool: &str, text: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let response = runtime.block_on(search().call(tool, text, &RunContext::detached()));
    let data = response.data_json()?;
    Some(serde_json::from_str(data).expect("a text"))
}

// D6
#[test]
fn a_struct_read_as_a_map_leaves_the_entries_of_others() {
    assert_eq!(
        answer("windowed", r#"{"from":1,"to":2,"descending":true}"#).as_deref(),
        Some("1 2 None true")
    );
    assert_eq!(answer("windowed", r#"{"from":1,"to":2,"more":true}"#), None);
}

// D6
#[test]
fn a_map_takes_the_entries_that_no_other_type_has() {
    assert_eq!(
        answer("mapped", r#"{"a":1,"descending":true,"b":2}"#).as_deref(),
        Some(r#"{"a": 1, "b": 2} true"#)
    );
}

// D6
#[test]
fn an_enum_leaves_the_entries_of_others() {
    assert_eq!(
        answer("drawn", r#"{"kind":"circle","descending":true,"radius":3}"#).as_deref(),
        Some("Circle { radius: 3 } true")
    );
}

// D6
#[test]
fn no_entry_is_lost_between_an_enum_and_a_map() {
    assert_eq!(
        answer(
            "drawn_with_more",
            r#"{"kind":"circle","radius":3,"more":4}"#
        )
        .as_deref(),
        Some(r#"Circle { radius: 3 } {"more": 4}"#)
    );
    let of_another_variant = r#"{"kind":"circle","radius":3,"side":4}"#;
    assert_eq!(answer("drawn_with_more", of_another_variant), None);
}

// D6
#[test]
fn no_entry_is_lost_between_a_nested_enum_and_a_map() {
    assert_eq!(
        answer(
            "outlined",
            r#"{"kind":"Round","form":"Circle","radius":3,"more":4}"#
        )
        .as_deref(),
        Some(r#"Round(Circle { radius: 3 }) {"more": 4}"#)
    );
    let of_another_variant = r#"{"kind":"Round","form":"Circle","radius":3,"width":4}"#;
    assert_eq!(answer("outlined", of_another_variant), None);
}

// D6
#[test]
fn no_entry_is_lost_between_two_enums_and_a_map() {
    assert_eq!(
        answer(
            "drawn_for",
            r#"{"kind":"circle","radius":3,"User":"ann","more":4}"#
        )
        .as_deref(),
        Some(r#"Circle { radius: 3 } User("ann") {"more": 4}"#)
    );
    let of_another_variant = r#"{"kind":"circle","radius":3,"User":"ann","side":4}"#;
    assert_eq!(answer("drawn_for", of_another_variant), None);
}

// D6
#[test]
fn two_enums_beside_a_map_take_the_names_of_each_other() {
    assert_eq!(
        answer(
            "placed",
            r#"{"kind":"circle","radius":3,"distance":5,"more":4}"#
        )
        .as_deref(),
        Some(r#"Circle { radius: 3 } Near { distance: 5 } {"more": 4}"#)
    );
}

// D6
#[test]
fn a_closed_enum_in_a_variant_leaves_the_entries_of_others() {
    assert_eq!(
        answer("found", r#"{"query":"x","User":"ann"}"#).as_deref(),
        Some(r#"x Owned(User("ann"))"#)
    );
}

// D6
#[test]
fn a_flattened_struct_may_be_absent_beside_others() {
    assert_eq!(
        answer("paged", r#"{"query":"x","descending":true}"#).as_deref(),
        Some("x None true")
    );
    assert_eq!(
        answer("paged", r#"{"query":"x","limit":5,"descending":true}"#).as_deref(),
        Some("x Some((5, 0)) true")
    );
    assert_eq!(answer("paged", r#"{"query":"x","offset":5}"#), None);
}

// D6
#[test]
fn a_variant_is_read_by_the_name_of_its_entry() {
    assert_eq!(
        answer("aimed", r#"{"query":"x","User":"ann"}"#).as_deref(),
        Some(r#"x User("ann")"#)
    );
    assert_eq!(
        answer("aimed", r#"{"Group":{"id":7},"query":"x"}"#).as_deref(),
        Some("x Group { id: 7 }")
    );
}

// D6
#[test]
fn two_variants_at_once_are_refused() {
    let both = r#"{"query":"x","User":"ann","Group":{"id":7}}"#;
    assert_eq!(answer("aimed", both), None);
    assert_eq!(answer("aimed", r#"{"query":"x"}"#), None);
}

// L29: the canonical text is accepted again.
#[test]
fn an_absent_struct_gets_no_default_of_its_fields() {
    let tools = search();
    let tool = tools.function_tool("paged").expect("there").definition();
    let rules = tool.compiled.equality();
    let short = r#"{"query":"x"}"#;
    let text = rules.canonical_text(short);
    assert_eq!(text, r#"{"descending":false,"query":"x"}"#);
    assert_eq!(
        rules.hash("paged", short).expect("an object"),
        rules.hash("paged", &text).expect("an object")
    );
    assert_eq!(answer("paged", &text).as_deref(), Some("x None false"));
}

// D4
#[test]
fn a_confirm_function_gets_the_same_arguments() {
    let text = r#"{"from":1,"descending":true,"to":2}"#;
    let args = decode_arguments::<WindowedArgs>(text).expect("sound");
    assert_eq!((args.window.range.from, args.window.range.to), (1, 2));
    assert!(args.sorting.descending);
    assert!(decode_arguments::<WindowedArgs>(r#"{"from":1,"to":2,"more":true}"#).is_err());
}

// D4
#[test]
fn a_confirm_function_gets_every_digit_of_an_integer() {
    let serial = u128::MAX - 1;
    let text = format!(r#"{{"serial":{serial}}}"#);
    let args = decode_arguments::<NumberedArgs>(&text).expect("sound");
    assert_eq!(args.numbered.serial, serial);
    assert_eq!(answer("numbered", &text), Some(serial.to_string()));
    assert!(decode_arguments::<NumberedArgs>(&format!("{text}x")).is_err());
}
