//! Prompts: messages that a person chooses by name, and fills in with arguments.

use crate::call::content::Content;
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::original::OriginalPart;
use crate::call::sampling::Role;
use crate::text::escape_invisible;
use crate::tool::completion::{Completion, CompletionRequest, TextArguments, no_completion};
use crate::tool::invocation::{RequiredSetup, Visible};
use crate::tool::published::Published;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// A message of a prompt.
#[derive(Clone, Serialize, Deserialize)]
pub struct PromptMessage {
    /// The author.
    pub role: Role,
    /// The text, or what else the message shows.
    pub content: Content,
    /// The message as another server has sent it.
    #[doc(hidden)]
    #[serde(skip)]
    pub original: Option<OriginalPart>,
}

impl PartialEq for PromptMessage {
    fn eq(&self, other: &Self) -> bool {
        self.role == other.role && self.content == other.content
    }
}

impl Eq for PromptMessage {}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "what another server has sent says the same"
)]
impl fmt::Debug for PromptMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptMessage")
            .field("role", &self.role)
            .field("content", &self.content)
            .finish()
    }
}

impl PromptMessage {
    /// Creates a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
            original: None,
        }
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            original: None,
        }
    }

    /// Returns the number of bytes of the message.
    pub(crate) fn bytes(&self) -> usize {
        self.content.bytes()
            + self
                .original
                .as_ref()
                .map_or(0, |original| original.further_bytes)
    }
}

/// An argument of a prompt. Its values are texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description; may be empty.
    pub description: String,
    /// True where the prompt needs a value.
    pub required: bool,
    /// True where the handler completes the argument.
    pub completes: bool,
}

impl PromptArgument {
    /// Creates an argument that may be left out.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Sets the title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Requires a value.
    #[must_use]
    pub fn required(mut self, yes: bool) -> Self {
        self.required = yes;
        self
    }

    /// Declares that the handler completes the argument.
    #[must_use]
    pub fn completes(mut self, yes: bool) -> Self {
        self.completes = yes;
        self
    }
}

/// The definition of a prompt, as a client sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptDefinition {
    /// The name, by which a client asks for the prompt: 1-256 bytes without control characters.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description; may be empty.
    pub description: String,
    /// The arguments, in order.
    pub arguments: Vec<PromptArgument>,
    /// The declaration as another server has sent it.
    #[doc(hidden)]
    pub declared: Option<Arc<Map<String, Value>>>,
}

impl PromptDefinition {
    /// Creates the definition of a prompt without arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Sets the title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Returns the problems of the definition.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.name.is_empty() || self.name.len() > 256 || self.name.contains(char::is_control) {
            let name = self.name.escape_debug();
            problems.push(format!(
                "invalid prompt name `{name}`: names are 1-256 bytes without control characters"
            ));
        }
        for (at, argument) in self.arguments.iter().enumerate() {
            if self
                .arguments
                .iter()
                .take(at)
                .any(|other| other.name == argument.name)
            {
                let name = self.name.escape_debug();
                let argument = argument.name.escape_debug();
                problems.push(format!(
                    "prompt `{name}`: duplicate argument `{argument}`; rename one"
                ));
            }
        }
        problems
    }

    /// Checks the names of arguments.
    pub(crate) fn check(&self, arguments: &TextArguments) -> Result<(), ToolError> {
        let quoted = |name: &str| format!("`{}`", escape_invisible(name));
        let is_missing = |argument: &&PromptArgument| {
            argument.required && !arguments.contains_key(argument.name.as_str())
        };
        let missing = self
            .arguments
            .iter()
            .filter(is_missing)
            .map(|argument| quoted(&argument.name));
        let is_unknown = |name: &&String| {
            self.arguments
                .iter()
                .all(|argument| argument.name != **name)
        };
        // The names are the client's, so few of them are repeated.
        let unknown = arguments
            .keys()
            .filter(is_unknown)
            .take(3)
            .map(|name| quoted(&crate::text::truncate(name, 64)));
        let missing = missing.collect::<Vec<_>>();
        let unknown = unknown.collect::<Vec<_>>();
        let mut problems = Vec::new();
        if !missing.is_empty() {
            problems.push(format!(
                "expected the arguments {}, got none of these",
                missing.join(", ")
            ));
        }
        if !unknown.is_empty() {
            let known = self
                .arguments
                .iter()
                .map(|argument| quoted(&argument.name))
                .collect::<Vec<_>>();
            let known = if known.is_empty() {
                "no arguments".to_owned()
            } else {
                known.join(", ")
            };
            problems.push(format!("expected {known}, got {}", unknown.join(", ")));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ToolError::validation(problems.join("; ")))
        }
    }
}

