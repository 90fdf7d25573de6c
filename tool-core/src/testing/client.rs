//! An in-process client that calls tools as a model would.

use crate::call::context::RunContext;
use crate::call::error::{ErrorBody, ErrorList, ToolError};
use crate::call::handlers::handler_setters;
use crate::call::response::ToolResponse;
use crate::call::tool_call::Arguments;
use crate::json::canonical::canonical;
use crate::registry::ToolContext;
use crate::tool::{
    Completion, CompletionRequest, CompletionTarget, PromptMessage, ResourceContents,
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::panic::Location;
use std::sync::Arc;

/// An in-process client that calls tools by name with JSON, as a model would, and records the
/// calls. It uses prompts and resources as a client of the Model Context Protocol does.
///
/// Calls are bare: they have decoding, the panic guard and the size limit, but no session. A clone
/// shares the record, so that it can be passed to the code under test.
///
/// ```
/// use serde_json::json;
/// use tool_core::testing::Client;
/// use tool_core::{ErrorKind, ToolContext, tool};
///
/// /// Divide two numbers.
/// #[tool]
/// fn divide(a: f64, b: f64) -> Result<f64, String> {
///     if b == 0.0 { Err("b is 0".to_owned()) } else { Ok(a / b) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let client = Client::new(ToolContext::builder().with(divide).build()?);
///
/// let quotient = client.call_ok::<f64>("divide", json!({"a": 1, "b": 4})).await;
/// assert_eq!(quotient, 0.25);
///
/// let error = client.call_err("divide", json!({"a": 1})).await;
/// assert_eq!(error.kind, ErrorKind::Validation);
///
/// client.assert_called("divide");
/// client.assert_called_with("divide", &json!({"b": 4.0, "a": 1}));
/// assert_eq!(client.calls().len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// A handler answers what tools ask of their host:
///
/// ```
/// use tool_core::call::{Answer, Question};
/// use tool_core::serde_json::json;
/// use tool_core::testing::Client;
/// use tool_core::{RunContext, ToolContext, ToolError, tool};
///
/// /// Cancel the booking.
/// #[tool(category = "action")]
/// async fn cancel(ctx: &RunContext) -> Result<bool, ToolError> {
///     Ok(ctx.ask::<bool>("Cancel it?").await?.accepted() == Some(true))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let client = Client::new(ToolContext::builder().with(cancel).build()?).on_question(async |question: Question| {
///     assert_eq!(question.message, "Cancel it?");
///     Ok(Answer::Accepted(json!({"answer": true})))
/// });
/// assert!(client.call_ok::<bool>("cancel", "{}").await);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    tools: ToolContext,
    ctx: RunContext,
    calls: Arc<Mutex<Vec<RecordedCall>>>,
}

/// A call that a client made.
///
/// ```
/// use serde_json::json;
/// use tool_core::testing::Client;
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let client = Client::new(ToolContext::builder().with(add).build()?);
/// client.call("add", r#"{"a": 1, "b": 2}"#).await;
/// let calls = client.calls();
/// assert_eq!((calls[0].name(), calls[0].arguments()), ("add", json!({"a": 1, "b": 2})));
/// assert_eq!(calls[0].response().data_json(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RecordedCall {
    name: String,
    arguments: String,
    response: ToolResponse,
}

impl RecordedCall {
    /// Returns the tool's name, as it was called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of the arguments, as it was sent.
    pub fn arguments_json(&self) -> &str {
        &self.arguments
    }

    /// Returns the arguments, or null if their text is not JSON.
    pub fn arguments(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }

    /// Returns the response.
    pub fn response(&self) -> &ToolResponse {
        &self.response
    }
}

impl Client {
    /// Creates a client of tools. Calls run in [`RunContext::detached`].
    pub fn new(tools: ToolContext) -> Self {
        Self {
            tools,
            ctx: RunContext::detached(),
            calls: Arc::default(),
        }
    }

    /// Sets the context of the calls, for tools that need user data, state or a mode.
    ///
    /// ```
    /// use tool_core::testing::Client;
    /// use tool_core::{Mode, RunContext, ToolContext};
    ///
    /// let ctx = RunContext::builder().session("s-1").mode(Mode::Voice).user_data(42_u32).build();
    /// let client = Client::new(ToolContext::builder().build()?).with_context(ctx);
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    #[must_use]
    pub fn with_context(mut self, ctx: RunContext) -> Self {
        self.ctx = ctx;
        self
    }

    handler_setters! {
        ///
        /// It is set in the context that was set before, and in the client only.
        #[must_use]
        |client| client.ctx.own_handlers()
    }

    /// Returns the tools.
    pub fn tools(&self) -> &ToolContext {
        &self.tools
    }

