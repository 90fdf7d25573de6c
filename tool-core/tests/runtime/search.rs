//! Tool search: what a session with many tools declares, and what the model may call.

use crate::support::{asked, call, kind, message, open, renew, runtime, text, tools};
use serde_json::{Value, json};
use tool_core::session::{History, StateChange, ToolSearch};
use tool_core::testing::ScriptedModel;
use tool_core::{
    ErrorKind, FunctionTool, Mode, Policy, RawTool, RunContext, Session, Tool, ToolContext,
    ToolError, tool,
};

async fn run(_: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(json!(ctx.tool()))
}

fn raw(name: &str, description: &str) -> FunctionTool {
    let parameters = json!({"type": "object"});
    FunctionTool::raw(
        RawTool {
            name: name.into(),
            description: description.into(),
            parameters,
        },
        run,
    )
}

/// Twenty tools, `get_alpha` and `set_alpha` to `get_kilo` and `set_kilo`, whose things have distinct words.
fn many() -> Vec<FunctionTool> {
    let things = [
        "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo",
    ];
    let both = |thing: &&str| {
        let get = raw(&format!("get_{thing}"), &format!("Read the {thing}."));
        [
            get,
            raw(
                &format!("set_{thing}"),
                &format!("Change the {thing}. It is kept."),
            )
            .guide(&format!(
                "# Guide\n\nChange the {thing}.\n\n## Watch Out\n\nIt is kept.\n"
            )),
        ]
    };
    things.iter().flat_map(both).collect()
}

fn context(tools: impl IntoIterator<Item = FunctionTool>) -> ToolContext {
    ToolContext::builder()
        .with_all(tools.into_iter().map(Tool::from))
        .build()
        .expect("sound tools")
}

fn searching(search: ToolSearch) -> Policy {
    Policy::text().search_tools(search)
}

async fn session(search: ToolSearch) -> Session {
    text(context(many()), searching(search)).await
}

fn names(session: &Session) -> Vec<String> {
    session
        .definitions()
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect()
}

async fn find(session: &Session, query: &str) -> String {
    call(session, "search_tools", json!({"query": query}))
        .await
        .data::<String>()
        .expect("a text")
}

// L39
#[tokio::test]
async fn nothing_changes_up_to_the_threshold() {
    let session = session(ToolSearch::over_tools(20)).await;
    assert_eq!(names(&session).len(), 20);
    assert!(session.searchable_definitions().is_empty());
    let response = call(&session, "search_tools", json!({"query": "alpha"})).await;
    assert_eq!(kind(&response), Some(ErrorKind::NotFound));
}

// L39
#[tokio::test]
async fn declares_what_was_found_after_the_rest() {
    let session = session(
        ToolSearch::over_tools(19)
            .always(["get_kilo", "*_alpha"])
            .results(2),
    )
    .await;
    let first = ["get_alpha", "set_alpha", "get_kilo", "search_tools"];
    assert_eq!(names(&session), first);
    assert_eq!(session.searchable_definitions().len(), 17);

    let told = find(&session, "changing golf").await;
    let lines = told.lines().collect::<Vec<_>>();
    assert_eq!(
        lines[..2],
        [
            "You can call these tools from your next step on:",
            "- set_golf: Change the golf."
        ]
    );
    assert_eq!(names(&session)[..4], first);
    assert_eq!(names(&session)[4..], ["set_golf", "get_golf"]);
    find(&session, "bravo").await;
    assert_eq!(
        names(&session)[4..],
        ["set_golf", "get_golf", "get_bravo", "set_bravo"]
    );
}

#[tokio::test]
async fn tokens_are_a_threshold_too() {
    let all = text(context(many()), Policy::text())
        .await
        .context()
        .tool_decl_tokens;
    assert_eq!(
        names(&session(ToolSearch::over_tokens(all)).await).len(),
        20
    );
    let searched = session(ToolSearch::over_tokens(all - 1)).await;
    assert_eq!(names(&searched), ["search_tools"]);
    // The session starts with less.
    assert!(searched.context().tool_decl_tokens < all);
}

#[tokio::test]
async fn a_search_finds_as_many_as_it_is_asked_for() {
    let session = session(ToolSearch::over_tools(0).results(2).keep(4)).await;
    for (arguments, expected) in [
        (json!({"query": "change"}), 2),
        (json!({"query": "change", "limit": 3}), 3),
        (
            json!({"query": "change", "limit": 1_000_000_000_000_u64}),
            4,
        ),
    ] {
        let told = call(&session, "search_tools", arguments)
            .await
            .data::<String>()
            .expect("a text");
        assert_eq!(told.lines().count() - 1, expected, "{told}");
    }
    assert_eq!(names(&session).len(), 5);
}