/// The handler of a prompt: makes the messages, and completes arguments.
///
/// A function from [`TextArguments`] and a [`RunContext`] to a future of the messages implements
/// it, without completion.
pub trait PromptHandler: Send + Sync + 'static {
    /// Makes the messages. Required arguments are there, and all have names of the definition.
    ///
    /// # Errors
    ///
    /// The error that the client reads. The text of an internal error goes to the log only.
    fn get<'a>(
        &'a self,
        arguments: TextArguments,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>>;

    /// Completes an argument whose definition says that it [`completes`](PromptArgument::completes). Defaults to no values.
    ///
    /// # Errors
    ///
    /// The error that the client reads.
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        let _ = (request, ctx);
        no_completion()
    }
}

impl<F, A> PromptHandler for F
where
    F: Fn(TextArguments, RunContext) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Vec<PromptMessage>, ToolError>> + Send + 'static,
{
    fn get<'a>(
        &'a self,
        arguments: TextArguments,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>> {
        Box::pin(self(arguments, ctx.clone()))
    }
}

/// A prompt: messages that a person chooses by name, and fills in with arguments. Cheap to clone.
///
/// `#[prompt]` makes one of a method. [`new`](Self::new) makes one at run time.
///
/// ```
/// use tool_core::tool::{Prompt, PromptArgument, PromptDefinition, PromptMessage, TextArguments};
/// use tool_core::{RunContext, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let definition = PromptDefinition::new("review", "Review code.")
///     .argument(PromptArgument::new("code", "The code").required(true));
/// let review = Prompt::new(definition, async |arguments: TextArguments, _ctx: RunContext| {
///     Ok(vec![PromptMessage::user(format!("Review this code:\n{}", arguments["code"]))])
/// });
/// let tools = ToolContext::builder().with_prompt(review).build()?;
///
/// let arguments = TextArguments::from([("code".to_owned(), "1 + 1".to_owned())]);
/// let messages = tools.get_prompt("review", arguments, &RunContext::detached()).await?;
/// assert_eq!(messages, [PromptMessage::user("Review this code:\n1 + 1")]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Prompt(pub(crate) Published<PromptDefinition, dyn PromptHandler>);

impl Prompt {
    /// Creates a prompt.
    pub fn new(definition: PromptDefinition, handler: impl PromptHandler) -> Self {
        Self(Published::new(definition, Arc::new(handler)))
    }

    /// Returns the definition.
    pub fn definition(&self) -> &PromptDefinition {
        &self.0.definition
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.definition.name
    }

    /// Returns the same prompt under another name.
    pub fn renamed(&self, name: impl Into<String>) -> Self {
        let mut prompt = self.clone();
        prompt.0.definition = Arc::new(PromptDefinition {
            name: name.into(),
            ..self.definition().clone()
        });
        prompt
    }

    /// Hides the prompt from runs for which `visible` returns false. It is called for each listing
    /// and each use.
    pub fn dynamic(&self, visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static) -> Self {
        self.visible_where(Arc::new(visible))
    }

    /// Returns true if the run of `ctx` sees the prompt.
    pub fn visible_in(&self, ctx: &RunContext) -> bool {
        self.0.visible_in(self.name(), ctx)
    }

    pub(crate) fn visible_where(&self, visible: Arc<Visible>) -> Self {
        Self(self.0.clone().visible_where(visible))
    }

    pub(crate) fn after_setup(self, setup: Option<&Arc<dyn RequiredSetup>>) -> Self {
        Self(self.0.after_setup(setup))
    }

    /// Makes the messages.
    pub(crate) async fn get(
        &self,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        self.definition().check(&arguments)?;
        self.0
            .run(self.name(), |handler| handler.get(arguments, ctx))
            .await
    }

    /// Completes an argument.
    pub(crate) async fn complete(
        &self,
        request: CompletionRequest,
        ctx: &RunContext,
    ) -> Result<Completion, ToolError> {
        let Some(argument) = self
            .definition()
            .arguments
            .iter()
            .find(|known| known.name == request.argument)
        else {
            let argument = escape_invisible(&request.argument);
            let prompt = self.name().escape_debug();
            return Err(ToolError::validation(format!(
                "prompt `{prompt}` has no argument `{argument}`"
            )));
        };
        if !argument.completes {
            return Ok(Completion::default());
        }
        Ok(self
            .0
            .run(self.name(), |handler| handler.complete(request, ctx))
            .await?
            .bounded())
    }
}

impl PartialEq for Prompt {
    /// Compares by identity and name.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.0.same(&other.0)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prompt").field(self.definition()).finish()
    }
}
