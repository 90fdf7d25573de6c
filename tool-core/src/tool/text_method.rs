//! Methods whose arguments are texts: what `#[prompt]` and `#[resource]` make of them.
//!
//! Such a method is a function tool that no model sees. Its arguments are decoded, corrected and
//! checked as those of a call.

use crate::arguments::coerce::Coercions;
use crate::call::content::Content;
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::output::encode_owned;
use crate::call::response::ToolResponse;
use crate::call::tool_call::Arguments;
use crate::schema::parameter::Parameter;
use crate::tool::bare_call::call_bare;
use crate::tool::call_settings::CallSettings;
use crate::tool::completion::{Completion, CompletionRequest, TextArguments, no_completion};
use crate::tool::function::FunctionTool;
use crate::tool::invocation::ToolResult;
use crate::tool::invocation::Visible;
use crate::tool::prompt::{Prompt, PromptArgument, PromptDefinition, PromptHandler, PromptMessage};
use crate::tool::published::Published;
use crate::tool::resource::{
    Resource, ResourceContents, ResourceDefinition, ResourceHandler, ResourceRequest,
};
use crate::tool::spec::{Completer, CompletionFuture, PromptSpec, ResourceSpec, ToolSpec};
use crate::tool::uri_template::UriTemplate;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The limits of the decoding. A context checks the sizes itself.
const SETTINGS: CallSettings = CallSettings {
    coercions: Coercions::ALL,
    argument_bytes: usize::MAX,
    output_bytes: MAX_BYTES,
};

/// The maximum size of what a method returns, as JSON.
const MAX_BYTES: usize = 64 << 20;

/// A method of an instance, with the completion of its arguments.
struct TextMethod<T: 'static> {
    tool: FunctionTool,
    instance: Arc<T>,
    completers: &'static [(&'static str, Completer<T>)],
    /// The values of arguments that have few, by name.
    values: BTreeMap<String, Vec<String>>,
}

impl<T: Send + Sync> TextMethod<T> {
    fn new(
        spec: &ToolSpec<T>,
        completers: &'static [(&'static str, Completer<T>)],
        instance: &Arc<T>,
        prefix: Option<&str>,
    ) -> Self {
        let tool = FunctionTool::bind(spec, instance, prefix);
        Self {
            values: few_values(&tool),
            tool,
            instance: Arc::clone(instance),
            completers,
        }
    }

    fn completes(&self, argument: &str) -> bool {
        self.values.contains_key(argument)
            || self.completers.iter().any(|(name, _)| *name == argument)
    }

    fn published<D, H: ?Sized>(
        &self,
        spec: &ToolSpec<T>,
        definition: D,
        handler: Arc<H>,
    ) -> Published<D, H> {
        let published = Published::new(definition, handler)
            .of_instance(Arc::as_ptr(&self.instance).addr(), spec.tool.source)
            .with_problems(problems(&self.tool));
        match spec.visible {
            Some(visible) => published.visible_where(Arc::new(visible) as Arc<Visible>),
            None => published,
        }
    }

    async fn run<R: DeserializeOwned>(
        &self,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<R, ToolError> {
        let arguments = arguments
            .into_iter()
            .map(|(name, text)| (name, Value::String(text)))
            .collect::<Map<_, _>>();
        let arguments = Arguments::from(Value::Object(arguments));
        let find = || Ok((&self.tool, &SETTINGS));
        decode(&call_bare(find, arguments, ctx, false).await)
    }

    fn complete(&self, request: CompletionRequest) -> CompletionFuture<'_> {
        if let Some((_, complete)) = self
            .completers
            .iter()
            .find(|(name, _)| *name == request.argument)
        {
            return complete(&self.instance, request);
        }
        match self.values.get(&request.argument) {
            Some(values) => {
                let values = Completion::matching(&request.value, values);
                Box::pin(std::future::ready(Ok(values)))
            }
            None => no_completion(),
        }
    }
}

impl<T: Send + Sync> PromptHandler for TextMethod<T> {
    fn get<'a>(
        &'a self,
        arguments: TextArguments,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>> {
        Box::pin(self.run(arguments, ctx))
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        _: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        self.complete(request)
    }
}

impl<T: Send + Sync> ResourceHandler for TextMethod<T> {
    fn read<'a>(
        &'a self,
        request: ResourceRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(self.run(request.variables, ctx))
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        _: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        self.complete(request)
    }
}

impl<T: Send + Sync> PromptSpec<T> {
    /// Creates a prompt without completion.
    pub const fn new(method: ToolSpec<T>) -> Self {
        Self {
            method,
            completers: &[],
            bind: Prompt::bind,
        }
    }
}

impl<T: Send + Sync> ResourceSpec<T> {
    /// Creates a resource of a URI, or of all URIs that match a template.
    pub const fn new(uri: &'static str, method: ToolSpec<T>) -> Self {
        Self {
            method,
            uri,
            mime_type: None,
            completers: &[],
            bind: Resource::bind,
        }
    }
}

