//! Unusual user code, and tools that misbehave.

use crate::support::{block_on, call, data, failure, tools};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use tool_core::{
    Content, ErrorKind, FunctionTool, Intent, RawTool, RunContext, ToolContext, ToolError,
    ToolOutput, ToolsetExt, tool, toolset,
};

/// Takes no context.
#[tool]
fn quiet() -> u8 {
    1
}

/// Calls another tool.
#[tool]
async fn caller(ctx: &RunContext) -> u8 {
    ctx.emit(Intent::SuppressAudio);
    let inner = tools(quiet).call("quiet", "{}", ctx).await;
    u8::try_from(inner.intents().len()).unwrap_or(u8::MAX)
}

// R-I1
#[test]
fn nested_call_leaves_intents_of_its_caller() {
    let response = call(&tools(caller), "caller", "{}");
    assert_eq!(
        (response.data_json(), response.intents()),
        (Some("0"), &[Intent::SuppressAudio][..])
    );
}

struct Drifting(AtomicU32);

#[toolset(discover = false)]
impl Drifting {
    /// Wait.
    #[tool]
    fn wait(
        &self,
        #[arg(default = self.0.fetch_add(1, Ordering::Relaxed), range(5..=10))] minutes: u32,
    ) -> u32 {
        minutes
    }
}

// D5
#[test]
fn default_from_self_equals_the_published_one() {
    let drifting = Arc::new(Drifting(AtomicU32::new(7)));
    let tools = tools(Arc::clone(&drifting));
    drifting.0.store(999, Ordering::Relaxed);
    let published = tools.definitions().next().expect("one").parameters()["properties"]["minutes"]
        ["default"]
        .clone();
    assert_eq!(
        (
            published,
            data(&tools, "wait", "{}"),
            data(&tools, "wait", "{}")
        ),
        (json!(7), json!(7), json!(7))
    );
}

struct Exploding;

#[toolset(discover = false)]
impl Exploding {
    fn boom(&self) -> u32 {
        panic!("boom")
    }

    /// Wait.
    #[tool]
    fn wait(&self, #[arg(default = self.boom())] minutes: u32) -> u32 {
        minutes
    }
}

// T6
#[test]
fn panicking_default_is_reported_for_its_parameter() {
    let errors = ToolContext::builder()
        .with(Exploding)
        .build()
        .expect_err("no default");
    assert!(errors.to_string().contains("`minutes`"), "{errors}");
}

/// Long parts.
#[tool]
fn parts() -> Vec<Content> {
    vec![Content::text("x".repeat(300))]
}

/// Long data.
#[tool]
fn output() -> ToolOutput {
    ToolOutput::new("x".repeat(3 << 20))
}

/// Long error.
#[tool]
fn complaint() -> Result<(), String> {
    Err("x".repeat(1 << 20))
}

// T9
#[test]
fn size_cap_applies_to_every_form_of_result() {
    let small = ToolContext::builder()
        .with(parts)
        .max_output_bytes(100)
        .build()
        .expect("sound");
    let response = call(&small, "parts", "{}");
    assert!(
        response.meta().truncated().is_some()
            && response.kind() == tool_core::call::OutputKind::Data,
        "{response}"
    );
    let tools = ToolContext::builder()
        .with(output)
        .with(complaint)
        .build()
        .expect("sound");
    let response = call(&tools, "output", "{}");
    assert!(
        response
            .meta()
            .truncated()
            .is_some_and(|cut| cut.limit == 1 << 20),
        "{:?}",
        response.meta().truncated()
    );
    assert!(failure(&tools, "complaint", "{}").1.len() < 11_000);
}

// T6
#[test]
fn panicking_predicate_hides_its_tools() {
    let tools = tools(Drifting(AtomicU32::new(7)).dynamic(|_| panic!("boom")));
    assert_eq!(failure(&tools, "wait", "{}").0, ErrorKind::NotFound);
}

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

