//! Raw tools: the schema is given at run time and the arguments are handed over as JSON.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::mode::Modes;
use crate::call::output::{OutputKind, ToolOutput, encode_tree};
use crate::json::{error, value};
use crate::schema::to_draft_2020_12;
use crate::tool::body::Definition;
use crate::tool::definition;
use crate::tool::definition::ToolDefinition;
use crate::tool::function::{FunctionTool, Handler};
use crate::tool::guide::Guide;
use crate::tool::invocation::{Call, Invocation, Rejected, Started, later};
use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use crate::tool::spec::Place;
use serde::de::Error as _;
use serde_json::Value;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The declaration of a raw tool.
#[derive(Clone, Debug, PartialEq)]
pub struct RawTool {
    /// 1-128 of `A-Z a-z 0-9 _ . : / -`.
    pub name: String,
    /// May be empty.
    pub description: String,
    /// A JSON Schema whose root is an object.
    pub parameters: Value,
}

/// The handler of a raw tool: an `async fn(Value, &RunContext) -> Result<Value, ToolError>`, or a closure of that
/// form which captures nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw tool's handler",
    note = "a handler is an `async fn(Value, &RunContext) -> Result<Value, ToolError>` or a closure of that form without captures; `FunctionTool::raw_with` takes state"
)]
pub trait RawHandler<'a>: Send + Sync {
    /// What it returns.
    type Answer: Future<Output = Result<Value, ToolError>> + Send + 'a;

    /// Runs it.
    fn handle(&self, arguments: Value, ctx: &'a RunContext) -> Self::Answer;
}

impl<'a, F, A> RawHandler<'a> for F
where
    F: Fn(Value, &'a RunContext) -> A + Send + Sync,
    A: Future<Output = Result<Value, ToolError>> + Send + 'a,
{
    type Answer = A;

    fn handle(&self, arguments: Value, ctx: &'a RunContext) -> A {
        self(arguments, ctx)
    }
}

/// The handler of a raw tool with state: `async |state: &S, arguments: Value, ctx: &RunContext| ..`. It gives a
/// `Value`, or for [`FunctionTool::raw_output_with`] a [`ToolOutput`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw tool's handler over a state of type `{S}`",
    note = "a handler is an `async fn(&S, Value, &RunContext) -> Result<Value, ToolError>` or a closure of that form without captures"
)]
pub trait RawStateHandler<'a, S: 'a, T = Value>: Send + Sync {
    /// What it returns.
    type Answer: Future<Output = Result<T, ToolError>> + Send + 'a;

    /// Runs it.
    fn handle(&self, state: &'a S, arguments: Value, ctx: &'a RunContext) -> Self::Answer;
}

impl<'a, S: 'a, F, A, T> RawStateHandler<'a, S, T> for F
where
    F: Fn(&'a S, Value, &'a RunContext) -> A + Send + Sync,
    A: Future<Output = Result<T, ToolError>> + Send + 'a,
{
    type Answer = A;

    fn handle(&self, state: &'a S, arguments: Value, ctx: &'a RunContext) -> A {
        self(state, arguments, ctx)
    }
}

struct Plain<F>(F);

impl<F: for<'a> RawHandler<'a>> Handler for Plain<F> {
    fn start<'a>(&'a self, call: Call<'a>) -> Started<'a> {
        let arguments = arguments(call)?;
        Ok(answer(call, self.0.handle(arguments, call.0.ctx)))
    }
}

struct WithState<S, F> {
    state: S,
    handler: F,
}

impl<S: Send + Sync, F: for<'a> RawStateHandler<'a, S>> Handler for WithState<S, F> {
    fn start<'a>(&'a self, call: Call<'a>) -> Started<'a> {
        let arguments = arguments(call)?;
        Ok(answer(call, self.handler.handle(&self.state, arguments, call.0.ctx)))
    }
}

/// One that gives more than data.
struct WithOutput<S, F> {
    state: S,
    handler: F,
}

