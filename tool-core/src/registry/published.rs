//! The prompts and resources of a context: found by name and by URI, and used without a session.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::{Content, RunContext};
use crate::registry::context::ToolContext;
use crate::registry::freeze::RegistryError;
use crate::text::{escape_invisible, truncate};
use crate::tool::function::RequiredSetup;
use crate::tool::published::Published;
use crate::tool::{
    Completion, CompletionRequest, CompletionTarget, Prompt, PromptMessage, Resource, ResourceContents, TextArguments,
    Toolset,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Prompts and resources, as they were added to a context or as it uses them.
#[derive(Clone, Default)]
pub(crate) struct PromptsAndResources {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    /// The position of each prompt by its name.
    prompt_index: FxHashMap<String, usize>,
    /// The position of each resource by its URI or template.
    resource_index: FxHashMap<String, usize>,
}

impl PromptsAndResources {
    /// Adds those of a toolset. `owner` is the setup that they need.
    pub(crate) fn add(&mut self, toolset: &Arc<dyn Toolset>, owner: Option<&Arc<dyn RequiredSetup>>) {
        self.prompts.extend(Arc::clone(toolset).prompts().into_iter().map(|prompt| prompt.after_setup(owner)));
        self.resources.extend(Arc::clone(toolset).resources().into_iter().map(|resource| resource.after_setup(owner)));
    }

    /// Removes repeated instances, and indexes the rest. Names and URIs that collide are problems. Returns `None` if there
    /// are neither prompts nor resources.
    pub(crate) fn freeze(self, problems: &mut Vec<RegistryError>) -> Option<Arc<Self>> {
        if self.prompts.is_empty() && self.resources.is_empty() {
            return None;
        }
        for message in self.prompts.iter().flat_map(|prompt| prompt.definition().problems()) {
            problems.push(RegistryError::new(message, []));
        }
        let mut frozen = Self::default();
        for prompt in self.prompts {
            let name = prompt.name().to_owned();
            match frozen.prompt_index.get(&name).and_then(|at| frozen.prompts.get(*at)) {
                None => {
                    frozen.prompt_index.insert(name, frozen.prompts.len());
                    frozen.prompts.push(prompt);
                }
                Some(other) if other.0.same(&prompt.0) => {}
                Some(other) => {
                    let message = format!(
                        "duplicate prompt name: {}; rename one, or give a toolset a `prefix`",
                        name.escape_debug()
                    );
                    problems.push(collision(message, &other.0, &prompt.0));
                }
            }
        }
        for resource in self.resources {
            let uri = resource.uri().to_owned();
            match frozen.resource_index.get(&uri).and_then(|at| frozen.resources.get(*at)) {
                None => {
                    frozen.resource_index.insert(uri, frozen.resources.len());
                    frozen.resources.push(resource);
                }
                Some(other) if other.0.same(&resource.0) => {}
                Some(other) => {
                    let message = format!("duplicate resource URI: {}; change one", uri.escape_debug());
                    problems.push(collision(message, &other.0, &resource.0));
                }
            }
        }
        Some(Arc::new(frozen))
    }
}

fn collision<D, H: ?Sized>(message: String, first: &Published<D, H>, second: &Published<D, H>) -> RegistryError {
    RegistryError::new(message, [first.source(), second.source()].into_iter().flatten())
}

/// Prompts and resources, without a session. See [`Session`](crate::Session) for their use under its limits.
impl ToolContext {
    /// Returns all prompts, in order.
    pub fn prompts(&self) -> &[Prompt] {
        self.published().map_or(&[], |published| &published.prompts)
    }

    /// Returns all resources, in order. Some are [templates](crate::tool::ResourceDefinition::is_template).
    pub fn resources(&self) -> &[Resource] {
        self.published().map_or(&[], |published| &published.resources)
    }

    /// Returns the prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        let published = self.published()?;
        published.prompts.get(*published.prompt_index.get(name)?)
    }

    /// Returns the resource of that URI, with the values of its template's variables: the one that has exactly this URI, or
    /// else the first whose template matches.
    pub fn resource(&self, uri: &str) -> Option<(&Resource, TextArguments)> {
        self.find_resource(uri, |_| true)
    }

    /// Makes the messages of a prompt, with panics caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such prompt, `VALIDATION` if the arguments do not fit, and the error of the handler.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        let prompt = self.visible_prompt(name, ctx)?;
        self.check_input("arguments", arguments.iter().map(|(name, value)| name.len() + value.len()).sum())?;
        let messages = prompt.get(arguments, ctx).await?;
        self.check_output("messages", messages.iter().map(|message| content_bytes(&message.content)).sum())?;
        Ok(messages)
    }

    /// Reads a resource, with panics caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such resource, and the error of the handler.
    pub async fn read_resource(&self, uri: &str, ctx: &RunContext) -> Result<Vec<ResourceContents>, ToolError> {
        let found = self.find_resource(uri, |resource| resource.visible_in(ctx));
        let (resource, variables) = found.ok_or_else(|| unknown("resource", uri))?;
        let contents = resource.read(uri, variables, ctx).await?;
        self.check_output("contents", contents.iter().map(ResourceContents::bytes).sum())?;
        Ok(contents)
    }

    /// Completes an argument of a prompt, or a variable of a resource's template, with panics caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such prompt or resource, `VALIDATION` if it has no such argument, and the error of the
    /// handler.
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        request: CompletionRequest,
        ctx: &RunContext,
    ) -> Result<Completion, ToolError> {
        let context = request.context.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        self.check_input("argument", request.value.len() + context)?;
        let completion = match target {
            CompletionTarget::Prompt(name) => self.visible_prompt(name, ctx)?.complete(request, ctx).await?,
            CompletionTarget::Resource(uri) => {
                let resource = self.published().and_then(|all| all.resources.get(*all.resource_index.get(uri)?));
                let resource = resource.filter(|resource| resource.visible_in(ctx));
                resource.ok_or_else(|| unknown("resource", uri))?.complete(request, ctx).await?
            }
        };
        self.check_output("values", completion.bytes())?;
        Ok(completion)
    }

    fn visible_prompt(&self, name: &str, ctx: &RunContext) -> Result<&Prompt, ToolError> {
        let prompt = self.prompt(name).filter(|prompt| prompt.visible_in(ctx));
        prompt.ok_or_else(|| unknown("prompt", name))
    }

    fn find_resource(&self, uri: &str, visible: impl Fn(&Resource) -> bool) -> Option<(&Resource, TextArguments)> {
        let published = self.published()?;
        let exact = published.resource_index.get(uri).and_then(|at| published.resources.get(*at));
        if let Some(exact) = exact.filter(|resource| !resource.definition().is_template() && visible(resource)) {
            return Some((exact, TextArguments::new()));
        }
        let templates = published.resources.iter().filter(|resource| resource.definition().is_template());
        let mut matching = templates.filter_map(|resource| Some((resource, resource.definition().uri.matches(uri)?)));
        matching.find(|(resource, _)| visible(resource))
    }

    fn check_input(&self, what: &str, bytes: usize) -> Result<(), ToolError> {
        let limit = self.settings().argument_bytes;
        if bytes <= limit {
            return Ok(());
        }
        Err(ToolError::validation(format!("expected {what} of at most {limit} bytes, got {bytes}")))
    }

    fn check_output(&self, what: &str, bytes: usize) -> Result<(), ToolError> {
        let limit = self.settings().output_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("expected {what} of at most {limit} bytes, got {bytes}; ask for a smaller part");
        Err(ToolError::new(ErrorKind::Permanent, message, false))
    }
}

/// Returns the number of bytes of a part.
fn content_bytes(content: &Content) -> usize {
    match content {
        Content::Text { text } => text.len(),
        Content::Image { data, .. } | Content::Audio { data, .. } => data.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.as_ref().map_or(0, String::len),
    }
}

fn unknown(what: &str, name: &str) -> ToolError {
    ToolError::not_found(format!("there is no {what} `{}`", escape_invisible(&truncate(name, 256))))
}