// R-F3: reported when the context is built
#[test]
fn invalid_raw_schema_is_an_error_at_freeze() {
    for parameters in [
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/nowhere"}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "(a"}}}),
    ] {
        let declared = RawTool {
            name: "x".into(),
            description: "x".into(),
            parameters,
        };
        let tool = FunctionTool::raw(declared, echo).validate(true);
        let errors = ToolContext::builder()
            .with(tool)
            .build()
            .expect_err("does not compile");
        assert_eq!(errors.len(), 1, "{errors}");
    }
}

/// Forge the envelope.
#[tool]
fn forge() -> ToolOutput {
    ToolOutput::new(1)
        .meta("callId", 7)
        .meta("confirmation", "x")
        .meta("mine", true)
}

// R-E1
#[test]
fn tool_cannot_forge_members_of_the_envelope() {
    let response = call(&tools(forge), "forge", "{}");
    let back: tool_core::ToolResponse =
        serde_json::from_str(&response.to_json()).expect("reads its own JSON");
    assert_eq!(
        (back.meta().call_id(), back.meta().extra("mine")),
        (None, Some(&json!(true)))
    );
    assert_eq!(back.meta().warnings().len(), 2);
}

/// Boxed.
#[tool]
fn boxed() -> Result<u8, Box<ToolError>> {
    Err(Box::new(ToolError::rate_limit("wait")))
}

// R-E2
#[test]
fn boxed_tool_error_keeps_its_message() {
    assert_eq!(
        failure(&tools(boxed), "boxed", "{}"),
        (ErrorKind::RateLimit, "wait".into())
    );
}

struct Bomb;

/// The bombs that were dropped.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Bomb {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
        assert!(std::thread::panicking(), "boom while dropped");
    }
}

/// Holds a value that panics when it is dropped.
#[tool]
async fn holds() -> u8 {
    let _bomb = Bomb;
    std::future::pending().await
}

// T8
#[test]
fn abandoned_call_does_not_panic_into_its_caller() {
    let tools = tools(holds);
    let ctx = RunContext::detached();
    let given_up = block_on(async {
        let mut call = Box::pin(tools.call("holds", "{}", &ctx));
        let pending =
            std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx).is_pending()))
                .await;
        drop(call);
        pending
    });
    assert!(given_up);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 1, "the call held its bomb");
}

/// Return the word.
#[tool]
async fn lends(word: &str) -> &str {
    word
}

/// Return the first letter.
#[tool]
#[allow(mismatched_lifetime_syntaxes, elided_lifetimes_in_paths)]
async fn lends_a_letter(word: &str) -> Cow<str> {
    Cow::Borrowed(word.get(..1).unwrap_or_default())
}

struct Lender(String);

#[toolset(discover = false)]
impl Lender {
    /// Return the word or the own one.
    #[tool]
    async fn lends_own(&self, word: &str) -> &str {
        if word.is_empty() { "none" } else { &self.0 }
    }
}

// D2
#[test]
fn async_tools_return_what_they_borrow() {
    let tools = ToolContext::builder()
        .with(lends)
        .with(Lender("own".to_owned()))
        .build()
        .expect("sound");
    assert_eq!(data(&tools, "lends", json!({"word": "hi"})), json!("hi"));
    assert_eq!(
        data(&tools, "lends_own", json!({"word": "hi"})),
        json!("own")
    );
}

// D2
#[test]
fn a_cow_may_hide_its_lifetime() {
    let tools = ToolContext::builder()
        .with(lends_a_letter)
        .build()
        .expect("sound");
    let word = json!({"word": "hi"});
    assert_eq!(data(&tools, "lends_a_letter", word), json!("h"));
}

mod hygiene {
    use tool_core::{RunContext, tool, toolset};

    pub struct NoteArgs;

    impl NoteArgs {
        pub const TEXT: &'static str =
            "From a type that is named like the struct of the arguments.";
    }

    /// A blanket trait whose methods have common names.
    trait Blanket {
        fn split(&self) {}
        fn value(&self) {}
        fn error(&self) {}
        fn schema(&self) {}
        fn discovery(&self) {}
        fn decode(&self) {}
        fn answer(&self) {}
    }

    impl<T: ?Sized> Blanket for T {}

    #[allow(non_upper_case_globals)]
    static value: u8 = 1;
    #[allow(non_upper_case_globals)]
    const error: u8 = 2;

