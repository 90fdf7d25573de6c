//! Hooks before, after and around calls.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::support::{call, kind, message, tools};
use crate::support_b::{Log, answer, begin, ms};
use serde_json::json;
use std::time::Duration;
use tool_core::call::{Answer, HostHandlers, Question};
use tool_core::session::{Hook, HookFuture, HookedCall, HookedRequest, Next};
use tool_core::tool::{Prompt, PromptArgument, PromptDefinition, PromptMessage, TextArguments};
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolContext, ToolError, ToolResponse,
    toolset,
};

#[derive(Clone, Default)]
struct Post {
    log: Log,
}

#[toolset(discover = false)]
impl Post {
    /// Send something.
    #[tool(category = "action")]
    fn send(&self, what: String) -> String {
        self.log.add(format!("sends {what}"));
        what
    }

    /// Send something for a second, and only the newest.
    #[tool(on_duplicate = "replace", cancellable)]
    async fn swap(&self, what: String) -> String {
        ms(1_000).await;
        what
    }

    /// Delete everything.
    #[tool(category = "action", confirm)]
    fn wipe(&self) {}

    /// Speak only.
    #[tool(modes("voice"))]
    fn speak(&self) {}
}

/// The place at which a hook panics.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Before,
    After,
    Around,
    Inside,
}

/// A hook that records its calls, refuses arguments with its word, and panics at its place.
struct Watch {
    name: &'static str,
    log: Log,
    refuses: Option<&'static str>,
    panics: Option<At>,
    waits: u64,
}

impl Hook for Watch {
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        assert!(self.panics != Some(At::Before), "before, on purpose");
        Box::pin(async move {
            self.log.add(format!("{} before", self.name));
            ms(self.waits).await;
            match self.refuses {
                Some(word) if call.arguments.contains(word) => Err(ToolError::auth("not that")),
                _ => Ok(()),
            }
        })
    }

    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        assert!(self.panics != Some(At::After), "after, on purpose");
        Box::pin(async move {
            let said = response
                .error()
                .map_or_else(|| "ok".to_owned(), |error| error.kind.to_string());
            self.log
                .add(format!("{} after {}: {said}", self.name, call.tool.name()));
        })
    }

    fn around<'a>(&'a self, _: &'a HookedCall<'a>, next: Next<'a>) -> HookFuture<'a, ToolResponse> {
        assert!(self.panics != Some(At::Around), "around, on purpose");
        Box::pin(async move {
            self.log.add(format!("{} goes in", self.name));
            let response = next.run().await;
            assert!(
                self.panics != Some(At::Inside),
                "behind the tool, on purpose"
            );
            self.log.add(format!("{} comes out", self.name));
            response
        })
    }
}

/// A hook that replaces every response.
struct Censor;

impl Hook for Censor {
    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        Box::pin(async move {
            assert_eq!(
                (call.session, call.principal, call.mode, call.turn),
                ("s-1", "user:7", Mode::Text, 0)
            );
            let text = r#"{"ok":true,"data":"***","meta":{"tool":"send","callId":"c1"}}"#;
            *response = serde_json::from_str(text).expect("an envelope");
        })
    }
}

/// A hook that answers instead of the tool.
struct Instead;

impl Hook for Instead {
    fn around<'a>(&'a self, _: &'a HookedCall<'a>, _: Next<'a>) -> HookFuture<'a, ToolResponse> {
        let text = r#"{"ok":true,"data":"cached","meta":{"tool":"send","callId":null}}"#;
        Box::pin(async move { serde_json::from_str(text).expect("an envelope") })
    }
}

fn watch(name: &'static str, log: &Log) -> Watch {
    Watch {
        name,
        log: log.clone(),
        refuses: None,
        panics: None,
        waits: 0,
    }
}

