//! Arguments that nest, and tokens.

use crate::Shape;
use crate::schemas::raw;
use crate::texts::repeat;
use std::collections::BTreeMap;
use std::hint::black_box;
use tool_core::{Mode, RunContext, Runtime, ToolContext, tool, tool_type};

/// Keep labels.
#[tool]
fn labels(
    /// The labels
    #[arg(flatten)]
    all: BTreeMap<String, u32>,
) -> usize {
    all.len()
}

#[tool_type]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<u8>),
    Record { id: u8, name: Option<String> },
}

#[tool_type]
enum Condition {
    Leaf(u8),
    Not(Box<Condition>),
    All(Vec<Condition>),
}

#[tool_type]
struct Tree {
    size: u8,
    children: Vec<Tree>,
}

/// Take an untagged value.
#[tool]
fn untagged(value: Untagged) -> bool {
    matches!(value, Untagged::Number(0) | Untagged::Record { id: 0, .. })
}

/// Take a condition.
#[tool]
fn condition(value: Condition) -> bool {
    matches!(value, Condition::Leaf(_))
}

/// Take a tree.
#[tool]
fn tree(value: Tree) -> usize {
    value.children.len()
}

/// An operation whose operands are operations, without a tag that the evaluator follows.
const OPERATION: &str = r##"{"type":"object","properties":{"value":{"$ref":"#/$defs/e"}},"$defs":{"e":{"oneOf":[
    {"type":"object","required":["op","l","r"],"properties":{"op":{"enum":["+"]},"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}}},
    {"type":"object","required":["op","l","r"],"properties":{"op":{"enum":["*"]},"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}}},
    {"type":"integer"}]}}}"##;

/// Calls a tool with a value that nests.
fn nested(
    what: &str,
    tools: fn() -> ToolContext,
    depth: fn(usize) -> usize,
    [open, inner, close]: [&'static str; 3],
) -> Shape {
    Shape::new(format!("arguments: {what}"), move |parts| {
        let (tools, depth) = (tools(), depth(parts));
        let value = format!(
            "{{\"value\":{}{inner}{}}}",
            open.repeat(depth),
            close.repeat(depth)
        );
        call(tools, value)
    })
}

/// Calls the only tool of a context.
fn call(tools: ToolContext, arguments: String) -> Box<dyn FnOnce()> {
    Box::new(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let name = tools
            .definitions()
            .next()
            .expect("a tool")
            .name()
            .to_owned();
        drop(black_box(runtime.block_on(tools.call(
            &name,
            &*arguments,
            &RunContext::detached(),
        ))));
    })
}

pub(crate) fn shapes() -> Vec<Shape> {
    let untagged_tools = || {
        ToolContext::builder()
            .with(untagged)
            .build()
            .expect("sound tools")
    };
    let condition_tools = || {
        ToolContext::builder()
            .with(condition)
            .build()
            .expect("sound tools")
    };
    let tree_tools = || {
        ToolContext::builder()
            .with(tree)
            .build()
            .expect("sound tools")
    };
    // Twice the parts are at most 128 levels deep.
    let half = |parts| parts / 2;
    let quarter = |parts| parts / 4;
    vec![
        Shape::new("arguments: a flattened map", |parts| {
            let tools = ToolContext::builder()
                .with(labels)
                .build()
                .expect("sound tools");
            call(
                tools,
                format!("{{{}}}", repeat(parts * 16, r#""label_~":~"#, ",")),
            )
        }),
        Shape::new("arguments: wrong items of an untagged list", move |parts| {
            call(
                untagged_tools(),
                format!("{{\"value\":[{}]}}", repeat(parts * 4, "\"x\"", ",")),
            )
        }),
        nested(
            "arrays for an untagged type",
            untagged_tools,
            half,
            ["[", "", "]"],
        ),
        nested(
            "lists of conditions",
            condition_tools,
            quarter,
            ["{\"All\":[", "", "]}"],
        ),
        nested(
            "a wrong condition inside others",
            condition_tools,
            half,
            ["{\"Not\":", "\"5\"", "}"],
        ),
        nested(
            "trees with texts for numbers",
            tree_tools,
            |parts| parts / 4,
            [r#"{"size":"1","children":["#, "", "]}"],
        ),
        // Twice the depth of eight has more choices than steps.
        nested(
            "choices within choices",
            || {
                ToolContext::builder()
                    .with(raw(OPERATION).validate(true))
                    .build()
                    .expect("sound tools")
            },
            |parts| parts / 12,
            [r#"{"op":"+","r":"1","l":"#, "\"x\"", "}"],
        ),
        Shape::new("approvals: tokens, as many as they are long", |parts| {
            let token = "0".repeat(parts * 100);
            Box::new(move || {
                let executor = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .expect("a runtime");
                let _inside = executor.enter();
                let tools = ToolContext::builder().build().expect("no tools");
                let runtime = Runtime::builder(tools).build().expect("a runtime");
                executor.block_on(async {
                    let session = runtime.session("s", Mode::Text).await.expect("a session");
                    for _ in 0..parts {
                        black_box(session.approve(&token).await);
                    }
                });
            })
        }),
    ]
}
