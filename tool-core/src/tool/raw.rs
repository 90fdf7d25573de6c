//! Raw tools: the schema is given at run time, and the handler receives the arguments as JSON.

use crate::arguments::shared_schema::{SharedDefinitions, SharedSchema};
use crate::arguments::validate::find_rounded_integer;
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::meta::OutputKind;
use crate::call::mode::Modes;
use crate::call::output::{ToolOutput, encode_tree};
use crate::json::error::Error;
use crate::json::nested::unless_too_deep;
use crate::json::value::ParsedValue;
use crate::schema::compiled::Formats;
use crate::schema::to_draft_2020_12;
use crate::schema::validator::Validator;
use crate::tool::definition::{CompiledDefinition, SourceLocation, ToolDefinition, check_raw_name};
use crate::tool::function::{FunctionTool, Handler};
use crate::tool::guide::Guide;
use crate::tool::invocation::{Execution, HandlerResult, Invocation, Rejection, ToolResult};
use crate::tool::options::{
    Category, DuplicateScope, OnDuplicate, ToolAnnotations, for_each_flag, for_each_option,
};
use futures_util::FutureExt;
use serde::de::Error as _;
use serde_json::{Map, Value, json};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The declaration of a raw tool.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError};
///
/// async fn echo(arguments: Value, _ctx: &RunContext) -> Result<Value, ToolError> {
///     Ok(arguments["text"].clone())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
/// let raw = RawTool { name: "echo".into(), description: "Echo a text.".into(), parameters };
/// let tools = ToolContext::builder().with(FunctionTool::raw(raw, echo).validate(true)).build()?;
///
/// let ctx = RunContext::detached();
/// assert_eq!(tools.call("echo", r#"{"text": "hi"}"#, &ctx).await.data_json(), Some(r#""hi""#));
/// assert!(!tools.call("echo", r#"{"text": 7}"#, &ctx).await.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RawTool {
    /// The name: 1-128 of `A-Z a-z 0-9 _ . : / -`.
    pub name: String,
    /// The description for the model; may be empty.
    pub description: String,
    /// A JSON Schema whose root is an object.
    pub parameters: Value,
}

/// The handler of a raw tool: an `async fn(Value, &RunContext) -> Result<Value, ToolError>`, or a
/// closure of that form without captures.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw tool's handler",
    label = "this handler captures a value, or has another form",
    note = "a handler is an `async fn(Value, &RunContext) -> Result<Value, ToolError>`, or a closure of that form without captures",
    note = "give what a closure captures to `FunctionTool::raw_with(declared, state, async |state: &State, arguments: Value, ctx: &RunContext| ..)`, which lends it to each call"
)]
pub trait RawHandler<'a>: Send + Sync {
    /// The future that the handler returns.
    type Future: Future<Output = Result<Value, ToolError>> + 'a;

    /// Handles one call.
    fn handle(&self, arguments: Value, ctx: &'a RunContext) -> Self::Future;
}

#[diagnostic::do_not_recommend]
impl<'a, F, A> RawHandler<'a> for F
where
    F: Fn(Value, &'a RunContext) -> A + Send + Sync,
    A: Future<Output = Result<Value, ToolError>> + 'a,
{
    type Future = A;

    fn handle(&self, arguments: Value, ctx: &'a RunContext) -> A {
        self(arguments, ctx)
    }
}

/// The handler of a raw tool with state: `async |state: &S, arguments: Value, ctx: &RunContext| ..`. It returns a
/// `Value`, or for [`FunctionTool::raw_output_with`] a [`ToolOutput`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw tool's handler over a state of type `{S}`",
    label = "this handler captures a value, or has another form",
    note = "a handler is an `async fn(&{S}, Value, &RunContext) -> Result<{T}, ToolError>`, or a closure of that form without captures",
    note = "put what a closure captures into the state"
)]
pub trait RawStateHandler<'a, S: 'a, T = Value>: Send + Sync {
    /// The future that the handler returns.
    type Future: Future<Output = Result<T, ToolError>> + 'a;

