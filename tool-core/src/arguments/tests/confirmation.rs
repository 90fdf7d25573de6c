//! `on_duplicate = "confirm"`: one parameter more, which the tool never sees. L17
#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::arguments::coerce::Coercions;
use crate::arguments::prepare::prepare;
use crate::call::context::RunContext;
use crate::registry::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use tool_macros::toolset;

struct Shop;

#[toolset(discover = false)]
impl Shop {
    /// Buy something.
    #[tool(on_duplicate = "confirm")]
    fn buy(&self, what: String, #[arg(default = 1)] count: u32) -> String {
        format!("{count} {what}")
    }

    /// Close the shop.
    #[tool(on_duplicate = "confirm")]
    fn close_up(&self) -> &'static str {
        "closed"
    }
}

fn shop() -> ToolContext {
    ToolContext::builder().with(Shop).build().expect("sound")
}

// L17
#[test]
fn the_parameter_stands_behind_the_tools_own() {
    let tools = shop();
    let tool = tools.definitions().next().expect("two");
    let extra = json!({
        "type": ["boolean", "null"],
        "default": null,
        "description": "`true` to run this although another call of the tool is still running",
    });
    assert_eq!(tool.parameters()["properties"]["confirm_duplicate"], extra);
    assert_eq!(tool.parameters()["required"], json!(["what"]));
    assert!(
        tool.parameters_json().contains(r#","confirm_duplicate":{"#)
            && tool.parameters_json().contains(r#"}},"required""#),
        "{}",
        tool.parameters_json()
    );
    assert_eq!(tool.parameter_order(), ["what", "count"]);
}

// L17
#[test]
fn it_is_taken_out_of_the_arguments_and_told_apart() {
    let tools = shop();
    let validator = tools
        .definitions()
        .next()
        .expect("two")
        .compiled
        .validator();
    let prepared = |text: &str| {
        let prepared = prepare(text, None, validator, 1 << 20, Coercions::ALL).expect(text);
        (prepared.text, prepared.confirm_duplicate)
    };
    let without = r#"{"what":"tea"}"#.to_owned();
    assert_eq!(
        prepared(r#"{"what":"tea","confirm_duplicate":true}"#),
        (without.clone(), Some(true))
    );
    assert_eq!(
        prepared(r#"{"\u0063onfirm_duplicate":false,"what":"tea"}"#),
        (without.clone(), Some(false))
    );
    assert_eq!(
        prepared(r#"{"what":"tea","confirm_duplicate":null}"#),
        (without.clone(), None)
    );
    assert_eq!(
        prepared(r#"{"what":"tea","confirm_duplicate":"true"}"#),
        (without.clone(), Some(true))
    );
    assert_eq!(prepared(r#"{"what":"tea"}"#), (without, None));
    let wrong = prepare(
        r#"{"what":"tea","confirm_duplicate":3}"#,
        None,
        validator,
        1 << 20,
        Coercions::ALL,
    );
    assert_eq!(wrong.expect_err("no boolean").len(), 1);
}

// L17
#[tokio::test]
async fn a_bare_call_runs_without_it() {
    let tools = shop();
    let ctx = RunContext::detached();
    let answer = tools
        .call("buy", r#"{"what":"tea","confirm_duplicate":true}"#, &ctx)
        .await;
    assert_eq!(answer.data_json(), Some(r#""1 tea""#), "{answer:?}");
    let answer = tools
        .call("close_up", r#"{"confirm_duplicate":null}"#, &ctx)
        .await;
    assert_eq!(answer.data_json(), Some(r#""closed""#), "{answer:?}");
    assert!(
        !tools
            .call("close_up", r#"{"confirm":true}"#, &ctx)
            .await
            .is_ok()
    );
}

// L17
#[test]
fn a_tool_with_a_parameter_of_that_name_is_not_offered() {
    struct Taken;

    #[toolset(discover = false)]
    impl Taken {
        /// Buy something.
        #[tool(on_duplicate = "confirm")]
        fn buy(&self, confirm_duplicate: bool) -> bool {
            confirm_duplicate
        }
    }

    let errors = ToolContext::builder()
        .with(Taken)
        .build()
        .expect_err("refused");
    assert!(
        errors
            .to_string()
            .contains("`confirm_duplicate` is already used by another parameter"),
        "{errors}"
    );
}

// L17
#[test]
fn a_tool_that_takes_any_name_is_not_offered() {
    struct Open;

    #[toolset(discover = false)]
    impl Open {
        /// Take anything.
        #[tool(on_duplicate = "confirm")]
        fn take(&self, #[arg(flatten)] rest: BTreeMap<String, u32>) -> usize {
            rest.len()
        }
    }

    let errors = ToolContext::builder()
        .with(Open)
        .build()
        .expect_err("refused");
    assert!(
        errors
            .to_string()
            .contains("a flattened parameter takes every name"),
        "{errors}"
    );
}

// L17
#[test]
fn a_tool_with_a_flattened_enum_is_confirmed() {
    #[allow(dead_code, reason = "only its schema is looked at")]
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    enum Payment {
        Cash,
        Card { number: String },
    }

    struct Till;

    #[toolset(discover = false)]
    impl Till {
        /// Pay something.
        #[tool(on_duplicate = "confirm")]
        fn pay(&self, #[arg(flatten)] payment: Payment) -> String {
            format!("{payment:?}")
        }
    }

    let tools = ToolContext::builder().with(Till).build().expect("sound");
    let tool = tools.definitions().next().expect("one");
    assert!(tool.parameters()["properties"]["confirm_duplicate"].is_object());
}

#[tokio::test]
async fn a_tool_of_another_kind_keeps_its_parameter_of_that_name() {
    struct Own;

    #[toolset(discover = false)]
    impl Own {
        /// Buy something.
        #[tool]
        fn buy(&self, confirm_duplicate: bool, #[arg(default = 1)] count: u32) -> String {
            format!("{confirm_duplicate} {count}")
        }
    }

    let tools = ToolContext::builder().with(Own).build().expect("sound");
    let answer = tools
        .call(
            "buy",
            r#"{"confirm_duplicate":"true","count":"2"}"#,
            &RunContext::detached(),
        )
        .await;
    assert_eq!(answer.data_json(), Some(r#""true 2""#));
}