impl Prompt {
    /// Binds a `#[prompt]` method to its instance.
    fn bind<T: Send + Sync>(spec: &PromptSpec<T>, instance: &Arc<T>, prefix: Option<&str>) -> Self {
        let method = TextMethod::new(&spec.method, spec.completers, instance, prefix);
        let tool = method.tool.definition();
        let mut definition = PromptDefinition::new(tool.name(), tool.description());
        definition.title = tool.title().map(str::to_owned);
        definition.arguments = tool
            .compiled
            .rows
            .iter()
            .map(|row| argument(row, &method))
            .collect();
        let handler = Arc::new(method);
        Self(handler.published(
            &spec.method,
            definition,
            Arc::clone(&handler) as Arc<dyn PromptHandler>,
        ))
    }
}

impl Resource {
    /// Binds a `#[resource]` method to its instance.
    fn bind<T: Send + Sync>(spec: &ResourceSpec<T>, instance: &Arc<T>) -> Self {
        let method = TextMethod::new(&spec.method, spec.completers, instance, None);
        let tool = method.tool.definition();
        let (uri, problem) = match spec.uri.parse::<UriTemplate>() {
            Ok(uri) => (uri, None),
            Err(error) => (UriTemplate::invalid(spec.uri), Some(error.to_string())),
        };
        let completes = uri
            .variables()
            .filter(|name| method.completes(name))
            .map(str::to_owned)
            .collect();
        let mut definition = ResourceDefinition {
            completes,
            ..ResourceDefinition::of(uri, tool.name())
        };
        definition.title = tool.title().map(str::to_owned);
        tool.description().clone_into(&mut definition.description);
        definition.mime_type = spec.mime_type.map(str::to_owned);
        let handler = Arc::new(method);
        let published = handler.published(
            &spec.method,
            definition,
            Arc::clone(&handler) as Arc<dyn ResourceHandler>,
        );
        Self(published.with_problems(problem.into_iter().collect()))
    }
}

fn argument<T: Send + Sync>(row: &Parameter, method: &TextMethod<T>) -> PromptArgument {
    let schema = method.tool.definition().parameters();
    let required = schema["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|name| name == row.name));
    PromptArgument::new(row.name, row.description)
        .required(required)
        .completes(method.completes(row.name))
}

/// Returns the messages, or the contents, of a response.
fn decode<R: DeserializeOwned>(response: &ToolResponse) -> Result<R, ToolError> {
    if let Some(error) = response.error() {
        // An internal error was logged and masked already.
        return Err(
            ToolError::new(error.kind, error.message.clone(), error.retryable).unexpected(),
        );
    }
    if response.meta().truncated().is_some() {
        let message =
            format!("expected a result of at most {MAX_BYTES} bytes; ask for a smaller part");
        return Err(ToolError::permanent(message));
    }
    serde_json::from_str(response.data_json().unwrap_or_default())
        .map_err(|error| ToolError::internal(format!("the result does not decode: {error}")))
}

/// Returns the problems that make the method unusable.
fn problems(tool: &FunctionTool) -> Vec<String> {
    let name = tool.name().escape_debug();
    let compiled = &tool.definition().compiled;
    let mut problems = compiled.problems.clone();
    problems.extend(
        compiled
            .validator()
            .compiled()
            .err()
            .map(|error| format!("its arguments do not compile: {error}")),
    );
    let schema = tool.definition().parameters();
    for row in compiled.rows {
        let mut values = Vec::new();
        if !takes_text(&schema["properties"][row.name], schema, DEPTH, &mut values) {
            let row = row.name;
            problems
                .push(format!("the type of `{row}` is a list or an object, and a text is expected; take a `String`"));
        }
    }
    problems
        .into_iter()
        .map(|problem| format!("`{name}`: {problem}"))
        .collect()
}

/// The depth to which schemas are followed.
const DEPTH: usize = 16;

/// The most values of an argument that are offered without a function.
const MAX_VALUES: usize = 1_000;

/// Returns the values of the arguments that are enums, or `true` and `false`.
fn few_values(tool: &FunctionTool) -> BTreeMap<String, Vec<String>> {
    let schema = tool.definition().parameters();
    let mut all = BTreeMap::new();
    for row in tool.definition().compiled.rows {
        let mut values = Vec::new();
        takes_text(&schema["properties"][row.name], schema, DEPTH, &mut values);
        if !values.is_empty() && values.len() <= MAX_VALUES {
            all.insert(row.name.to_owned(), values);
        }
    }
    all
}

/// Returns true if a text can become a value of the schema. Adds the values that an enum has.
fn takes_text(schema: &Value, root: &Value, depth: usize, values: &mut Vec<String>) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return true;
    };
    if let Some(found) = schema["$ref"]
        .as_str()
        .and_then(|at| root.pointer(at.strip_prefix('#')?))
    {
        return takes_text(found, root, depth, values);
    }
    let listed = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(schema.get("const"));
    let texts = listed.filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    });
    values.extend(texts);
    let choices = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema[keyword].as_array())
        .flatten();
    let choices = choices
        .map(|choice| takes_text(choice, root, depth, values))
        .collect::<Vec<_>>();
    let types = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types.contains(&"boolean") && values.is_empty() {
        values.extend(["true", "false"].map(str::to_owned));
    }
    let is_text = types.is_empty()
        || types
            .iter()
            .any(|name| !matches!(*name, "array" | "object" | "null"));
    is_text && (choices.is_empty() || choices.contains(&true))
}