impl<S: Send + Sync, F: for<'a> RawStateHandler<'a, S, ToolOutput>> Handler for WithOutput<S, F> {
    fn start<'a>(&'a self, call: Call<'a>) -> Started<'a> {
        let arguments = arguments(call)?;
        let answer = self.handler.handle(&self.state, arguments, call.0.ctx);
        Ok(later(async move {
            Invocation::Done(answer.await.and_then(|output| {
                // Only data is what a schema speaks of.
                let data = output.data_json().ok().filter(|_| output.form == OutputKind::Data);
                let data = data.and_then(|text| serde_json::from_str(text).ok());
                match data.and_then(|data| output_problem(call.0.tool, &data)) {
                    None => Ok(output),
                    Some(error) => Err(error),
                }
            }))
        }))
    }
}

fn answer<'a, A>(call: Call<'a>, answer: A) -> Invocation<'a>
where
    A: Future<Output = Result<Value, ToolError>> + Send + 'a,
{
    later(async move {
        Invocation::Done(match answer.await {
            Ok(value) => match output_problem(call.0.tool, &value) {
                None => encode_tree(value, call.0.output_bytes),
                Some(error) => Err(error),
            },
            Err(error) => Err(error),
        })
    })
}

/// A raw tool's output is held to its output schema, as nothing else upholds it.
fn output_problem(tool: &Definition, value: &Value) -> Option<ToolError> {
    let validator = tool.output_validator()?;
    (!validator.is_valid(value)).then(|| ToolError::internal("the result does not satisfy the tool's output schema"))
}

/// The arguments as an object. What is more amiss than that, the slow path finds and tells.
fn arguments(call: Call<'_>) -> Result<Value, Rejected> {
    let parsed = value::parse(call.0.text).map_err(|_| error::Error::custom("not JSON"))?;
    let sound = parsed.value.is_object() && parsed.duplicates.is_empty();
    if sound && (call.0.validated || call.0.tool.validator().is_valid(&parsed.value)) {
        call.pass()?;
        return Ok(parsed.value);
    }
    Err(error::Error::custom("not the object that the schema wants").into())
}

impl FunctionTool {
    /// A tool whose schema is given at run time.
    ///
    /// The handler gets the arguments as sent: an object, and otherwise unchecked unless
    /// [`validate`](Self::validate) is set. What is wrong with the declaration is told when a context is built.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError};
    ///
    /// async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    ///     Ok(arguments)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    /// let declared = RawTool { name: "echo".into(), description: "Say it again.".into(), parameters };
    /// let tools = ToolContext::builder().with(FunctionTool::raw(declared, echo)).build()?;
    /// let answer = tools.call("echo", r#"{"text":"hi"}"#, &RunContext::detached()).await;
    /// assert_eq!(answer.data_json(), Some(r#"{"text":"hi"}"#));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn raw<F>(declared: RawTool, handler: F) -> Self
    where
        F: for<'a> RawHandler<'a> + 'static,
    {
        make(declared, Arc::new(Plain(handler)))
    }

    /// The same, with state that every call gets to see.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tool_core::{FunctionTool, RawTool, RunContext};
    ///
    /// let declared = RawTool { name: "count".into(), description: String::new(), parameters: json!({"type": "object"}) };
    /// let tool = FunctionTool::raw_with(declared, AtomicU64::new(0), async |calls: &AtomicU64, _: Value, _: &RunContext| {
    ///     Ok(json!(calls.fetch_add(1, Ordering::Relaxed)))
    /// });
    /// # assert_eq!(tool.name(), "count");
    /// ```
    #[track_caller]
    pub fn raw_with<S, F>(declared: RawTool, state: S, handler: F) -> Self
    where
        S: Send + Sync + 'static,
        F: for<'a> RawStateHandler<'a, S> + 'static,
    {
        make(declared, Arc::new(WithState { state, handler }))
    }

    /// The same for a handler that gives more than data: parts of [`Content`](crate::Content), intents, members of
    /// `meta`. Data is held to the [`output_schema`](Self::output_schema).
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use tool_core::{Content, FunctionTool, RawTool, RunContext, ToolOutput};
    ///
    /// let declared = RawTool { name: "draw".into(), description: String::new(), parameters: json!({"type": "object"}) };
    /// let tool = FunctionTool::raw_output_with(declared, "iVBORw0KGgo=", async |png: &&str, _: Value, _: &RunContext| {
    ///     Ok(ToolOutput::content([Content::image(*png, "image/png")]))
    /// });
    /// # assert_eq!(tool.name(), "draw");
    /// ```
    #[track_caller]
    pub fn raw_output_with<S, F>(declared: RawTool, state: S, handler: F) -> Self
    where
        S: Send + Sync + 'static,
        F: for<'a> RawStateHandler<'a, S, ToolOutput> + 'static,
    {
        make(declared, Arc::new(WithOutput { state, handler }))
    }