#[tokio::test]
async fn a_search_without_results_says_so() {
    let session = session(ToolSearch::over_tools(0)).await;
    assert_eq!(
        find(&session, "zulu").await,
        "no tool has these words; search for the same thing by other words"
    );
    assert_eq!(names(&session), ["search_tools"]);
}

// L39
#[tokio::test]
async fn a_tool_that_was_not_found_can_be_called() {
    let session = session(ToolSearch::over_tools(0).keep(2)).await;
    let response = call(&session, "set_india", json!({})).await;
    assert_eq!(response.data_json(), Some(r#""set_india""#));
    assert_eq!(names(&session), ["search_tools", "set_india"]);

    // It stays for the turn, whatever else is found.
    find(&session, "alpha").await;
    find(&session, "bravo").await;
    assert!(names(&session).contains(&"set_india".to_owned()));
    session.next_turn().await;
    find(&session, "charlie").await;
    assert!(!names(&session).contains(&"set_india".to_owned()));
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_search() {
    let session = session(ToolSearch::over_tools(0)).await;
    let response = call(&session, "set_indja", json!({})).await;
    let told = message(&response);
    assert!(
        told.contains("did you mean `set_india`?")
            && told.ends_with("; find others by `search_tools`"),
        "{told}"
    );
}

// R-B1, R-L1
#[tokio::test]
async fn a_search_is_charged_to_the_turn() {
    let policy = searching(ToolSearch::over_tools(0))
        .max_calls(Some(4))
        .repeated_calls(Some(2));
    let session = text(context(many()), policy).await;
    find(&session, "alpha").await;
    let repeated = call(&session, "search_tools", json!({"query": "alpha"})).await;
    assert_eq!(kind(&repeated), Some(ErrorKind::LoopDetected));
    for query in ["bravo", "charlie"] {
        find(&session, query).await;
    }
    call(&session, "get_alpha", json!({})).await;
    let refused = call(&session, "search_tools", json!({"query": "delta"})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert_eq!(
        session
            .metrics()
            .calls
            .iter()
            .filter(|call| call.tool == "search_tools")
            .count(),
        5
    );
}

#[tokio::test]
async fn an_equal_search_declares_again_under_a_result_cache() {
    let policy = searching(ToolSearch::over_tools(0).keep(2))
        .result_cache_ttl(Some(std::time::Duration::from_secs(60)));
    let session = text(context(many()), policy).await;
    for query in ["alpha", "bravo", "alpha"] {
        find(&session, query).await;
    }
    assert_eq!(names(&session), ["search_tools", "get_alpha", "set_alpha"]);
}

// L36
#[tokio::test]
async fn a_hidden_tool_is_not_found() {
    struct IsAdmin;
    let is_admin = |ctx: &RunContext| ctx.user_data::<IsAdmin>().is_some();
    let tools = many().into_iter().map(|tool| {
        if tool.name() == "set_golf" {
            tool.dynamic(is_admin)
        } else {
            tool
        }
    });
    let runtime = runtime(context(tools), searching(ToolSearch::over_tools(0)));
    let admin = runtime
        .session("s-1", Mode::Text)
        .user_data(IsAdmin)
        .await
        .expect("a session");
    let guest = open(&runtime, "s-2", Mode::Text).await;
    assert!(find(&admin, "golf").await.contains("set_golf"));
    assert!(!find(&guest, "golf").await.contains("set_golf"));
    assert_eq!(names(&guest), ["search_tools", "get_golf"]);
    assert_eq!(
        (
            admin.searchable_definitions().len(),
            guest.searchable_definitions().len()
        ),
        (20, 19)
    );
}

// R-B3
#[tokio::test]
async fn each_mode_has_its_own_search() {
    let tools = many().into_iter().map(|tool| {
        let in_voice = tool.name().starts_with("get_");
        tool.modes(if in_voice {
            tool_core::call::Modes::BOTH
        } else {
            tool_core::call::Modes::TEXT
        })
    });
    let runtime = runtime(context(tools), searching(ToolSearch::over_tools(10)));
    let session = open(&runtime, "s-1", Mode::Text).await;
    find(&session, "golf").await;
    assert_eq!(names(&session), ["search_tools", "get_golf", "set_golf"]);
    session.switch_mode(Mode::Voice).await.expect("a store");
    assert_eq!(names(&session).len(), 10);
    assert_eq!(
        kind(&call(&session, "search_tools", json!({"query": "a"})).await),
        Some(ErrorKind::ModeRestricted)
    );
}

#[tokio::test]
async fn no_number_of_searches_declares_all_tools() {
    let tools = (0..1_000).map(|at| {
        raw(
            &format!("tool_{at}"),
            &format!("Word{} and word{}.", at % 100, at % 7),
        )
    });
    let policy = searching(ToolSearch::over_tools(0).results(5).keep(8)).repeated_calls(None);
    let session = text(context(tools), policy).await;
    for at in 0..1_000 {
        find(&session, &format!("word{} tool {at}", at % 100)).await;
        assert!(names(&session).len() <= 9, "{:?}", names(&session));
    }
}

// L39
#[tokio::test]
async fn a_reply_declares_what_its_search_found() {
    let session = session(ToolSearch::over_tools(0)).await;
    let search = asked("search_tools", json!({"query": "set golf", "limit": 1}));
    let mut model = ScriptedModel::new()
        .calls([search])
        .calls([asked("set_golf", json!({}))])
        .says("It is changed.");
    let reply = session
        .reply(&mut model, &mut History::new(), "Change the golf")
        .await;
    assert_eq!(reply.text.as_deref(), Some("It is changed."));
    let declared = model
        .requests()
        .iter()
        .map(|request| request.tools.clone())
        .collect::<Vec<_>>();
    assert_eq!(
        declared,
        [
            vec!["search_tools"],
            vec!["search_tools", "set_golf"],
            vec!["search_tools", "set_golf"]
        ]
    );
    assert!(model.requests()[1].instructions.contains("## set_golf"));
}

#[tokio::test]
async fn another_process_begins_without_found_tools() {
    use tool_core::session::MemoryStore;
    let store = std::sync::Arc::new(MemoryStore::new());
    let process = || {
        let policy = searching(ToolSearch::over_tools(0));
        tool_core::Runtime::builder(context(many()))
            .policy(policy)
            .store(std::sync::Arc::clone(&store))
            .build()
    };
    let (first, second) = (process().expect("a runtime"), process().expect("a runtime"));
    let session = open(&first, "s-1", Mode::Text).await;
    find(&session, "golf").await;
    session
        .change(&[StateChange::Value("room".into(), json!(12))])
        .await
        .expect("a store");

    let joined = open(&second, "s-1", Mode::Text).await;
    assert_eq!(joined.state().values["room"], 12);
    assert_eq!(names(&joined), ["search_tools"]);
    // A call that the model knows from the conversation declares its tool again.
    assert!(call(&joined, "get_golf", json!({})).await.is_ok());
    assert_eq!(names(&joined), ["search_tools", "get_golf"]);
}

#[tokio::test]
async fn a_call_of_a_tool_declares_nothing() {
    /// Read the golf.
    #[tool]
    async fn ask(ctx: &RunContext) -> String {
        ctx.call("get_golf", json!({})).await.into_text()
    }
    let policy = searching(ToolSearch::over_tools(0).always(["ask"]));
    let tools = ToolContext::builder()
        .with(ask)
        .with_all(many().into_iter().map(Tool::from))
        .build()
        .expect("sound");
    let session = text(tools, policy).await;
    assert!(call(&session, "ask", json!({})).await.is_ok());
    assert_eq!(names(&session), ["ask", "search_tools"]);
}

#[tokio::test]
async fn the_name_of_the_search_is_taken() {
    let tools = tools![raw("search_tools", "Mine.")];
    let policy = searching(ToolSearch::over_tools(0));
    let errors = tool_core::Runtime::builder(tools.clone())
        .policy(policy)
        .build()
        .expect_err("a conflict");
    assert!(errors.to_string().contains("search_tools"), "{errors}");
    assert!(tool_core::Runtime::builder(tools).build().is_ok());
}

// L39, R-I4
#[tokio::test]
async fn renewed_session_declares_what_was_found() {
    let runtime = runtime(
        context(many()),
        searching(ToolSearch::over_tools(0).results(1)),
    );
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    find(&earlier, "changing golf").await;
    let others = context(many().into_iter().rev());
    runtime.update_tools(others).expect("sound tools");
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    assert_eq!(names(&renewed), ["search_tools", "set_golf"]);
}
