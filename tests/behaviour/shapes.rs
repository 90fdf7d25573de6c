//! The forms of functions and methods that can be tools.

use crate::support::{data, tools};
use serde_json::json;
use std::borrow::Cow;
use tool_core::{ToolContext, tool, toolset};

/// Add two numbers.
#[tool]
fn add(a: i64, #[arg(default)] b: i64) -> i64 {
    a + b
}

/// Add two numbers, later.
#[tool(name = "add_later")]
async fn add_async(a: i64, b: i64) -> i64 {
    tokio::task::yield_now().await;
    a + b
}

struct Counter(i64);

#[toolset(discover = false)]
impl Counter {
    /// A method.
    #[tool]
    fn method(&self, by: i64) -> i64 {
        self.0 + by
    }

    /// A function without a receiver.
    #[tool]
    fn associated(by: i64) -> i64 {
        by
    }

    /// An async method.
    #[tool]
    async fn async_method(&self) -> i64 {
        self.0
    }

    /// Not a tool.
    fn plain(&self) -> i64 {
        -self.0
    }
}

// D1
#[test]
fn sync_and_async_fns_are_tools() {
    let tools = ToolContext::builder()
        .with(add)
        .with(add_async)
        .build()
        .expect("sound");
    assert_eq!(data(&tools, "add", json!({"a": 1, "b": 2})), json!(3));
    assert_eq!(data(&tools, "add_later", json!({"a": 1, "b": 2})), json!(3));
}

// D1
#[test]
fn unmarked_methods_are_not_tools() {
    let tools = tools(Counter(10));
    assert_eq!(data(&tools, "method", json!({"by": 2})), json!(12));
    assert_eq!(data(&tools, "associated", json!({"by": 2})), json!(2));
    assert_eq!(data(&tools, "async_method", json!({})), json!(10));
    assert!(!tools.has_tool("plain"));
    assert_eq!(Counter(1).plain(), -1);
}

/// Lend everything.
#[tool]
fn lend(
    text: &str,
    some: Option<&str>,
    list: &[u8],
    maybe: Option<&[u8]>,
    number: &u32,
    cow: Cow<'_, str>,
    texts: Vec<&str>,
) -> String {
    format!("{text} {some:?} {list:?} {maybe:?} {number} {cow} {texts:?}")
}

// D2
#[test]
fn borrowed_parameters_are_passed_by_reference() {
    let arguments = json!({
        "text": "a\nb", "some": "c", "list": [1, 2], "maybe": [3], "number": 4, "cow": "é\"", "texts": ["x", "\t"]
    });
    let expected = "a\nb Some(\"c\") [1, 2] Some([3]) 4 é\" [\"x\", \"\\t\"]";
    assert_eq!(data(&tools(lend), "lend", arguments), json!(expected));
}

/// Raw names.
#[tool]
fn r#match(r#type: String, _hidden: Option<u8>) -> String {
    r#type
}

// D9
#[test]
fn raw_identifiers_lose_their_prefix() {
    let tools = tools(r#match);
    assert_eq!(data(&tools, "match", json!({"type": "x"})), json!("x"));
}

struct Conditional;

#[toolset(discover = false)]
impl Conditional {
    /// Always there.
    #[tool]
    fn present(&self) -> bool {
        true
    }

    /// Never there.
    #[cfg(any())]
    #[tool]
    fn absent(&self) -> DoesNotExist {
        true
    }
}

// D9
#[test]
fn cfg_on_a_method_removes_its_tool() {
    let tools = tools(Conditional);
    assert!(tools.has_tool("present") && !tools.has_tool("absent"));
}

macro_rules! shop {
    ($name:ident, $tool:ident, $type:ty, $default:expr, $text:literal) => {
        struct $name;

        #[toolset(discover = false)]
        impl $name {
            #[doc = $text]
            #[tool]
            fn $tool(&self, #[arg(default = $default)] value: $type) -> $type {
                value
            }
        }
    };
}

shop!(Shop, sell, Option<u32>, Some(7), "Sell something.");

// D9
#[test]
fn block_defined_by_a_macro_works() {
    let tools = tools(Shop);
    assert_eq!(data(&tools, "sell", json!({})), json!(7));
    assert_eq!(
        tools
            .definitions()
            .next()
            .map(tool_core::ToolDefinition::description),
        Some("Sell something.")
    );
}

mod renamed {
    pub use ::tool_core as far_away;
    use far_away::{tool, toolset};

    pub struct Far;

    #[toolset(crate = crate::shapes::renamed::far_away, discover = false)]
    impl Far {
        /// Answer.
        #[tool]
        pub fn far(&self, #[serde(skip_serializing, default)] x: u8) -> u8 {
            x
        }
    }

    /// Answer.
    #[tool(crate = crate::shapes::renamed::far_away)]
    pub fn near() -> u8 {
        1
    }
}

// D9
#[test]
fn crate_option_supports_a_renamed_dependency() {
    let tools = ToolContext::builder()
        .with(renamed::Far)
        .with(renamed::near)
        .build()
        .expect("sound");
    assert_eq!(data(&tools, "far", json!({"x": 3})), json!(3));
    assert_eq!(data(&tools, "near", json!({})), json!(1));
}

// L26
#[test]
fn a_tool_without_parameters_has_an_empty_object_schema() {
    let tools = tools(renamed::near);
    let definition = tools.function_tool("near").expect("there").definition();
    assert_eq!(
        definition.parameters(),
        &json!({"type": "object", "properties": {}})
    );
    assert_eq!(
        definition.parameters_json(),
        r#"{"type":"object","properties":{}}"#
    );
}

/// Take many.
#[tool]
#[allow(clippy::too_many_arguments)]
fn many(
    a: u8,
    b: u8,
    c: u8,
    d: u8,
    e: u8,
    f: u8,
    g: u8,
    h: u8,
    i: u8,
    j: u8,
    k: u8,
    l: u8,
    m: u8,
    n: u8,
) -> u32 {
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
        .iter()
        .map(|x| u32::from(*x))
        .sum()
}

// D9
#[test]
fn function_with_14_parameters_is_a_tool() {
    let arguments: serde_json::Map<_, _> = ('a'..='n')
        .map(|name| (name.to_string(), json!(1)))
        .collect();
    assert_eq!(
        data(&tools(many), "many", serde_json::Value::Object(arguments)),
        json!(14)
    );
}
