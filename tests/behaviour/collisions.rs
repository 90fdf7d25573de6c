//! Names that collide.

use serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError, ToolsetExt, toolset};

struct Mail;
struct Chat;

#[toolset(discover = false)]
impl Mail {
    /// Send a mail.
    #[tool]
    fn send(&self) -> u8 {
        1
    }
}

#[toolset(discover = false)]
impl Chat {
    /// Send a message.
    #[tool]
    fn send(&self) -> u8 {
        2
    }
}

struct Prefixed;

#[toolset(name = "google_chat", prefix, discover = false)]
impl Prefixed {
    /// Send a message.
    #[tool]
    fn send(&self) -> u8 {
        3
    }
}

// A6
#[test]
fn prefix_resolves_a_collision_of_two_toolsets() {
    let errors = ToolContext::builder()
        .with(Mail)
        .with(Chat)
        .build()
        .expect_err("both have `send`");
    let text = errors.to_string();
    assert!(text.contains("send") && text.contains("prefix"), "{text}");
    assert_eq!(
        errors.iter().next().map(|error| error.locations.len()),
        Some(2)
    );
    let tools = ToolContext::builder()
        .with(Mail)
        .with(Chat.prefixed("chat"))
        .with(Prefixed)
        .build()
        .expect("resolved");
    assert!(
        ["send", "chat_send", "google_chat_send"]
            .iter()
            .all(|name| tools.has_tool(name))
    );
}

async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

struct Confusable;

#[toolset(discover = false)]
impl Confusable {
    /// Take nothing.
    #[tool(name = "a_b")]
    fn first(&self) -> u8 {
        1
    }
}

struct Confused;

#[toolset(discover = false)]
impl Confused {
    /// Take nothing.
    #[tool(name = "A-b")]
    fn second(&self) -> u8 {
        2
    }
}

// L5, L13, T16
#[test]
fn names_that_a_reader_would_confuse_collide() {
    let errors = ToolContext::builder()
        .with(Confusable)
        .with(Confused)
        .build()
        .expect_err("a collision");
    assert!(
        errors
            .to_string()
            .contains("`a_b` and `A-b` are the same to a provider"),
        "{errors}"
    );
}

// L5, L13: the names of another server are as they are
#[test]
fn raw_names_collide_only_if_they_are_equal() {
    let raw = |name: &str| {
        let parameters = json!({"type": "object"});
        FunctionTool::raw(
            RawTool {
                name: name.into(),
                description: "x".into(),
                parameters,
            },
            nothing,
        )
    };
    let names = ["a_b", "A_B", "a-b", "a.b", "a:b", "a/b", "A-b"];
    let tools = ToolContext::builder()
        .with_all(names.map(raw))
        .build()
        .expect("distinct names");
    assert!(names.iter().all(|name| {
        tools
            .function_tool(name)
            .is_some_and(|tool| tool.name() == *name)
    }));
    let errors = ToolContext::builder()
        .with(raw("a.b"))
        .with(raw("a.b"))
        .build()
        .expect_err("a collision");
    assert!(
        errors.to_string().contains("duplicate function name: a.b"),
        "{errors}"
    );
}

// L5
#[test]
fn name_made_invalid_by_a_prefix_is_an_error() {
    let errors = ToolContext::builder()
        .with(Mail.prefixed(&"x".repeat(64)))
        .build()
        .expect_err("too long");
    assert!(errors.to_string().contains("invalid tool name"), "{errors}");
}

struct Orders;

fn is_large(args: &CancelArgs) -> bool {
    args.count > 9
}

#[toolset(discover = false)]
impl Orders {
    /// Cancel orders.
    #[tool(confirm = is_large, args = CancelArgs)]
    fn cancel(&self, count: u8) -> u8 {
        count
    }

    /// Confirm that orders are cancelled.
    #[tool]
    fn confirm_cancel(&self) -> bool {
        true
    }
}

#[test]
fn a_method_may_be_named_after_a_confirmation() {
    let tools = ToolContext::builder().with(Orders).build().expect("sound");
    assert!(tools.has_tool("cancel") && tools.has_tool("confirm_cancel"));
}

struct Times;

#[toolset(discover = false)]
impl Times {
    /// Read a time.
    #[tool]
    fn get_it(&self, #[serde(deserialize_with = "number")] at: u8) -> u8 {
        at
    }

    /// Read another time.
    #[tool(name = "get_other")]
    #[allow(non_snake_case)]
    fn get__it(&self, #[serde(deserialize_with = "number")] at: u8) -> u8 {
        at
    }
}

fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    serde::Deserialize::deserialize(from)
}

#[test]
fn derived_parameters_of_similar_methods_are_apart() {
    let tools = ToolContext::builder().with(Times).build().expect("sound");
    assert!(tools.has_tool("get_it") && tools.has_tool("get_other"));
}