async fn post(policy: Policy, hooks: impl FnOnce(&Log) -> Vec<Watch>) -> (Session, Log) {
    let post = Post::default();
    let mut builder = Runtime::builder(tools![post.clone()]).policy(policy);
    for hook in hooks(&post.log) {
        builder = builder.hook(hook);
    }
    let runtime = builder.build().expect("a runtime");
    (
        runtime.session("s-1", Mode::Text).await.expect("a session"),
        post.log,
    )
}

async fn panicking(at: At) -> (ToolResponse, Vec<String>) {
    let hooks = |log: &Log| {
        vec![Watch {
            panics: Some(at),
            ..watch("one", log)
        }]
    };
    let (session, log) = post(Policy::text(), hooks).await;
    (
        call(&session, "send", json!({"what": "a"})).await,
        log.all(),
    )
}

#[tokio::test(start_paused = true)]
async fn hooks_run_in_order_and_nest() {
    let (session, log) = post(Policy::text(), |log| {
        vec![watch("one", log), watch("two", log)]
    })
    .await;
    assert!(call(&session, "send", json!({"what": "a"})).await.is_ok());
    let order = [
        "one before",
        "two before",
        "one goes in",
        "two goes in",
        "sends a",
        "two comes out",
        "one comes out",
        "one after send: ok",
        "two after send: ok",
    ];
    assert_eq!(log.all(), order);
}

#[tokio::test(start_paused = true)]
async fn call_refused_by_a_hook_does_not_run() {
    let (session, log) = post(Policy::text(), |log| {
        vec![Watch {
            refuses: Some("bomb"),
            ..watch("one", log)
        }]
    })
    .await;
    let refused = call(&session, "send", json!({"what": "bomb"})).await;
    assert_eq!(
        (kind(&refused), message(&refused)),
        (Some(ErrorKind::Auth), "not that")
    );
    assert_eq!(log.all(), ["one before", "one after send: AUTH"]);
}

// R-B2
#[tokio::test(start_paused = true)]
async fn refused_call_returns_its_budget() {
    let hooks = |log: &Log| {
        vec![Watch {
            refuses: Some("bomb"),
            ..watch("one", log)
        }]
    };
    let (session, _log) = post(Policy::text().max_calls(Some(1)), hooks).await;
    call(&session, "send", json!({"what": "bomb"})).await;
    assert!(call(&session, "send", json!({"what": "a"})).await.is_ok());
    assert_eq!(
        kind(&call(&session, "send", json!({"what": "b"})).await),
        Some(ErrorKind::BudgetExceeded)
    );
}

