//! Prompts and resources in generic types, in parts, and of functions.
#![deny(warnings, unused_qualifications, clippy::all, clippy::pedantic)]
#![allow(
    clippy::unused_async,
    clippy::unnecessary_wraps,
    reason = "the forms of functions are what is tested"
)]

use std::fmt::Display;
use tool_core::tool::{Completion, CompletionRequest, PromptMessage, ResourceContents};
use tool_core::{Content, RunContext, ToolContext, ToolError, prompt, resource, toolset};

/// A shelf of one thing.
#[derive(Debug)]
pub struct Shelf<T>(pub T);

#[toolset(discover = false, parts(papers))]
impl<T: Display + Send + Sync + 'static> Shelf<T> {
    /// Describe the thing.
    #[prompt]
    async fn describe(
        &self,
        r#type: &str,
        #[arg(complete = Self::sizes)] size: Option<u8>,
    ) -> PromptMessage {
        PromptMessage::user(format!("{} is a {type} of size {size:?}", self.0))
    }

    fn sizes(&self, request: &CompletionRequest) -> Result<[String; 2], ToolError> {
        Ok([format!("{}1", request.value), self.0.to_string()])
    }
}

#[toolset(part = papers)]
impl<T: Display + Send + Sync + 'static> Shelf<T> {
    /// The thing in words.
    #[resource(uri = "shelf://{+path}")]
    fn thing(&self, ctx: &RunContext, path: &str) -> Vec<ResourceContents> {
        vec![ResourceContents::text(format!(
            "{}/{path}/{:?}",
            self.0,
            ctx.session()
        ))]
    }
}

/// Say hello.
#[prompt(name = "hello")]
fn greet(#[arg(complete = names)] name: &str) -> Vec<PromptMessage> {
    vec![PromptMessage::user(format!("Hello, {name}"))]
}

async fn names(request: &CompletionRequest) -> Completion {
    Completion::matching(&request.value, ["Ada", "Bob"])
}

/// A picture.
#[resource(uri = "picture://one", mime = "image/png")]
fn picture() -> Result<Content, String> {
    Ok(Content::image("aGk=", "image/png"))
}

#[test]
fn prompts_and_resources_compile() {
    let tools = ToolContext::builder()
        .with(Shelf(7))
        .with_prompt(greet)
        .with_resource(picture);
    let tools = tools.build().expect("sound");
    assert_eq!(
        tools
            .prompts()
            .iter()
            .map(tool_core::tool::Prompt::name)
            .collect::<Vec<_>>(),
        ["hello", "describe"]
    );
    assert_eq!(tools.resources().len(), 2);
}