    /// Handles one call.
    fn handle(&self, state: &'a S, arguments: Value, ctx: &'a RunContext) -> Self::Future;
}

#[diagnostic::do_not_recommend]
impl<'a, S: 'a, F, A, T> RawStateHandler<'a, S, T> for F
where
    F: Fn(&'a S, Value, &'a RunContext) -> A + Send + Sync,
    A: Future<Output = Result<T, ToolError>> + 'a,
{
    type Future = A;

    fn handle(&self, state: &'a S, arguments: Value, ctx: &'a RunContext) -> A {
        self(state, arguments, ctx)
    }
}

/// Passes a call to a handler without state, which takes the place of the state.
struct StatelessHandler;

impl<'a, F: RawHandler<'a> + 'a> RawStateHandler<'a, F> for StatelessHandler {
    type Future = F::Future;

    fn handle(&self, handler: &'a F, arguments: Value, ctx: &'a RunContext) -> F::Future {
        handler.handle(arguments, ctx)
    }
}

/// The result of a raw handler.
trait RawResult: Send {
    /// Checks the data against the output schema, and converts the result.
    fn into_result(self, call: Invocation<'_>) -> ToolResult;
}

impl RawResult for Value {
    fn into_result(self, call: Invocation<'_>) -> ToolResult {
        // A validator recurses.
        if let Some(validator) = output_validator(call.0.tool) {
            let Some(value) = unless_too_deep(self) else {
                return Err(ToolError::internal("the result nests deeper than 128"));
            };
            check_output(validator, &value)?;
            return encode_tree(value, call.0.output_bytes);
        }
        encode_tree(self, call.0.output_bytes)
    }
}

impl RawResult for ToolOutput {
    fn into_result(self, call: Invocation<'_>) -> ToolResult {
        let Some(validator) = output_validator(call.0.tool) else {
            return Ok(self);
        };
        // The output schema applies to data only, neither to content parts nor to data that was
        // cut.
        let is_cut = self
            .meta
            .as_ref()
            .is_some_and(|meta| meta.truncated.is_some());
        let data = self
            .data_json()
            .ok()
            .filter(|_| self.kind == OutputKind::Data && !is_cut);
        if let Some(data) = data.and_then(|text| serde_json::from_str(text).ok()) {
            check_output(validator, &data)?;
        }
        Ok(self)
    }
}

/// A handler and its state. It returns a `T`.
struct BoundHandler<S, F, T> {
    state: S,
    handler: F,
    result: PhantomData<fn() -> T>,
}

impl<S: Send + Sync, T: RawResult, F: for<'a> RawStateHandler<'a, S, T, Future: Send>> Handler
    for BoundHandler<S, F, T>
{
    fn start<'a>(&'a self, call: Invocation<'a>) -> HandlerResult<'a> {
        let arguments = parse_arguments(call)?;
        let result = self.handler.handle(&self.state, arguments, call.0.ctx);
        // An async block would hold the future twice.
        Ok(Execution::pending(result.map(move |result| {
            Execution::Done(result.and_then(|result| result.into_result(call)))
        })))
    }
}

/// Returns the validator of a raw tool's results, which no type enforces.
fn output_validator(tool: &CompiledDefinition) -> Option<&Validator> {
    if tool.checks_output {
        None
    } else {
        tool.output_validator()
    }
}

fn check_output(validator: &Validator, value: &Value) -> Result<(), ToolError> {
    if validator.is_valid(value) {
        return Ok(());
    }
    Err(ToolError::internal(
        "the result does not satisfy the tool's output schema",
    ))
}

/// Parses the arguments as an object. The slow path reports the problems of arguments that fail
/// here.
fn parse_arguments(call: Invocation<'_>) -> Result<Value, Rejection> {
    let arguments = call.parse_valid()?;
    if !arguments.value.is_object() {
        return Err(Error::custom("not an object").into());
    }
    if call.0.tool.validated && !arguments.rounded.is_none() {
        check_rounded(call.0.tool.validator(), &arguments)?;
    }
    call.admit()?;
    Ok(arguments.value)
}

/// Refuses an integer that the value holds rounded. The handler would get another integer. Where the
/// schema says `number`, it gets the nearest number.
#[cold]
fn check_rounded(validator: &Validator, arguments: &ParsedValue) -> Result<(), Error> {
    let Ok(compiled) = validator.compiled() else {
        return Ok(());
    };
    let found = find_rounded_integer(compiled, &arguments.value, &arguments.rounded);
    let Some(pointer) = found else {
        return Ok(());
    };
    let problem = "expected an integer of at most 64 bits, as the tool would round this one";
    Err(Error::custom(problem).at(&pointer))
}

impl FunctionTool {
    /// Creates a tool whose schema is given at run time.
    ///
    /// The handler receives the arguments as they were sent: an object, and otherwise unchecked
    /// unless
    /// [`validate`](Self::validate) is set. Building a context reports the problems of the declaration.
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
        F: for<'a> RawHandler<'a, Future: Send> + 'static,
    {
        raw_tool(declared, handler, StatelessHandler)
    }