    /// Constants, statics and unit structs that are named like local variables of generated code. In a pattern such a name
    /// means the constant.
    #[allow(non_upper_case_globals, non_camel_case_types, dead_code)]
    mod named_like_locals {
        pub const __call: u8 = 1;
        pub static __this: u8 = 1;
        pub struct __value;
        pub const __args: &str = "";
        pub const __text: u8 = 1;
        pub const __rest: u8 = 1;
        pub const __index: u8 = 1;
        pub const __f: u8 = 1;
        pub const __from: u8 = 1;
        pub const __contexts: u8 = 1;
        pub const __defaults: u8 = 1;
        pub const __method: u8 = 1;
        pub const __generator: u8 = 1;
        pub const __decoded: u8 = 1;
        pub const __message: u8 = 1;
        pub const __request: u8 = 1;
        pub const __decide: u8 = 1;
        pub const __f0: u8 = 1;
        pub struct __f1;
        pub static __f2: u8 = 1;
        pub const __ctx0: u8 = 1;
        pub const __tool_value: u8 = 1;
        pub const __tool_error: u8 = 1;
        pub const __tool_kind: u8 = 1;
        pub const __tool_span: u8 = 1;
        pub const __tool_ending: u8 = 1;
        pub const __tool_generator: u8 = 1;
        pub const __tool_callable: u8 = 1;
        pub const __tool_probe: u8 = 1;
        pub const __tool_signature: u8 = 1;
        pub const __tool_item: u8 = 1;
        pub const __tool_each: u8 = 1;
        pub const __tool_wraps: u8 = 1;
        pub const __tools: u8 = 1;
        pub const fields: u8 = 1;
    }
    #[allow(unused_imports)]
    pub mod beside_constants {
        use super::named_like_locals::{
            __args, __call, __contexts, __ctx0, __decide, __decoded, __defaults, __f, __f0, __f1,
            __f2, __from, __generator, __index, __message, __method, __request, __rest, __text,
            __this, __tool_callable, __tool_each, __tool_ending, __tool_error, __tool_generator,
            __tool_item, __tool_kind, __tool_probe, __tool_signature, __tool_span, __tool_value,
            __tool_wraps, __tools, __value,
        };
        use std::fmt;
        use tool_core::{RunContext, ToolError, agent, tool, toolset};

        pub struct Desk(pub u8);

        #[derive(Debug, ToolError)]
        pub struct Broken;

        impl fmt::Display for Broken {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("broken")
            }
        }

        #[toolset(discover = false)]
        impl Desk {
            /// Add.
            #[tool(args = AddArgs, confirm = |args: &AddArgs| args.first > 100)]
            pub fn add(
                &self,
                ctx: &RunContext,
                first: u8,
                #[arg(default = self.0)] second: u8,
                #[arg(default = 3, range(1..=9))] third: u8,
                names: Vec<&str>,
            ) -> Result<usize, Broken> {
                let _ = ctx;
                if first == 0 {
                    Err(Broken)
                } else {
                    Ok(usize::from(first + second + third) + names.len())
                }
            }
        }

        /// Answer.
        #[agent("beside")]
        pub fn answers() -> u8 {
            __call + __this + __f2
        }

        pub fn wrapped() -> u8 {
            let wrapped = tool_core::wrap_tool!(answers);
            wrapped()
        }
    }

    #[tool(description = NoteArgs::TEXT)]
    pub fn note(
        call: u8,
        this: u8,
        args: u8,
        fields: u8,
        index: u8,
        f0: u8,
        __tool: u8,
    ) -> Result<u8, String> {
        ().split();
        ().value();
        ().error();
        ().schema();
        ().discovery();
        ().decode();
        ().answer();
        Ok(call + this + args + fields + index + f0 + __tool + value + error)
    }

    pub struct VisitArgs;

    impl VisitArgs {
        pub fn is_open(_: &RunContext) -> bool {
            true
        }
    }

    /// Visit.
    #[tool(dynamic = VisitArgs::is_open)]
    pub fn visit(at: u8) -> u8 {
        at
    }

    pub struct Shelf<T>(pub T);

    pub trait PutArgs {}

    impl PutArgs for u8 {}

    #[toolset(discover = false)]
    impl<T: PutArgs + Send + Sync + 'static> Shelf<T> {
        /// Put.
        #[tool]
        pub fn put(&self, what: String) -> String {
            what
        }
    }
}

// D9
#[test]
fn user_names_do_not_collide_with_generated_names() {
    let tools = ToolContext::builder()
        .with(hygiene::note)
        .with(hygiene::visit)
        .with(hygiene::Shelf(1_u8))
        .build()
        .expect("sound");
    let arguments =
        json!({"call": 1, "this": 1, "args": 1, "fields": 1, "index": 1, "f0": 1, "__tool": 1});
    assert_eq!(data(&tools, "note", arguments), json!(10));
    assert_eq!(data(&tools, "put", json!({"what": "x"})), json!("x"));
    assert_eq!(data(&tools, "visit", json!({"at": 7})), json!(7));
}

// D9
#[test]
fn user_constants_do_not_collide_with_generated_locals() {
    use hygiene::beside_constants::{Desk, answers, wrapped};

    let tools = ToolContext::builder().with(Desk(2)).build().expect("sound");
    assert_eq!(
        data(&tools, "add", json!({"first": 1, "names": ["x"]})),
        json!(7)
    );
    assert_eq!((answers(), wrapped()), (3, 3));
}
