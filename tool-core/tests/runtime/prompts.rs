//! Prompts and resources in a session and in a context.

use crate::support::{Counter, OnDrop, call, open, runtime, text, tools};
use futures_util::FutureExt;
use serde_json::json;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;
use tool_core::call::{Answer, AskError, HostHandlers, Question};
use tool_core::tool::{
    Completion, CompletionRequest, CompletionTarget, Prompt, PromptArgument, PromptDefinition,
    PromptHandler, PromptMessage, Resource, ResourceContents, ResourceDefinition, ResourceRequest,
    TextArguments,
};
use tool_core::{
    Content, ErrorKind, Mode, Policy, RunContext, Tool, ToolContext, ToolError, Toolset,
    ToolsetExt, tool,
};

fn arguments<const N: usize>(values: [(&str, &str); N]) -> TextArguments {
    values
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// A prompt that repeats its arguments.
fn echo(name: &str) -> Prompt {
    let definition = PromptDefinition::new(name, "Echo.")
        .argument(PromptArgument::new("text", "The text").required(true))
        .argument(PromptArgument::new("more", "More text"));
    Prompt::new(
        definition,
        async |arguments: TextArguments, _: RunContext| {
            Ok(vec![PromptMessage::user(format!("{arguments:?}"))])
        },
    )
}

fn resource<const N: usize>(uri: &'static str, contents: [ResourceContents; N]) -> Resource {
    let definition = ResourceDefinition::new(uri, "r").expect("a URI");
    Resource::new(definition, move |_: ResourceRequest, _: RunContext| {
        let contents = contents.to_vec();
        async move { Ok(contents) }
    })
}

/// A resource whose reader waits for ever.
fn stuck(started: &Arc<Notify>, dropped: &Counter) -> Resource {
    let (started, dropped) = (Arc::clone(started), dropped.clone());
    Resource::new(
        ResourceDefinition::new("slow://it", "slow").expect("a URI"),
        move |_: ResourceRequest, _: RunContext| {
            let (started, guard) = (Arc::clone(&started), OnDrop(dropped.clone()));
            async move {
                let _guard = guard;
                started.notify_one();
                pending().await
            }
        },
    )
}

fn with_resource(resource: Resource) -> ToolContext {
    ToolContext::builder()
        .with_resource(resource)
        .build()
        .expect("a sound resource")
}

#[tokio::test]
async fn prompt_gets_checked_arguments() {
    let tools = ToolContext::builder()
        .with_prompt(echo("echo"))
        .build()
        .expect("a sound prompt");
    let session = text(tools, Policy::text()).await;
    let messages = session
        .get_prompt("echo", arguments([("text", "hi")]))
        .await
        .expect("messages");
    assert_eq!(messages, [PromptMessage::user(r#"{"text": "hi"}"#)]);

    let error = session
        .get_prompt("echo", arguments([("more", "x"), ("txet", "y")]))
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_eq!(
        error.message(),
        "expected the arguments `text`, got none of these; expected `text`, `more`, got `txet`"
    );
}

#[tokio::test]
async fn prompts_cost_no_call() {
    /// Do nothing.
    #[tool(name = "nothing")]
    fn nothing() {}

    let tools = ToolContext::builder()
        .with(nothing)
        .with_prompt(echo("echo"))
        .build()
        .expect("sound");
    let session = text(tools, Policy::text().max_calls(Some(1))).await;
    for _ in 0..5 {
        session
            .get_prompt("echo", arguments([("text", "hi")]))
            .await
            .expect("messages");
    }
    assert!(call(&session, "nothing", json!({})).await.is_ok());
}

#[tokio::test]
async fn exact_uri_comes_before_a_template() {
    let tools = ToolContext::builder()
        .with_resource(resource("notes://{id}", [ResourceContents::text("any")]))
        .with_resource(resource("notes://index", [ResourceContents::text("index")]))
        .build()
        .expect("sound");
    let ctx = RunContext::detached();
    for (uri, expected) in [
        ("notes://index", "index"),
        ("notes://7", "any"),
        ("notes://{id}", "any"),
    ] {
        let contents = tools.read_resource(uri, &ctx).await.expect("contents");
        assert_eq!(contents, [ResourceContents::text(expected).uri(uri)]);
    }
    let error = tools
        .read_resource("notes://7/8", &ctx)
        .await
        .expect_err("unknown");
    assert_eq!(
        error,
        ToolError::not_found("there is no resource `notes://7/8`")
    );
}

#[tokio::test]
async fn session_that_ended_reads_nothing() {
    let session = text(with_resource(resource("a:b", [])), Policy::text()).await;
    session.end().await;
    let error = session.read_resource("a:b").await.expect_err("over");
    assert_eq!(error.kind(), ErrorKind::SessionInactive);
}

#[tokio::test]
async fn end_of_a_session_gives_up_reads() {
    let (started, dropped) = (Arc::default(), Counter::default());
    let session = text(with_resource(stuck(&started, &dropped)), Policy::text()).await;
    let reading = tokio::spawn({
        let session = session.clone();
        async move { session.read_resource("slow://it").await }
    });
    started.notified().await;
    session.end().await;
    let error = reading.await.expect("no panic").expect_err("cancelled");
    assert_eq!((error.kind(), dropped.get()), (ErrorKind::Cancelled, 1));
}

#[tokio::test(start_paused = true)]
async fn read_ends_at_the_deadline() {
    let (started, dropped) = (Arc::default(), Counter::default());
    let policy = Policy::text().deadline(Duration::from_secs(3));
    let session = text(with_resource(stuck(&started, &dropped)), policy).await;
    let error = session
        .read_resource("slow://it")
        .await
        .expect_err("too slow");
    assert_eq!((error.kind(), dropped.get()), (ErrorKind::Timeout, 1));
    assert_eq!(
        error.message(),
        "the resource timed out; the limit is 3000 ms"
    );
}

#[tokio::test]
async fn reads_take_the_permits_of_calls() {
    let (started, dropped) = (Arc::default(), Counter::default());
    let tools = ToolContext::builder()
        .with_resource(stuck(&started, &dropped))
        .with_prompt(echo("echo"));
    let policy = Policy::text().concurrent_calls(1);
    let session = text(tools.build().expect("sound"), policy).await;
    let asking = || {
        session
            .get_prompt("echo", arguments([("text", "hi")]))
            .now_or_never()
    };
    assert!(asking().is_some());
    let mut reading = Box::pin(session.read_resource("slow://it"));
    assert!((&mut reading).now_or_never().is_none());
    assert!(asking().is_none(), "the read has the only permit");
    drop(reading);
    assert!(asking().is_some());
}

#[tokio::test]
async fn contents_over_the_limit_are_refused() {
    let build = |limit| {
        let large = resource(
            "a:b",
            [
                ResourceContents::text("12345"),
                ResourceContents::blob(*b"12345"),
            ],
        );
        ToolContext::builder()
            .with_resource(large)
            .max_output_bytes(limit)
            .build()
            .expect("sound")
    };
    let ctx = RunContext::detached();
    assert!(build(10).read_resource("a:b", &ctx).await.is_ok());
    let error = build(9)
        .read_resource("a:b", &ctx)
        .await
        .expect_err("too large");
    assert_eq!(
        error.message(),
        "expected contents of at most 9 bytes, got 10; ask for a smaller part"
    );
}

#[tokio::test]
async fn arguments_over_the_limit_are_refused() {
    let tools = ToolContext::builder()
        .with_prompt(echo("echo"))
        .max_argument_bytes(6)
        .build()
        .expect("sound");
    let ctx = RunContext::detached();
    assert!(
        tools
            .get_prompt("echo", arguments([("text", "hi")]), &ctx)
            .await
            .is_ok()
    );
    let error = tools
        .get_prompt("echo", arguments([("text", "hello")]), &ctx)
        .await
        .expect_err("too large");
    assert_eq!(
        error.message(),
        "expected arguments of at most 6 bytes, got 9"
    );
}

#[tokio::test]
async fn panics_and_internal_errors_are_masked() {
    let failing = |name: &str, panics: bool| {
        Prompt::new(
            PromptDefinition::new(name, ""),
            move |_: TextArguments, _: RunContext| async move {
                assert!(!panics, "secret");
                Err(ToolError::internal("secret"))
            },
        )
    };
    let tools = ToolContext::builder()
        .with_prompt(failing("a", true))
        .with_prompt(failing("b", false));
    let tools = tools.build().expect("sound");
    for name in ["a", "b"] {
        let error = tools
            .get_prompt(name, TextArguments::new(), &RunContext::detached())
            .await
            .expect_err("fails");
        assert_eq!(error.to_string(), "INTERNAL: An internal error occurred");
    }
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_dropped_read_is_caught() {
    struct Falls;
    impl Drop for Falls {
        fn drop(&mut self) {
            panic!("falls when it is dropped");
        }
    }
    let falls = Resource::new(
        ResourceDefinition::new("a:b", "r").expect("a URI"),
        async |_: ResourceRequest, _: RunContext| {
            let _falls = Falls;
            pending().await
        },
    );
    let policy = Policy::text().deadline(Duration::from_secs(1));
    let session = text(with_resource(falls), policy).await;
    assert_eq!(
        session
            .read_resource("a:b")
            .await
            .expect_err("too slow")
            .kind(),
        ErrorKind::Timeout
    );
}

#[test]
fn duplicates_and_invalid_names_are_all_reported() {
    let same = echo("same");
    let errors = ToolContext::builder()
        .with_prompt(echo("twice"))
        .with_prompt(echo("twice"))
        .with_prompt(same.clone())
        .with_prompt(same)
        .with_prompt(echo(""))
        .with_resource(resource("a:b", []))
        .with_resource(resource("a:b", []))
        .build()
        .expect_err("three problems");
    let messages = errors
        .iter()
        .map(|error| error.message.as_str())
        .collect::<Vec<_>>();
    assert_eq!(
        messages,
        [
            "invalid prompt name ``: names are 1-256 bytes without control characters",
            "duplicate prompt name: twice; rename one, or give a toolset a `prefix`",
            "duplicate resource URI: a:b; change one",
        ]
    );
}

/// A prompt whose argument `name` has the completions `<context>0`, `<context>1`, ..
struct Numbers(usize);

impl PromptHandler for Numbers {
    fn get<'a>(
        &'a self,
        _: TextArguments,
        _: &'a RunContext,
    ) -> futures_util::future::BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        _: &'a RunContext,
    ) -> futures_util::future::BoxFuture<'a, Result<Completion, ToolError>> {
        let prefix = request.context.get("prefix").cloned().unwrap_or_default();
        let values = (0..self.0).map(move |number| format!("{prefix}{number}"));
        Box::pin(async move { Ok(Completion::matching(&request.value, values)) })
    }
}

#[tokio::test]
async fn completion_is_cut_to_a_hundred_values() {
    let definition = PromptDefinition::new("p", "")
        .argument(PromptArgument::new("name", "").completes(true))
        .argument(PromptArgument::new("prefix", ""));
    let tools = ToolContext::builder()
        .with_prompt(Prompt::new(definition, Numbers(250)))
        .build()
        .expect("sound");
    let session = text(tools, Policy::text()).await;
    let target = CompletionTarget::Prompt("p".to_owned());

    let all = session
        .complete(&target, CompletionRequest::new("name", ""))
        .await
        .expect("values");
    assert_eq!(
        (all.values.len(), all.total, all.has_more),
        (100, Some(250), true)
    );

    let request = CompletionRequest::new("name", "n24").context(arguments([("prefix", "n")]));
    let some = session.complete(&target, request).await.expect("values");
    assert_eq!(
        (some.values.len(), some.total, some.has_more),
        (11, Some(11), false)
    );

    let none = session
        .complete(&target, CompletionRequest::new("prefix", ""))
        .await
        .expect("no values");
    assert_eq!(none, Completion::default());
    let error = session
        .complete(&target, CompletionRequest::new("other", ""))
        .await
        .expect_err("unknown");
    assert_eq!(error.message(), "prompt `p` has no argument `other`");
}

/// A toolset of one prompt and one resource, which needs a setup.
struct Library {
    setup: bool,
}

impl Toolset for Library {
    fn id(&self) -> &'static str {
        "library"
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        Vec::new()
    }

    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        vec![echo("find")]
    }

    fn resources(self: Arc<Self>) -> Vec<Resource> {
        vec![resource("book:1", [ResourceContents::text("Once")])]
    }

    fn needs_setup(&self) -> bool {
        self.setup
    }
}