// L17
#[tokio::test(start_paused = true)]
async fn call_refused_by_a_hook_replaces_nothing() {
    let (session, _log) = post(Policy::text(), |log| {
        vec![Watch {
            refuses: Some("bomb"),
            ..watch("one", log)
        }]
    })
    .await;
    let running = begin(&session, "c1", "swap", r#"{"what":"a"}"#).await;
    assert_eq!(
        kind(&call(&session, "swap", json!({"what": "bomb"})).await),
        Some(ErrorKind::Auth)
    );
    let newer = begin(&session, "c2", "swap", r#"{"what":"b"}"#).await;
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
    assert!(answer(newer).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn after_hook_can_change_the_response() {
    let runtime = Runtime::builder(tools![Post::default()])
        .hook(Censor)
        .build()
        .expect("a runtime");
    let session = runtime
        .session("s-1", Mode::Text)
        .principal("user:7")
        .await
        .expect("a session");
    assert_eq!(
        call(&session, "send", json!({"what": "a"}))
            .await
            .data_json(),
        Some(r#""***""#)
    );
}

#[tokio::test(start_paused = true)]
async fn around_hook_gives_the_response() {
    let post = Post::default();
    let runtime = Runtime::builder(tools![post.clone()])
        .hook(Instead)
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    assert_eq!(
        call(&session, "send", json!({"what": "a"}))
            .await
            .data_json(),
        Some(r#""cached""#)
    );
    assert!(post.log.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn after_hooks_see_refusals() {
    let (session, log) = post(Policy::text().max_calls(Some(0)), |log| {
        vec![watch("one", log)]
    })
    .await;
    call(&session, "send", json!({"what": "a"})).await;
    call(&session, "send", json!([])).await;
    call(&session, "speak", json!({})).await;
    let seen = [
        "one after send: BUDGET_EXCEEDED",
        "one after send: VALIDATION",
        "one after speak: MODE_RESTRICTED",
    ];
    assert_eq!(log.all(), seen);
}

#[tokio::test(start_paused = true)]
async fn after_hooks_see_calls_that_a_person_denies() {
    let (session, log) = post(Policy::text(), |log| vec![watch("one", log)]).await;
    let response = call(&session, "wipe", json!({})).await;
    session
        .deny(&response.meta().confirmation().expect("it waits").token)
        .await;
    assert_eq!(
        log.all(),
        [
            "one after wipe: CONFIRMATION_REQUIRED",
            "one after wipe: DENIED"
        ]
    );
}

// R-E3
#[tokio::test(start_paused = true)]
async fn panicking_before_hook_stops_the_call() {
    let (response, log) = panicking(At::Before).await;
    assert_eq!(kind(&response), Some(ErrorKind::Internal));
    assert!(!response.error().expect("an error").partial_side_effects);
    assert_eq!(log, ["one after send: INTERNAL"]);
}

#[tokio::test(start_paused = true)]
async fn panicking_after_hook_keeps_the_response() {
    let (response, _) = panicking(At::After).await;
    assert_eq!(response.data_json(), Some(r#""a""#));
}

// R-E3
#[tokio::test(start_paused = true)]
async fn panicking_around_hook_is_an_internal_error() {
    for at in [At::Around, At::Inside] {
        let (response, _) = panicking(at).await;
        let error = response.error().expect("an error");
        assert_eq!(
            (error.kind, error.partial_side_effects),
            (ErrorKind::Internal, true)
        );
        assert!(!error.message.contains("on purpose"), "{}", error.message);
    }
}

// R-B5
#[tokio::test(start_paused = true)]
async fn hanging_before_hook_ends_at_the_deadline() {
    let policy = Policy::text()
        .deadline(Duration::from_millis(200))
        .max_calls(Some(1));
    let hooks = |log: &Log| {
        vec![Watch {
            waits: 60_000,
            ..watch("one", log)
        }]
    };
    let (session, log) = post(policy, hooks).await;
    let began = tokio::time::Instant::now();
    let response = call(&session, "send", json!({"what": "a"})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert!(!response.error().expect("an error").partial_side_effects);
    assert!(began.elapsed() < Duration::from_millis(250));
    let again = call(&session, "send", json!({"what": "b"})).await;
    assert_eq!(
        kind(&again),
        Some(ErrorKind::Timeout),
        "the budget was given back"
    );
    assert!(!log.all().iter().any(|what| what.starts_with("sends")));
}

// L22
#[tokio::test(start_paused = true)]
async fn interrupted_call_in_a_hook_does_not_run() {
    let hooks = |log: &Log| {
        vec![Watch {
            waits: 100,
            ..watch("one", log)
        }]
    };
    let (session, log) = post(Policy::text(), hooks).await;
    let sending = begin(&session, "c1", "send", r#"{"what":"a"}"#).await;
    session.interrupt();
    assert_eq!(kind(&answer(sending).await), Some(ErrorKind::Cancelled));
    assert!(!log.all().contains(&"sends a".to_owned()));
}

async fn refuse_bombs(call: HookedCall<'_>) -> Result<(), ToolError> {
    ms(1).await;
    if call.arguments.contains("bomb") {
        Err(ToolError::auth("not that"))
    } else {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn async_functions_serve_as_hooks() {
    let post = Post::default();
    let log = post.log.clone();
    let before = log.clone();
    let around = log.clone();
    let after = log.clone();
    let runtime = Runtime::builder(tools![post])
        .before(refuse_bombs)
        .before(async move |call: HookedCall<'_>| {
            ms(1).await;
            before.add(format!("before {}", call.tool.name()));
            Ok(())
        })
        .around(async |_: HookedCall<'_>, next: Next<'_>| next.run().await)
        .around(async move |call: HookedCall<'_>, next: Next<'_>| {
            around.add(format!("{} begins", call.tool.name()));
            let response = next.run().await;
            around.add("ends");
            response
        })
        .after(async |_: HookedCall<'_>, _: &mut ToolResponse| ms(1).await)
        .after(
            async move |_: HookedCall<'_>, response: &mut ToolResponse| {
                ms(1).await;
                after.add(format!("after: {}", response.is_ok()));
            },
        )
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    assert!(call(&session, "send", json!({"what": "a"})).await.is_ok());
    assert_eq!(
        kind(&call(&session, "send", json!({"what": "bomb"})).await),
        Some(ErrorKind::Auth)
    );
    assert_eq!(
        log.all(),
        [
            "before send",
            "send begins",
            "sends a",
            "ends",
            "after: true",
            "after: false"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn async_functions_change_the_response() {
    let runtime = Runtime::builder(tools![Post::default()])
        .after(async |_: HookedCall<'_>, response: &mut ToolResponse| {
            let text = r#"{"ok":true,"data":"***","meta":{"tool":"send","callId":"c1"}}"#;
            *response = serde_json::from_str(text).expect("an envelope");
        })
        .build();
    let session = runtime
        .expect("a runtime")
        .session("s-1", Mode::Text)
        .await
        .expect("a session");
    assert_eq!(
        call(&session, "send", json!({"what": "a"}))
            .await
            .data_json(),
        Some(r#""***""#)
    );
}

/// A hook that records requests that no tool serves, and refuses or leaves out those of a name.
struct Requests(Log);

impl Hook for Requests {
    fn around_request<'a>(
        &'a self,
        request: &'a HookedRequest<'a>,
        next: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        assert_eq!((request.session, request.principal), ("s-1", "user:7"));
        assert_ne!(request.name, "panics", "on purpose");
        Box::pin(async move {
            let outcome = match request.name {
                "refused" => Err(ToolError::auth("not that")),
                "left_out" => Ok(()),
                _ => next.await,
            };
            let said = outcome
                .as_ref()
                .map_or_else(|error| error.kind().to_string(), |()| "ok".to_owned());
            self.0.add(format!(
                "{:?} {} {}: {said}",
                request.kind, request.name, request.arguments
            ));
            outcome
        })
    }
}

async fn requests() -> (Session, Log) {
    let log = Log::default();
    let inner = log.clone();
    let prompt = |name: &str| {
        let definition =
            PromptDefinition::new(name, "Greet.").argument(PromptArgument::new("who", "Who."));
        let log = inner.clone();
        Prompt::new(
            definition,
            move |arguments: TextArguments, _: RunContext| {
                log.add("gets");
                let who = arguments.get("who").cloned().unwrap_or_default();
                async move { Ok(vec![PromptMessage::user(who)]) }
            },
        )
    };
    let mut tools = ToolContext::builder().with(Post::default());
    for name in ["greet", "refused", "left_out", "panics"] {
        tools = tools.with_prompt(prompt(name));
    }
    let runtime = Runtime::builder(tools.build().expect("sound"))
        .hook(Requests(log.clone()))
        .build()
        .expect("sound");
    (
        runtime
            .session("s-1", Mode::Text)
            .principal("user:7")
            .await
            .expect("open"),
        log,
    )
}

fn who() -> TextArguments {
    TextArguments::from([("who".to_owned(), "Ada".to_owned())])
}

#[tokio::test]
async fn hooks_run_around_prompts_and_resources() {
    let (session, log) = requests().await;
    assert_eq!(
        session.get_prompt("greet", who()).await.expect("got"),
        [PromptMessage::user("Ada")]
    );
    assert_eq!(
        session
            .read_resource("notes://1")
            .await
            .expect_err("unknown")
            .kind(),
        ErrorKind::NotFound
    );
    let expected = [
        "gets",
        r#"Prompt greet {"who":"Ada"}: ok"#,
        "Resource notes://1 {}: NOT_FOUND",
    ]
    .map(str::to_owned);
    assert_eq!(log.all(), expected);
}

#[tokio::test]
async fn hooks_run_around_subscriptions_and_refuse_them() {
    let (session, log) = requests().await;
    let begin = async || {
        log.add("begins");
        Ok(())
    };
    session
        .subscribe_with("notes://1", begin())
        .await
        .expect("begun");
    let refused = session.subscribe_with("refused", begin()).await;
    assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Auth);
    let expected = [
        "begins",
        "Subscription notes://1 {}: ok",
        "Subscription refused {}: AUTH",
    ]
    .map(str::to_owned);
    assert_eq!(log.all(), expected);
}

#[tokio::test]
async fn hooks_see_calls_that_reach_no_tool() {
    let (session, log) = requests().await;
    assert_eq!(
        kind(&call(&session, "refused", json!({"a": 1})).await),
        Some(ErrorKind::NotFound),
        "its answer stays"
    );
    session.end().await;
    assert_eq!(
        kind(&call(&session, "send", json!({})).await),
        Some(ErrorKind::SessionInactive)
    );
    let expected = [
        r#"Call refused {"a":1}: AUTH"#,
        "Call send {}: SESSION_INACTIVE",
    ]
    .map(str::to_owned);
    assert_eq!(log.all(), expected);
}

#[tokio::test]
async fn hooks_refuse_requests_and_fail_alone() {
    let (session, log) = requests().await;
    for (name, expected) in [
        ("refused", ErrorKind::Auth),
        ("left_out", ErrorKind::Internal),
        ("panics", ErrorKind::Internal),
    ] {
        assert_eq!(
            session
                .get_prompt(name, who())
                .await
                .expect_err(name)
                .kind(),
            expected
        );
    }
    assert!(!log.all().contains(&"gets".to_owned()));
}

/// A hook that never ends after the work, for the prompt `stuck`.
struct Stuck;

impl Hook for Stuck {
    fn around_request<'a>(
        &'a self,
        request: &'a HookedRequest<'a>,
        next: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            next.await?;
            if request.name == "stuck" {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_waits_for_the_user_and_not_for_itself() {
    let prompt = |name: &str| {
        Prompt::new(
            PromptDefinition::new(name, "Ask."),
            async |_: TextArguments, ctx: RunContext| {
                Ok(vec![PromptMessage::user(
                    ctx.ask::<String>("Which tone?").await?.required()?,
                )])
            },
        )
    };
    let tools = ToolContext::builder()
        .with_prompt(prompt("ask"))
        .with_prompt(prompt("stuck"))
        .build()
        .expect("sound");
    let policy = Policy::text().deadline(Duration::from_secs(1));
    let runtime = Runtime::builder(tools)
        .policy(policy)
        .hook(Stuck)
        .build()
        .expect("sound");
    let session = runtime.session("s-1", Mode::Text).await.expect("open");
    let slow = || {
        HostHandlers::new().on_question(|_: Question| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(Answer::Accepted(json!({"answer": "friendly"})))
        })
    };
    let asked = session
        .get_prompt_with("ask", TextArguments::new(), slow())
        .await;
    assert_eq!(asked.expect("an answer"), [PromptMessage::user("friendly")]);
    let stuck = session
        .get_prompt_with("stuck", TextArguments::new(), slow())
        .await;
    assert_eq!(stuck.expect_err("a limit").kind(), ErrorKind::Timeout);
}
