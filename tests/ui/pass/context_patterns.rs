//! Patterns as context parameters.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use std::sync::Arc;
use tool_core::{FromRunContext, RunContext, ToolContext, ToolError, UserData, tool, toolset};

struct Db {
    guests: Vec<String>,
}

struct Place {
    floor: u8,
    room: u8,
}

impl FromRunContext<'_> for Place {
    fn from_run_context(_: &RunContext) -> Result<Self, ToolError> {
        Ok(Self { floor: 2, room: 7 })
    }
}

/// Count the guests.
#[tool]
fn guests(
    #[context] UserData(db): UserData<Db>,
    #[context] Place { floor, room }: Place,
    extra: usize,
) -> usize {
    let db: Arc<Db> = db;
    db.guests.len() + usize::from(floor) * 10 + usize::from(room) * 100 + extra
}

/// Look nowhere.
#[tool]
async fn nowhere(#[context] _: UserData<Db>, mut ctx: RunContext) -> bool {
    ctx = ctx.clone();
    ctx.user_data::<Db>().is_some()
}

struct Desk;

#[toolset]
impl Desk {
    /// Find a guest.
    #[tool]
    async fn find(&self, name: &str, #[context] UserData(db): UserData<Db>) -> bool {
        std::future::ready(()).await;
        db.guests.iter().any(|guest| guest == name)
    }
}

#[test]
fn context_parameters_are_patterns() {
    let tools = ToolContext::builder()
        .with(guests)
        .with(nowhere)
        .with(Desk)
        .build()
        .expect("three tools");
    let ctx = RunContext::builder()
        .user_data(Db {
            guests: vec!["Ada".into()],
        })
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let data = |tool: &str, arguments: &str| {
        runtime
            .block_on(tools.call(tool, arguments, &ctx))
            .data_json()
            .map(str::to_owned)
    };
    assert_eq!(data("guests", r#"{"extra":1000}"#).as_deref(), Some("1721"));
    assert_eq!(data("nowhere", "{}").as_deref(), Some("true"));
    assert_eq!(data("find", r#"{"name":"Ada"}"#).as_deref(), Some("true"));
    let parameters = tools
        .definitions()
        .map(|tool| tool.parameters_json().to_owned())
        .collect::<String>();
    assert!(
        !parameters.contains("db") && !parameters.contains("floor"),
        "{parameters}"
    );
}
