//! Options of `#[tool]` and `#[toolset]` are stored in the definition. The tests of the macros and of core go through the
//! tables of options; here the two meet.

use crate::support::tools;
use std::time::Duration;
use tool_core::call::Modes;
use tool_core::tool::{Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use tool_core::{Category, Mode, ToolContext, tool, toolset};

/// Everything.
#[tool(
    name = "everything",
    title = "Every option",
    category = "action",
    modes("voice"),
    confirm,
    ask_each_time,
    timeout = "800ms",
    idempotent,
    destructive,
    open_world,
    ignore_on_enter,
    cancellable,
    on_duplicate = "replace",
    duplicate_scope = "name_and_args",
    sequential,
    blocking,
    max_output = 1500,
    max_calls = 3,
    retries = 2
)]
fn everything() -> u8 {
    1
}

/// Nothing but a description.
#[tool]
fn bare() -> u8 {
    1
}

// D3, L2
#[test]
fn options_of_every_kind_are_stored_in_the_definition() {
    let tools = tools(everything);
    let tool = tools
        .function_tool("everything")
        .expect("there")
        .definition();
    assert_eq!(
        (tool.title(), tool.category()),
        (Some("Every option"), Category::Action)
    );
    assert_eq!(
        (tool.modes(), tool.timeout()),
        (Modes::VOICE, Some(Duration::from_millis(800)))
    );
    assert_eq!(
        (tool.on_duplicate(), tool.duplicate_scope()),
        (OnDuplicate::Replace, DuplicateScope::NameAndArgs)
    );
    assert_eq!((tool.max_output(), tool.max_calls()), (Some(1500), Some(3)));
    assert_eq!(tool.retries(), Some(2));
    assert!(matches!(tool.confirm(), Confirm::Always));
    let all = ToolAnnotations {
        idempotent: true,
        destructive: Some(true),
        open_world: Some(true),
        ignore_on_enter: true,
        cancellable: true,
        sequential: true,
        blocking: true,
        ask_each_time: true,
    };
    assert_eq!(tool.flags(), all);
}

// D3, L2
#[test]
fn tool_without_options_has_the_documented_defaults() {
    let tools = tools(bare);
    let tool = tools.function_tool("bare").expect("there").definition();
    assert_eq!(
        (tool.category(), tool.modes(), tool.flags()),
        (Category::Utility, Modes::BOTH, ToolAnnotations::default())
    );
    assert_eq!(
        (tool.on_duplicate(), tool.duplicate_scope()),
        (OnDuplicate::Allow, DuplicateScope::Name)
    );
    assert!(matches!(tool.confirm(), Confirm::Never));
    assert_eq!(
        (tool.timeout(), tool.max_output(), tool.max_calls()),
        (None, None, None)
    );
    assert_eq!(tool.retries(), None);
    assert_eq!(
        tool.modes().iter().collect::<Vec<_>>(),
        [Mode::Voice, Mode::Text]
    );
}

struct Bank;

#[toolset(discover = false)]
impl Bank {
    /// Send money.
    #[tool(category = "action", confirm = |args| args.amount > 100, args = TransferArgs)]
    pub fn transfer(&self, to: &str, amount: u32) -> String {
        format!("{amount} to {to}")
    }

    /// Look.
    #[tool(category = "retrieval", modes("text"), timeout = "5s")]
    async fn balance(&self) -> u32 {
        7
    }
}

// D4
#[test]
fn confirm_function_receives_the_arguments() {
    let tools = tools(Bank);
    let Confirm::When(asks) = tools
        .function_tool("transfer")
        .expect("there")
        .definition()
        .confirm()
    else {
        panic!("not decided by a fn");
    };
    assert!(asks(r#"{"to":"me","amount":101}"#).is_needed());
    assert!(!asks(r#"{"to":"me","amount":100}"#).is_needed());
    assert!(
        asks("not even JSON").is_needed(),
        "what cannot be read has to be asked about"
    );
}

// D4
#[test]
fn named_argument_struct_can_be_decoded_alone() {
    let args: TransferArgs<'_> =
        serde_json::from_str(r#"{"to":"me","amount":3}"#).expect("decodes");
    assert_eq!((&*args.to, args.amount), ("me", 3));
    let error = serde_json::from_str::<TransferArgs<'_>>(r#"{"to":"me","amount":3,"x":1}"#)
        .err()
        .expect("unknown");
    assert!(
        error.to_string().contains("unknown parameter `x`"),
        "{error}"
    );
}

// D3
#[test]
fn retrieval_tool_is_idempotent() {
    let tools = tools(Bank);
    let tool = tools.function_tool("balance").expect("there").definition();
    assert!(tool.flags().idempotent);
    assert_eq!(
        (tool.modes(), tool.timeout()),
        (Modes::TEXT, Some(Duration::from_secs(5)))
    );
}

struct Named;

/// Docs that lose.
#[toolset(name = "n", description = "Given.", prefix = "p", discover = false)]
impl Named {
    /// Do.
    #[tool]
    fn act(&self) -> u8 {
        1
    }
}

// D12, L1
#[test]
fn toolset_has_the_given_id_description_and_prefix() {
    let tools = ToolContext::builder().with(Named).build().expect("sound");
    let toolset = &tools.toolsets()[0];
    assert_eq!((toolset.id(), toolset.description()), ("n", "Given."));
    assert!(tools.has_tool("p_act"));
}