/// A value that a `#[prompt]` method may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the messages of a prompt",
    label = "this prompt returns `{Self}`",
    note = "a prompt returns a `String`, a `Content`, a `PromptMessage`, a `Vec<PromptMessage>`, or a `Result` of one of these"
)]
pub trait IntoPromptMessages {
    /// Converts to messages.
    fn into_prompt_messages(self) -> Vec<PromptMessage>;
}

macro_rules! one_message {
    ($($type:ty),*) => {$(
        impl IntoPromptMessages for $type {
            fn into_prompt_messages(self) -> Vec<PromptMessage> {
                vec![PromptMessage::user(self)]
            }
        }
    )*};
}

one_message!(String, &str, Content);

impl IntoPromptMessages for Cow<'_, str> {
    fn into_prompt_messages(self) -> Vec<PromptMessage> {
        vec![PromptMessage::user(self.into_owned())]
    }
}

impl IntoPromptMessages for PromptMessage {
    fn into_prompt_messages(self) -> Vec<PromptMessage> {
        vec![self]
    }
}

impl IntoPromptMessages for Vec<PromptMessage> {
    fn into_prompt_messages(self) -> Vec<PromptMessage> {
        self
    }
}

impl<const N: usize> IntoPromptMessages for [PromptMessage; N] {
    fn into_prompt_messages(self) -> Vec<PromptMessage> {
        self.into()
    }
}

/// A value that a `#[resource]` method may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the contents of a resource",
    label = "this resource returns `{Self}`",
    note = "a resource returns a `String`, a `Vec<u8>`, a `Content`, a `ResourceContents`, a `Vec` of these, or a `Result` of one of them"
)]
pub trait IntoResourceContents {
    /// Converts to contents.
    fn into_resource_contents(self) -> Result<Vec<ResourceContents>, ToolError>;
}

macro_rules! one_part {
    ($($type:ty, $value:ident => $contents:expr;)*) => {$(
        impl IntoResourceContents for $type {
            fn into_resource_contents(self) -> Result<Vec<ResourceContents>, ToolError> {
                let $value = self;
                Ok(vec![$contents])
            }
        }
    )*};
}

one_part! {
    String, text => ResourceContents::text(text);
    &str, text => ResourceContents::text(text);
    Cow<'_, str>, text => ResourceContents::text(text);
    Vec<u8>, bytes => ResourceContents::blob(bytes);
    &[u8], bytes => ResourceContents::blob(bytes);
    ResourceContents, contents => contents;
    Content, content => content.try_into()?;
}

impl<T: IntoResourceContents> IntoResourceContents for Vec<T> {
    fn into_resource_contents(self) -> Result<Vec<ResourceContents>, ToolError> {
        let parts = self
            .into_iter()
            .map(IntoResourceContents::into_resource_contents);
        parts
            .collect::<Result<Vec<_>, _>>()
            .map(|parts| parts.into_iter().flatten().collect())
    }
}

/// Converts what a `#[prompt]` method returned.
pub fn prompt_result(value: impl IntoPromptMessages) -> ToolResult {
    encode_owned(value.into_prompt_messages(), MAX_BYTES)
}

/// Converts what a `#[resource]` method returned.
pub fn resource_result(value: impl IntoResourceContents) -> ToolResult {
    encode_owned(value.into_resource_contents()?, MAX_BYTES)
}

/// Boxes the future of a completion.
pub fn completion<'a, F>(future: F) -> CompletionFuture<'a>
where
    F: Future<Output = Result<Completion, ToolError>> + Send + 'a,
{
    Box::pin(future)
}

/// Converts what a `#[prompt]` or `#[resource]` method returned, by `$convert`.
#[doc(hidden)]
#[macro_export]
macro_rules! __respond_text {
    ($convert:ident, $call:expr, $value:ident) => {{
        let _ = $call;
        match $crate::__private::Conversion::of(&$value)
            .__split()
            .__error()
            .outcome($value)
        {
            ::core::result::Result::Ok(__tool_value) => {
                $crate::__private::Execution::Done($crate::__private::$convert(__tool_value))
            }
            ::core::result::Result::Err(__tool_error) => {
                $crate::__private::Execution::failed(__tool_error)
            }
        }
    }};
}

/// Awaits what a completing function returned, if it is a future, and converts it.
#[doc(hidden)]
#[macro_export]
macro_rules! __completed {
    ($value:expr) => {{
        let __tool_value = $value;
        let __tool_kind = $crate::__private::Probe::of(&__tool_value).__tool_future();
        let __tool_value = __tool_kind.into_future(__tool_value).await;
        $crate::__private::Conversion::of(&__tool_value)
            .__split()
            .__error()
            .outcome(__tool_value)
            .map(::core::convert::Into::<$crate::tool::Completion>::into)
    }};
}