#[tokio::test]
async fn derived_toolset_keeps_prompts_and_resources() {
    let toolset = Library { setup: false }.prefixed("lib").filtered(|_| false);
    let tools = tools![toolset];
    assert_eq!(
        tools.prompts().iter().map(Prompt::name).collect::<Vec<_>>(),
        ["lib_find"]
    );
    assert_eq!(
        tools
            .resources()
            .iter()
            .map(Resource::uri)
            .collect::<Vec<_>>(),
        ["book:1"]
    );
}

#[tokio::test]
async fn dynamic_toolset_hides_prompts_and_resources() {
    let tools = tools![Library { setup: false }.dynamic(|ctx| ctx.user_data::<u8>().is_some())];
    let runtime = runtime(tools, Policy::text());
    let session = open(&runtime, "s-1", Mode::Text).await;
    let error = session
        .get_prompt("find", arguments([("text", "x")]))
        .await
        .expect_err("hidden");
    assert_eq!(error.message(), "there is no prompt `find`");
    assert_eq!(
        session
            .read_resource("book:1")
            .await
            .expect_err("hidden")
            .kind(),
        ErrorKind::NotFound
    );

    let session = runtime
        .session("s-2", Mode::Text)
        .user_data(1_u8)
        .await
        .expect("a session");
    assert!(
        session
            .get_prompt("find", arguments([("text", "x")]))
            .await
            .is_ok()
    );
    assert!(session.read_resource("book:1").await.is_ok());
}

