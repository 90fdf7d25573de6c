//! Descriptions, defaults and limits of parameters.

use crate::support::{call, data, failure, tools};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use tool_core::{ErrorKind, ToolContext, tool, toolset};

/// Book a table.
///
/// Only for parties.
///
/// # Arguments
///
/// * `people` - How many come
/// * `name` - Under what name
///
/// # Returns
///
/// The booking's number.
///
/// # Errors
///
/// When it is full.
#[tool]
fn book(
    people: u8,
    name: String,
    /// When
    at: String,
) -> String {
    format!("{people} {name} {at}")
}

// L2, L25
#[test]
fn description_is_the_doc_comment_without_its_lists() {
    let tools = tools(book);
    let definition = tools.function_tool("book").expect("there").definition();
    assert_eq!(
        definition.description(),
        "Book a table.\n\nOnly for parties."
    );
    assert_eq!(definition.returns(), Some("The booking's number."));
    let properties = &definition.parameters()["properties"];
    assert_eq!(properties["people"]["description"], json!("How many come"));
    assert_eq!(properties["at"]["description"], json!("When"));
}

const LONG: &str = "From a constant.";

/// Doc text that loses.
#[tool(description = LONG, name = "explicit", title = "An explicit one")]
fn described(
    /// Loses too.
    #[arg(description = "Wins", name = "given")]
    x: Option<u8>,
) -> Option<u8> {
    x
}