    /// Whether arguments are held to the schema, with all problems told to the model. Only for raw tools: the
    /// arguments of others always are.
    #[must_use]
    pub fn validate(&self, yes: bool) -> Self {
        self.changed(|definition| definition.validated = yes || !definition.raw)
    }
}

#[track_caller]
fn make(declared: RawTool, handler: Arc<dyn Handler>) -> FunctionTool {
    let here = Location::caller();
    let place = Place { file: here.file(), line: here.line(), path: "" };
    let mut body = Definition::of_raw(declared.description, to_draft_2020_12(&declared.parameters), place);
    body.problems.extend(definition::check_raw_name(&declared.name));
    let definition = ToolDefinition { name: declared.name.into(), body: Arc::new(body) };
    FunctionTool::from_parts(definition, handler)
}

// ---- The options of a tool that is made at run time, as the macro's attributes set them for others.

/// Options, for raw tools above all. Each call gives another instance.
impl FunctionTool {
    /// What the tool is for.
    #[must_use]
    pub fn category(&self, category: Category) -> Self {
        self.changed(|definition| {
            definition.category = category;
            definition.flags.idempotent |= category == Category::Retrieval;
        })
    }

    /// Where the tool may be called.
    #[must_use]
    pub fn modes(&self, modes: Modes) -> Self {
        self.changed(|definition| definition.modes = modes)
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self, timeout: Duration) -> Self {
        self.changed(|definition| definition.timeout = Some(timeout))
    }

    /// The Unicode scalars that a result may have.
    #[must_use]
    pub fn max_output(&self, scalars: usize) -> Self {
        self.changed(|definition| definition.max_output = Some(scalars))
    }

    /// The JSON Schema of the result. A raw tool's results are held to it.
    #[must_use]
    pub fn output_schema(&self, schema: Value) -> Self {
        self.changed(|definition| definition.output = Some(to_draft_2020_12(&schema)))
    }

    /// A name for people.
    #[must_use]
    pub fn title(&self, title: impl Into<String>) -> Self {
        self.changed(|definition| definition.title = Some(title.into().into()))
    }

    /// Whether a call waits for a person's word.
    #[must_use]
    pub fn confirm(&self, confirm: Confirm) -> Self {
        self.changed(|definition| definition.confirm = confirm)
    }

    /// Its yes-or-no options, all at once. What reads is idempotent whatever they say.
    ///
    /// ```
    /// use tool_core::tool::ToolAnnotations;
    /// use tool_core::FunctionTool;
    ///
    /// fn deletes(tool: &FunctionTool) -> FunctionTool {
    ///     tool.flags(ToolAnnotations { destructive: true, open_world: true, ..tool.definition().flags() })
    /// }
    /// ```
    #[must_use]
    pub fn flags(&self, flags: ToolAnnotations) -> Self {
        self.changed(|definition| {
            definition.flags = flags;
            definition.flags.idempotent |= definition.category == Category::Retrieval;
        })
    }

    /// What happens to a call while another runs, and which calls count as another.
    #[must_use]
    pub fn on_duplicate(&self, what: OnDuplicate, scope: DuplicateScope) -> Self {
        self.changed(|definition| {
            definition.on_duplicate = what;
            definition.duplicate_scope = scope;
        })
    }

    /// The calls a turn may make of it.
    #[must_use]
    pub fn max_calls(&self, calls: u32) -> Self {
        self.changed(|definition| definition.max_calls = Some(calls))
    }

    /// The guide, in markdown.
    #[must_use]
    pub fn guide(&self, markdown: &str) -> Self {
        let guide = Guide::parse(markdown);
        self.changed(|definition| definition.guide = Some(guide))
    }
}