#[tokio::test]
async fn bare_read_needs_the_setup_of_the_toolset() {
    let tools = tools![Library { setup: true }];
    let ctx = RunContext::detached();
    assert!(tools.read_resource("book:1", &ctx).await.is_err());
    let (tools, failures) = tools.setup().await;
    assert!(failures.is_empty());
    assert!(tools.read_resource("book:1", &ctx).await.is_ok());
}

#[test]
fn content_converts_to_contents() {
    let image = Content::image("aGk=", "image/png");
    assert_eq!(
        ResourceContents::try_from(image),
        Ok(ResourceContents::blob(*b"hi").mime_type("image/png"))
    );
    assert!(ResourceContents::try_from(Content::image("?", "image/png")).is_err());
    assert!(ResourceContents::try_from(Content::resource("https://a.example")).is_err());
}

/// A prompt that asks its user.
fn asking() -> Prompt {
    Prompt::new(
        PromptDefinition::new("ask", "Ask."),
        async |_: TextArguments, ctx: RunContext| {
            let tone = ctx.ask::<String>("Which tone?").await?.required()?;
            Ok(vec![PromptMessage::user(tone)])
        },
    )
}

/// Answers a question after a time.
fn answered_after(time: Duration) -> HostHandlers {
    HostHandlers::new().on_question(move |_: Question| async move {
        sleep(time).await;
        Ok(Answer::Accepted(json!({"answer": "friendly"})))
    })
}