    /// Calls a tool. The arguments are a `serde_json::Value` or a text, which may be invalid JSON.
    pub async fn call<'a>(&self, name: &str, arguments: impl Into<Arguments<'a>>) -> ToolResponse {
        self.record(name, arguments.into()).await
    }

    /// Calls a tool that must succeed, and returns its data.
    ///
    /// # Panics
    ///
    /// Panics with the envelope if the call fails, or its data is not a `T`.
    #[track_caller]
    pub fn call_ok<'a, T: DeserializeOwned>(
        &'a self,
        name: &'a str,
        arguments: impl Into<Arguments<'a>>,
    ) -> impl Future<Output = T> + Send + 'a {
        // An `async fn` does not know its caller.
        let caller = Location::caller();
        let arguments = arguments.into();
        async move {
            let response = self.record(name, arguments).await;
            match response.data() {
                Ok(data) => data,
                Err(error) => {
                    let error = ErrorList::from(error);
                    let expected = std::any::type_name::<T>();
                    panic!(
                        "{caller}: expected `{name}` to return {expected}: {error}\n{}",
                        shown(&response)
                    )
                }
            }
        }
    }

    /// Calls a tool that must fail, and returns the error.
    ///
    /// # Panics
    ///
    /// Panics with the envelope if the call succeeds.
    #[track_caller]
    pub fn call_err<'a>(
        &'a self,
        name: &'a str,
        arguments: impl Into<Arguments<'a>>,
    ) -> impl Future<Output = ErrorBody> + Send + 'a {
        let caller = Location::caller();
        let arguments = arguments.into();
        async move {
            let response = self.record(name, arguments).await;
            match response.error() {
                Some(error) => error.clone(),
                None => panic!(
                    "{caller}: expected `{name}` to fail, and it succeeded\n{}",
                    shown(&response)
                ),
            }
        }
    }

    /// Makes the messages of a prompt. They are not recorded.
    ///
    /// # Errors
    ///
    /// The error that a client gets.
    ///
    /// ```
    /// use tool_core::testing::Client;
    /// use tool_core::tool::PromptMessage;
    /// use tool_core::{ErrorKind, ToolContext, prompt};
    ///
    /// /// Explain a word.
    /// #[prompt]
    /// fn explain(word: &str) -> String {
    ///     format!("Explain {word}.")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new(ToolContext::builder().with_prompt(explain).build()?);
    /// let messages = client.get_prompt("explain", [("word", "entropy")]).await?;
    /// assert_eq!(messages, [PromptMessage::user("Explain entropy.")]);
    /// let error = client.get_prompt("explain", []).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Validation);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_prompt<'a>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        let arguments = arguments
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        self.tools.get_prompt(name, arguments, &self.ctx).await
    }

    /// Reads a resource. It is not recorded.
    ///
    /// # Errors
    ///
    /// The error that a client gets.
    ///
    /// ```
    /// use tool_core::testing::Client;
    /// use tool_core::{ToolContext, resource};
    ///
    /// /// The square of a number.
    /// #[resource(uri = "squares://{number}")]
    /// fn square(number: u64) -> String {
    ///     (number * number).to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new(ToolContext::builder().with_resource(square).build()?);
    /// assert_eq!(client.read_resource("squares://7").await?[0].as_text(), Some("49"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, ToolError> {
        self.tools.read_resource(uri, &self.ctx).await
    }

    /// Completes an argument of a prompt, or a variable of a resource's template.
    ///
    /// # Errors
    ///
    /// The error that a client gets.
    ///
    /// ```
    /// use tool_core::testing::Client;
    /// use tool_core::tool::{CompletionRequest, CompletionTarget};
    /// use tool_core::{ToolContext, prompt};
    ///
    /// /// Sort a list.
    /// #[prompt]
    /// fn sort(#[arg(one_of("up", "down"))] order: &str) -> String {
    ///     format!("Sort {order}.")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new(ToolContext::builder().with_prompt(sort).build()?);
    /// let target = CompletionTarget::Prompt("sort".to_owned());
    /// let completion = client.complete(&target, CompletionRequest::new("order", "d")).await?;
    /// assert_eq!(completion.values, ["down"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        request: CompletionRequest,
    ) -> Result<Completion, ToolError> {
        self.tools.complete(target, request, &self.ctx).await
    }

    /// Returns the calls so far, in the order of their responses.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.calls.lock().clone()
    }

    /// Clears the record of calls.
    pub fn clear(&self) {
        self.calls.lock().clear();
    }

    /// Asserts that a tool was called.
    ///
    /// # Panics
    ///
    /// Panics with all calls if the tool was not called.
    #[track_caller]
    pub fn assert_called(&self, name: &str) {
        let calls = self.calls();
        assert!(
            calls.iter().any(|call| call.name == name),
            "`{name}` was not called\n{}",
            listed(&calls)
        );
    }

    /// Asserts that a tool was not called.
    ///
    /// # Panics
    ///
    /// Panics with all calls if the tool was called.
    #[track_caller]
    pub fn assert_not_called(&self, name: &str) {
        let calls = self.calls();
        assert!(
            calls.iter().all(|call| call.name != name),
            "`{name}` was called\n{}",
            listed(&calls)
        );
    }

    /// Asserts that a tool was called with arguments, which are compared as JSON: the order of keys
    /// does not matter, and `1` is equal to `1.0`.
    ///
    /// # Panics
    ///
    /// Panics with all calls if the tool was not called with these arguments.
    #[track_caller]
    pub fn assert_called_with(&self, name: &str, arguments: &Value) {
        let calls = self.calls();
        let wanted = canonical(arguments);
        let found = calls
            .iter()
            .any(|call| call.name == name && canonical(&call.arguments()) == wanted);
        assert!(
            found,
            "`{name}` was not called with {arguments}\n{}",
            listed(&calls)
        );
    }

    async fn record(&self, name: &str, arguments: Arguments<'_>) -> ToolResponse {
        let sent = match arguments.text() {
            Ok(text) => text.to_owned(),
            Err(_) => format!("{arguments:?}"),
        };
        let response = self.tools.call(name, arguments, &self.ctx).await;
        let call = RecordedCall {
            name: name.to_owned(),
            arguments: sent,
            response: response.clone(),
        };
        self.calls.lock().push(call);
        response
    }
}

/// Formats the envelope for a panic message.
fn shown(response: &ToolResponse) -> String {
    serde_json::to_string_pretty(response).unwrap_or_else(|error| error.to_string())
}

fn listed(calls: &[RecordedCall]) -> String {
    if calls.is_empty() {
        return "no calls were made".to_owned();
    }
    let lines = calls
        .iter()
        .map(|call| format!("  {}({})", call.name, call.arguments));
    format!("calls:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