    /// Creates a raw tool with state, which the handler borrows.
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
        F: for<'a> RawStateHandler<'a, S, Future: Send> + 'static,
    {
        raw_tool(declared, state, handler)
    }

    /// Creates a raw tool whose handler returns a [`ToolOutput`]: [`Content`](crate::Content) parts, intents, or members
    /// of `meta`. Data has to satisfy the [`output_schema`](Self::output_schema).
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
        F: for<'a> RawStateHandler<'a, S, ToolOutput, Future: Send> + 'static,
    {
        raw_tool(declared, state, handler)
    }

    /// Sets whether arguments have to fit the schema, with all problems reported to the model.
    /// Defaults to false. It applies to raw tools: the arguments of other tools always have to fit.
    ///
    /// An integer of more than 64 bits that a `Value` would round is refused then, even if the schema
    /// takes it. The handler would get another integer. Only where the schema has the type `number`
    /// does the handler get the nearest number.
    pub fn validate(&self, yes: bool) -> Self {
        self.changed(|definition| definition.validated = yes || definition.raw.is_none())
    }

    /// Adds definitions that the parameters refer to as `#/$defs/NAME`, and that several tools
    /// share. The parameters of the tool have no `$defs` of their own then. It applies to raw
    /// tools.
    ///
    /// See [`SharedDefinitions`].
    pub fn definitions(&self, definitions: &SharedDefinitions) -> Self {
        self.changed(|definition| {
            let Some(shared) = &definition.raw else { return };
            if shared.root().get("$defs").is_some() {
                let problem = "its parameters schema has `$defs` of its own; put them into the shared definitions";
                definition.problems.push(problem.to_owned());
                return;
            }
            definition.raw = Some(SharedSchema::of(shared.root().clone(), Some(definitions.clone())));
        })
    }

    /// Reads `format` in the schemas of a raw tool as a description that no value has to fit, as
    /// draft 2020-12 has it by default. By default formats are asserted. Use it for schemas from
    /// elsewhere, whose owner checks the values itself.
    pub fn annotates_formats(&self) -> Self {
        self.changed(|definition| definition.formats = Formats::Annotated)
    }

    /// Sets the declaration of a tool of another server, as that server has sent it, for a server
    /// that passes it on.
    #[doc(hidden)]
    pub fn declared(&self, declared: Map<String, Value>) -> Self {
        let declared = Arc::new(declared);
        self.changed(|definition| definition.declared = Some(declared))
    }