#[tokio::test(start_paused = true)]
async fn deadline_of_a_prompt_waits_for_its_user() {
    let tools = ToolContext::builder()
        .with_prompt(asking())
        .build()
        .expect("a sound prompt");
    let session = text(tools, Policy::text().deadline(Duration::from_secs(1))).await;
    let handlers = answered_after(Duration::from_secs(60));
    let messages = session
        .get_prompt_with("ask", arguments([]), handlers)
        .await
        .expect("messages");
    assert_eq!(messages, [PromptMessage::user("friendly")]);
    let refused = session
        .get_prompt("ask", arguments([]))
        .await
        .expect_err("no handler");
    assert!(refused.message().contains("on_question"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn task_that_outlives_its_prompt_asks_nothing() {
    let (send, late) = tokio::sync::oneshot::channel();
    let (send, over) = (
        Arc::new(std::sync::Mutex::new(Some(send))),
        Arc::new(Notify::new()),
    );
    let ended = Arc::clone(&over);
    let prompt = Prompt::new(
        PromptDefinition::new("late", "Late."),
        move |_: TextArguments, ctx: RunContext| {
            let (send, ended) = (Arc::clone(&send), Arc::clone(&ended));
            async move {
                tokio::spawn(async move {
                    ended.notified().await;
                    let answer = ctx.ask::<String>("Which tone?").await;
                    let _ = send
                        .lock()
                        .expect("a lock")
                        .take()
                        .expect("one answer")
                        .send(answer);
                });
                Ok(vec![PromptMessage::user("done")])
            }
        },
    );
    let session = text(
        ToolContext::builder()
            .with_prompt(prompt)
            .build()
            .expect("a sound prompt"),
        Policy::text(),
    )
    .await;
    session
        .get_prompt_with("late", arguments([]), answered_after(Duration::ZERO))
        .await
        .expect("messages");
    over.notify_one();
    assert!(matches!(
        late.await.expect("an answer"),
        Err(AskError::Ended)
    ));
}

#[tokio::test]
async fn approved_call_asks_by_the_handlers_of_its_approval() {
    /// Write.
    #[tool(name = "write", confirm)]
    async fn write(ctx: &RunContext) -> Result<String, ToolError> {
        ctx.ask::<String>("Which tone?").await?.required()
    }

    let session = text(tools![write], Policy::text()).await;
    let waiting = call(&session, "write", json!({})).await;
    let token = &waiting.meta().confirmation().expect("it waits").token;
    let response = session
        .approve_with(token, |call| {
            call.with_handlers(answered_after(Duration::ZERO))
        })
        .await;
    assert_eq!(response.data_json(), Some(r#""friendly""#));
}