// L25
#[test]
fn explicit_description_overrides_the_docs() {
    let tools = tools(described);
    let definition = tools.function_tool("explicit").expect("there").definition();
    assert_eq!(
        (definition.description(), definition.title()),
        (LONG, Some("An explicit one"))
    );
    assert_eq!(
        definition.parameters()["properties"]["given"]["description"],
        json!("Wins")
    );
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

fn seven() -> u32 {
    7
}

/// Defaults.
#[tool]
fn defaults(
    #[arg(default)] zero: u32,
    #[arg(default = seven())] seven: u32,
    #[arg(default = Color::Green)] color: Color,
    #[arg(default = "text")] owned: String,
    #[arg(default = "lent")] lent: &str,
    #[arg(default = -1.5)] float: f64,
    #[arg(default = vec![1, 2])] list: Vec<u8>,
    #[arg(default = true)] flag: bool,
) -> String {
    format!("{zero} {seven} {color:?} {owned} {lent} {float} {list:?} {flag}")
}

// L25, D5
#[test]
fn defaults_are_published_and_used() {
    let tools = tools(defaults);
    assert_eq!(
        data(&tools, "defaults", json!({})),
        json!("0 7 Green text lent -1.5 [1, 2] true")
    );
    let schema = tools
        .function_tool("defaults")
        .expect("there")
        .definition()
        .parameters();
    let published = schema["properties"].as_object().expect("an object");
    let value = |name: &str| published[name]["default"].clone();
    assert_eq!(
        [
            "zero", "seven", "color", "owned", "lent", "float", "list", "flag"
        ]
        .map(value),
        [
            json!(0),
            json!(7),
            json!("green"),
            json!("text"),
            json!("lent"),
            json!(-1.5),
            json!([1, 2]),
            json!(true)
        ]
    );
    assert!(schema.get("required").is_none());
}

/// Takes arrays and tuples.
#[tool]
fn fixed(
    #[arg(default = [0.5, 1.0, 1.5])] at: [f32; 3],
    #[arg(default = (7, String::from("seven")))] pair: (u8, String),
    keys: Option<Vec<[u8; 2]>>,
) -> String {
    format!("{at:?} {pair:?} {keys:?}")
}

#[test]
fn arrays_and_tuples_are_parameters() {
    let tools = tools(fixed);
    let parameters = tools
        .function_tool("fixed")
        .expect("there")
        .definition()
        .parameters();
    assert_eq!(
        parameters["properties"]["at"]["default"],
        json!([0.5, 1.0, 1.5])
    );
    assert_eq!(
        parameters["properties"]["pair"]["default"],
        json!([7, "seven"])
    );
    assert_eq!(
        data(&tools, "fixed", json!({})),
        json!(r#"[0.5, 1.0, 1.5] (7, "seven") None"#)
    );
    let given = json!({"at": [1, 2, 3], "pair": [1, "one"], "keys": [[1, 2]]});
    assert_eq!(
        data(&tools, "fixed", given),
        json!(r#"[1.0, 2.0, 3.0] (1, "one") Some([[1, 2]])"#)
    );
}

struct Configured {
    minutes: u32,
}

#[toolset(discover = false)]
impl Configured {
    /// Wait.
    #[tool]
    fn wait(&self, #[arg(default = self.minutes, range(5..=480))] minutes: u32) -> u32 {
        minutes
    }
}

// D5
#[test]
fn default_from_self_is_published_for_each_instance() {
    for minutes in [15, 45] {
        let tools = tools(Configured { minutes });
        assert_eq!(data(&tools, "wait", json!({})), json!(minutes));
        let schema = tools
            .function_tool("wait")
            .expect("there")
            .definition()
            .parameters()
            .clone();
        assert_eq!(schema["properties"]["minutes"]["default"], json!(minutes));
    }
}

// D5
#[test]
fn default_from_self_outside_its_limits_fails_at_freeze() {
    let errors = ToolContext::builder()
        .with(Configured { minutes: 3 })
        .build()
        .expect_err("out of range");
    let text = errors.to_string();
    assert!(
        text.contains("`wait`") && text.contains("`minutes`") && text.contains("parameters.rs:"),
        "{text}"
    );
}

/// Limits.
#[tool]
fn limits(
    #[arg(range(5..=480))] closed: Option<u32>,
    #[arg(range(0.0..1.0))] open: Option<f64>,
    #[arg(length(2..=4))] text: Option<String>,
    #[arg(items(1..=2))] list: Option<Vec<String>>,
    #[arg(pattern = "^[a-z]+$")] word: Option<&str>,
    #[arg(one_of("a", "b"))] choice: Option<String>,
    #[arg(one_of(1, 2))] number: Option<i32>,
    #[arg(format = "email")] addresses: Option<Vec<String>>,
) -> bool {
    let _ = (closed, open, text, list, word, choice, number, addresses);
    true
}

// A3
#[test]
fn published_limits_are_enforced() {
    let tools = tools(limits);
    let accepted = [
        json!({"closed": 5}),
        json!({"closed": 480}),
        json!({"open": 0.0}),
        json!({"text": "éé"}),
        json!({"list": ["x", "y"]}),
        json!({"word": "abc"}),
        json!({"choice": "b"}),
        json!({"number": 2}),
        json!({"addresses": ["a@example.com"]}),
    ];
    for arguments in accepted {
        assert!(call(&tools, "limits", &arguments).is_ok(), "{arguments}");
    }
    let refused = [
        (json!({"closed": 4}), "/closed"),
        (json!({"closed": 481}), "/closed"),
        (json!({"open": 1.0}), "/open"),
        (json!({"text": "é"}), "/text"),
        (json!({"text": "abcde"}), "/text"),
        (json!({"list": []}), "/list"),
        (json!({"word": "A"}), "/word"),
        (json!({"choice": "c"}), "/choice"),
        (json!({"number": 3}), "/number"),
        (
            json!({"addresses": ["a@example.com", "nobody"]}),
            "/addresses/1",
        ),
    ];
    for (arguments, pointer) in refused {
        let (kind, message) = failure(&tools, "limits", &arguments);
        assert_eq!(kind, ErrorKind::Validation);
        assert!(message.contains(pointer), "{arguments}: {message}");
    }
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
struct Page {
    /// How many
    limit: u32,
    #[serde(default)]
    offset: u32,
}

/// Search.
#[tool]
fn search(
    query: String,
    #[arg(flatten)] page: Page,
    #[serde(alias = "sort")] order: Option<String>,
) -> String {
    format!("{query} {} {} {order:?}", page.limit, page.offset)
}

// D6
#[test]
fn flattened_parameter_adds_its_properties_to_the_tool() {
    let tools = tools(search);
    let schema = tools
        .function_tool("search")
        .expect("there")
        .definition()
        .parameters()
        .clone();
    assert_eq!(schema["required"], json!(["query", "limit"]));
    assert_eq!(
        data(&tools, "search", json!({"limit": 5, "query": "x"})),
        json!("x 5 0 None")
    );
    let (_, message) = failure(
        &tools,
        "search",
        json!({"limit": 5, "query": "x", "lmit": 1}),
    );
    assert!(message.contains("/lmit"), "{message}");
}

// V6
#[test]
fn alias_is_published_and_refused_beside_the_name() {
    let tools = tools(search);
    assert_eq!(
        data(
            &tools,
            "search",
            json!({"limit": 5, "query": "x", "sort": "up"})
        ),
        json!("x 5 0 Some(\"up\")")
    );
    let both = json!({"limit": 5, "query": "x", "sort": "up", "order": "down"});
    assert_eq!(failure(&tools, "search", both).0, ErrorKind::Validation);
    let schema = tools
        .function_tool("search")
        .expect("there")
        .definition()
        .parameters()
        .clone();
    assert!(schema["properties"]["sort"].is_object());
}

/// Find an entry.
#[tool]
fn find_entry(
    #[arg(default = None)] name: Option<&str>,
    #[arg(default = Option::None)] kind: Option<Cow<'_, str>>,
    #[arg(default = None)] ids: Option<&[u8]>,
) -> bool {
    name.is_none() && kind.is_none() && ids.is_none()
}

#[test]
fn a_borrowed_parameter_may_have_the_default_none() {
    let tools = tools(find_entry);
    assert_eq!(data(&tools, "find_entry", json!({})), json!(true));
}
