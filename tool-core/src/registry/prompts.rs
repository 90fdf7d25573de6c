//! The prompts and resources of a context: found by name and by URI, and used without a session.

use crate::call::RunContext;
use crate::call::error::{ErrorKind, ToolError};
use crate::registry::context::ToolContext;
use crate::text::{escape_invisible, truncate};
use crate::tool::{
    Completion, CompletionRequest, CompletionTarget, Prompt, PromptMessage, Resource,
    ResourceContents, TextArguments,
};

/// Prompts and resources, without a session. See [`Session`](crate::Session) for their use under
/// its limits.
impl ToolContext {
    /// Returns all prompts, in order.
    pub fn prompts(&self) -> &[Prompt] {
        self.published().map_or(&[], |published| &published.prompts)
    }

    /// Returns all resources, in order. Some are [templates](crate::tool::ResourceDefinition::is_template).
    pub fn resources(&self) -> &[Resource] {
        self.published()
            .map_or(&[], |published| &published.resources)
    }

    /// Returns the prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        let published = self.published()?;
        published.prompts.get(*published.prompt_index.get(name)?)
    }

    /// Returns the resource of that URI, with the values of its template's variables: the one that
    /// has exactly this URI, or else the first whose template matches.
    pub fn resource(&self, uri: &str) -> Option<(&Resource, TextArguments)> {
        self.find_resource(uri, |_| true)
    }

    /// Makes the messages of a prompt, with panics caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such prompt, `VALIDATION` if the arguments do not fit, and
    /// the error of the handler.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        let prompt = self.visible_prompt(name, ctx)?;
        self.check_input(
            "arguments",
            arguments
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum(),
        )?;
        let messages = prompt.get(arguments, ctx).await?;
        self.check_output("messages", messages.iter().map(PromptMessage::bytes).sum())?;
        Ok(messages)
    }

    /// Reads a resource, with panics caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such resource, and the error of the handler.
    pub async fn read_resource(
        &self,
        uri: &str,
        ctx: &RunContext,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let found = self.find_resource(uri, |resource| resource.visible_in(ctx));
        let (resource, variables) = found.ok_or_else(|| unknown("resource", uri))?;
        let contents = resource.read(uri, variables, ctx).await?;
        self.check_output(
            "contents",
            contents.iter().map(ResourceContents::bytes).sum(),
        )?;
        Ok(contents)
    }

    /// Completes an argument of a prompt, or a variable of a resource's template, with panics
    /// caught and sizes limited.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run sees no such prompt or resource, `VALIDATION` if it has no such
    /// argument, and the error of the handler.
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        request: CompletionRequest,
        ctx: &RunContext,
    ) -> Result<Completion, ToolError> {
        let context = request
            .context
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>();
        self.check_input("argument", request.value.len() + context)?;
        let completion = match target {
            CompletionTarget::Prompt(name) => {
                self.visible_prompt(name, ctx)?
                    .complete(request, ctx)
                    .await?
            }
            CompletionTarget::Resource(uri) => {
                let resource = self
                    .published()
                    .and_then(|all| all.resources.get(*all.resource_index.get(uri)?));
                let resource =
                    resource.filter(|resource| resource.is_listed() && resource.visible_in(ctx));
                resource
                    .ok_or_else(|| unknown("resource", uri))?
                    .complete(request, ctx)
                    .await?
            }
        };
        self.check_output("values", completion.bytes())?;
        Ok(completion)
    }

    fn visible_prompt(&self, name: &str, ctx: &RunContext) -> Result<&Prompt, ToolError> {
        let prompt = self.prompt(name).filter(|prompt| prompt.visible_in(ctx));
        prompt.ok_or_else(|| unknown("prompt", name))
    }

    fn find_resource(
        &self,
        uri: &str,
        visible: impl Fn(&Resource) -> bool,
    ) -> Option<(&Resource, TextArguments)> {
        let published = self.published()?;
        let exact = published
            .resource_index
            .get(uri)
            .and_then(|at| published.resources.get(*at));
        if let Some(exact) =
            exact.filter(|resource| !resource.definition().is_template() && visible(resource))
        {
            return Some((exact, TextArguments::new()));
        }
        // What a list has is found before what is in none.
        [true, false].into_iter().find_map(|is_listed| {
            let templates = published
                .resources
                .iter()
                .filter(|resource| resource.definition().is_template());
            let templates = templates.filter(|resource| resource.is_listed() == is_listed);
            let mut matching = templates
                .filter_map(|resource| Some((resource, resource.definition().uri.matches(uri)?)));
            matching.find(|(resource, _)| resource.serves(uri) && visible(resource))
        })
    }

    fn check_input(&self, what: &str, bytes: usize) -> Result<(), ToolError> {
        let limit = self.settings().argument_bytes;
        if bytes <= limit {
            return Ok(());
        }
        Err(ToolError::validation(format!(
            "expected {what} of at most {limit} bytes, got {bytes}"
        )))
    }

    fn check_output(&self, what: &str, bytes: usize) -> Result<(), ToolError> {
        let limit = self.settings().output_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let message = format!(
            "expected {what} of at most {limit} bytes, got {bytes}; ask for a smaller part"
        );
        Err(ToolError::new(ErrorKind::Permanent, message, false))
    }
}

fn unknown(what: &str, name: &str) -> ToolError {
    ToolError::not_found(format!(
        "there is no {what} `{}`",
        escape_invisible(&truncate(name, 256))
    ))
}