    /// Leaves the check of results against the output schema to the handler of a raw tool.
    #[doc(hidden)]
    pub fn checks_output(&self) -> Self {
        self.changed(|definition| definition.checks_output = true)
    }
}

#[track_caller]
fn raw_tool<S, F, T>(declared: RawTool, state: S, handler: F) -> FunctionTool
where
    S: Send + Sync + 'static,
    F: for<'a> RawStateHandler<'a, S, T, Future: Send> + 'static,
    T: RawResult + 'static,
{
    let caller = Location::caller();
    let source = SourceLocation {
        file: caller.file(),
        line: caller.line(),
    };
    let parameters = unless_too_deep(declared.parameters);
    let is_too_deep = parameters.is_none();
    let parameters = to_draft_2020_12(&parameters.unwrap_or_else(|| json!({"type": "object"})));
    let mut compiled = CompiledDefinition::of_raw(declared.description, parameters, source);
    compiled.problems.extend(check_raw_name(&declared.name));
    let too_deep = "its parameters schema nests deeper than 128; make it flatter";
    compiled
        .problems
        .extend(is_too_deep.then(|| too_deep.to_owned()));
    let definition = ToolDefinition {
        name: declared.name.into(),
        compiled: Arc::new(compiled),
    };
    FunctionTool::new(
        definition,
        Arc::new(BoundHandler {
            state,
            handler,
            result: PhantomData,
        }),
        None,
    )
}

macro_rules! option_setters {
    ($(
        $(#[$get:meta])* get $name:ident: $type:ty = $default:expr;
        $(#[$set:meta])* set($argument:ident: $given:ty) => $value:expr;
    )*) => {
        $(option_setter! { $(#[$set])* $name($argument: $given) => $value })*
    };
}

macro_rules! option_setter {
    // A condition is added to those that the tool has, by `FunctionTool::confirm`.
    ($(#[$set:meta])* confirm($argument:ident: $given:ty) => $value:expr) => {};
    // The schema changes with the treatment.
    ($(#[$set:meta])* on_duplicate($argument:ident: $given:ty) => $value:expr) => {
        $(#[$set])*
        pub fn on_duplicate(&self, $argument: $given) -> Self {
            self.changed(|definition| definition.set_on_duplicate($value))
        }
    };
    ($(#[$set:meta])* $name:ident($argument:ident: $given:ty) => $value:expr) => {
        $(#[$set])*
        pub fn $name(&self, $argument: $given) -> Self {
            self.changed(|definition| definition.options.$name = $value)
        }
    };
}

macro_rules! flag_setters {
    ($($(#[$doc:meta])* $name:ident() => $($field:ident).+ = $value:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(&self) -> Self {
            self.changed(|definition| definition.options.$($field).+ = $value)
        })*
    };
}

/// Options, for raw tools above all. Each setter returns a new instance of the tool.
impl FunctionTool {
    for_each_option!(option_setters);
    for_each_flag!(flag_setters);

    /// Sets all yes-or-no options at once. A retrieval is idempotent in any case.
    ///
    /// ```
    /// use tool_core::tool::ToolAnnotations;
    /// use tool_core::FunctionTool;
    ///
    /// fn deletes(tool: &FunctionTool) -> FunctionTool {
    ///     tool.flags(ToolAnnotations { destructive: Some(true), open_world: Some(true), ..tool.definition().flags() })
    /// }
    /// ```
    pub fn flags(&self, flags: ToolAnnotations) -> Self {
        self.changed(|definition| definition.options.annotations = flags)
    }

    /// Sets the title for people.
    pub fn title(&self, title: impl Into<String>) -> Self {
        self.changed(|definition| definition.title = Some(title.into().into()))
    }

    /// Sets the guide, in markdown.
    pub fn guide(&self, markdown: &str) -> Self {
        self.changed(|definition| definition.guide = Some(Guide::parse(markdown)))
    }

    /// Sets the description of the result for people.
    pub fn returns(&self, text: impl Into<String>) -> Self {
        self.changed(|definition| definition.returns = Some(text.into().into()))
    }

    /// Sets the JSON Schema of the result. A raw tool's results have to satisfy it.
    #[allow(clippy::needless_pass_by_value)] // callers pass a `json!` literal, as to `RawTool`
    pub fn output_schema(&self, schema: Value) -> Self {
        let schema = unless_too_deep(schema);
        self.changed(|definition| match schema {
            Some(schema) => {
                definition.output = Some(SharedSchema::of(to_draft_2020_12(&schema), None));
            }
            None => definition
                .problems
                .push("its output schema nests deeper than 128; make it flatter".to_owned()),
        })
    }
}
