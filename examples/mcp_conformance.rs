//! The tools that the conformance suite of the Model Context Protocol expects of a server:
//! `cargo run --example mcp_conformance --features mcp -- 127.0.0.1:8932`. `tests/conformance/mcp/run.py` runs the suite.

use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;
use tool_adapters::mcp::{ChangeNotifier, Server};
use tool_core::tool::{Completion, CompletionRequest, PromptMessage};
use tool_core::{
    Content, FunctionTool, Progress, RawTool, RunContext, ToolContext, ToolError, UserData, prompt, resource, tool,
};

/// A red pixel as PNG.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV without samples.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Answer with a text.
#[tool]
fn test_simple_text() -> Content {
    Content::text("This is a simple text response for testing.")
}

/// Answer with an image.
#[tool]
fn test_image_content() -> Content {
    Content::image(PIXEL, "image/png")
}

/// Answer with sound.
#[tool]
fn test_audio_content() -> Content {
    Content::audio(SILENCE, "audio/wav")
}

fn embedded(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::Resource { uri: uri.to_owned(), mime_type: Some(mime_type.to_owned()), text: Some(text.to_owned()) }
}

/// Answer with a resource.
#[tool]
fn test_embedded_resource() -> Content {
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
}

/// Answer with parts of several kinds.
#[tool]
fn test_multiple_content_types() -> Vec<Content> {
    let data = r#"{"test":"data","value":123}"#;
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PIXEL, "image/png"),
        embedded("test://mixed-content-resource", "application/json", data),
    ]
}

/// Fail.
#[tool]
fn test_error_handling() -> Result<(), ToolError> {
    Err(ToolError::permanent("This tool intentionally returns an error for testing"))
}

/// Tell how it goes, three times.
#[tool]
async fn test_tool_with_progress(#[context] progress: Progress) -> Content {
    for (done, said) in [(0.0, "begun"), (0.5, "half way"), (1.0, "done")] {
        progress.fraction(done, said);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Progress was reported three times.")
}

/// Do something that a person has to agree to.
#[tool(confirm)]
fn test_input_required_result_tampered_state() -> Content {
    Content::text("A person has agreed.")
}

/// The same under the name that the suite uses for missing answers.
#[tool(confirm)]
fn test_input_required_result_elicitation() -> Content {
    Content::text("A person has agreed.")
}

/// A schema with the keywords that the suite checks.
fn json_schema() -> FunctionTool {
    let parameters = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    raw("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", parameters)
}

/// A parameter that HTTP clients repeat in a header.
fn header() -> FunctionTool {
    let parameters = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"]
    });
    raw("test_custom_header", "Answer with the region that was asked for.", parameters)
}

/// Tell the clients that the list of prompts has changed.
#[tool]
fn test_trigger_prompt_change(#[context] changes: UserData<ChangeNotifier>) {
    changes.prompts_changed();
}

/// A prompt without arguments.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments.
#[prompt]
fn test_prompt_with_arguments(
    /// First test argument
    #[arg(complete = words)]
    arg1: &str,
    /// Second test argument
    arg2: &str,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

fn words(request: &CompletionRequest) -> Completion {
    Completion::matching(&request.value, ["paris", "park", "party", "test", "testValue1"])
}

/// A prompt with a resource in it.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// The URI of the resource to embed
    #[arg(name = "resourceUri")]
    resource_uri: &str,
) -> Vec<PromptMessage> {
    let content = embedded(resource_uri, "text/plain", "Embedded resource content for testing.");
    vec![PromptMessage::user(content), PromptMessage::user("Please process the embedded resource above.")]
}

/// A prompt with an image in it.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    let image = Content::image(PIXEL, "image/png");
    vec![PromptMessage::user(image), PromptMessage::user("Please analyze the image above.")]
}

/// A text.
#[resource(uri = "test://static-text", mime = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// An image.
#[resource(uri = "test://static-binary")]
fn static_binary() -> Content {
    Content::image(PIXEL, "image/png")
}

/// The data of an id.
#[resource(uri = "test://template/{id}/data", mime = "application/json")]
fn template_data(id: &str) -> String {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string()
}

/// A resource to subscribe to.
#[resource(uri = "test://watched-resource", mime = "text/plain")]
fn watched() -> &'static str {
    "Watched."
}

fn raw(name: &str, description: &str, parameters: Value) -> FunctionTool {
    async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(arguments)
    }
    let declared = RawTool { name: name.to_owned(), description: description.to_owned(), parameters };
    FunctionTool::raw(declared, echo).validate(true)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let builder = ToolContext::builder().with(test_simple_text).with(test_image_content).with(test_audio_content);
    let builder = builder.with(test_embedded_resource).with(test_multiple_content_types).with(test_error_handling);
    let builder = builder.with(test_tool_with_progress).with(test_input_required_result_tampered_state);
    let builder = builder.with(test_input_required_result_elicitation).with(json_schema()).with(header());
    let builder = builder.with_prompt(test_simple_prompt).with_prompt(test_prompt_with_arguments);
    let builder = builder.with_prompt(test_prompt_with_embedded_resource).with_prompt(test_prompt_with_image);
    let builder = builder.with_resource(static_text).with_resource(static_binary).with_resource(template_data);
    let builder = builder.with_resource(watched).with(test_trigger_prompt_change);
    let server = Server::from_tools(builder.build()?)?.name("conformance", "1.0.0");
    let changes = server.changes();
    let server = server.session(move |session, _| session.user_data(changes.clone()));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let bound = server.bind(address.parse()?).await?;
    println!("{}", bound.url()?);
    bound.serve().await?;
    Ok(())
}
