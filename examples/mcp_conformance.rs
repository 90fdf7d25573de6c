//! The tools that the conformance suite of the Model Context Protocol expects of a server:
//! `cargo run --example mcp_conformance --features mcp -- 127.0.0.1:8932`. `tests/conformance/mcp/run.py` runs the suite.

use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;
use tool_adapters::mcp::{ChangeNotifier, Server, TaskSupport};
use tool_core::call::{LogLevel, RawQuestion, SamplingRequest};
use tool_core::tool::{Completion, CompletionRequest, PromptMessage};
use tool_core::{
    Content, FunctionTool, Progress, RawTool, RunContext, ToolContext, ToolDefinition, ToolError,
    UserData, prompt, resource, tool, tool_type,
};

/// A red pixel as PNG.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// The guide of a tool, which is a skill.
const GUIDE: &str =
    "# Regions\n\nAnswers with a region.\n\n## Watch Out\n\nA region is any text.\n";
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
    Content::Resource {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text: Some(text.to_owned()),
        name: None,
    }
}

/// Answer with a resource.
#[tool]
fn test_embedded_resource() -> Content {
    embedded(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    )
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
    Err(ToolError::permanent(
        "This tool intentionally returns an error for testing",
    ))
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

/// Log three messages.
#[tool]
async fn test_tool_with_logging(ctx: &RunContext) -> Content {
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        ctx.log(LogLevel::Info, "conformance", text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Three messages were logged.")
}

/// Log a message that no request asks for.
#[tool]
async fn test_logging_tool(ctx: &RunContext) -> Content {
    ctx.log(LogLevel::Error, "conformance", "not asked for");
    tokio::time::sleep(Duration::from_millis(10)).await;
    Content::text("A message was logged.")
}

/// Ask the model of the client.
#[tool]
async fn test_sampling(ctx: &RunContext, prompt: String) -> Result<Content, ToolError> {
    let answer = ctx
        .sample(SamplingRequest::new(prompt).max_tokens(100))
        .await?;
    Ok(Content::text(format!("LLM response: {}", answer.text())))
}

/// Ask the model, which not every client allows.
#[tool]
async fn test_missing_capability(ctx: &RunContext) -> Result<Content, ToolError> {
    Ok(Content::text(
        ctx.sample(SamplingRequest::new("Hello?")).await?.text(),
    ))
}

/// A user, as the suite asks for one.
#[tool_type]
#[derive(Debug)]
struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// Ask the user for a name.
#[tool]
async fn test_elicitation(ctx: &RunContext, message: String) -> Result<Content, ToolError> {
    let answer = ctx.ask::<User>(message).await?;
    Ok(Content::text(format!("User response: {answer:?}")))
}

/// Ask the user on the stream of the answer.
#[tool]
async fn test_streaming_elicitation(ctx: &RunContext) -> Result<Content, ToolError> {
    Ok(Content::text(format!(
        "User response: {:?}",
        ctx.ask::<bool>("Go on?").await?
    )))
}

/// Ask with defaults for every kind of field.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &RunContext) -> Result<Content, ToolError> {
    let form = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true}
        }
    });
    Ok(Content::text(format!(
        "Elicitation completed: {:?}",
        ctx.ask_raw(RawQuestion::form("Who are you?", form)).await?
    )))
}

/// Ask with every kind of choice.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &RunContext) -> Result<Content, ToolError> {
    let titled = json!([
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"}
    ]);
    let names = json!(["option1", "option2", "option3"]);
    let form = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": names},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}}
        }
    });
    Ok(Content::text(format!(
        "Elicitation completed: {:?}",
        ctx.ask_raw(RawQuestion::form("Choose.", form)).await?
    )))
}

/// Answer after a while, for clients that lose their stream.
#[tool]
async fn test_reconnection() -> Content {
    tokio::time::sleep(Duration::from_millis(500)).await;
    Content::text("Still here.")
}

/// A name, as the suite asks for one.
#[tool_type]
struct Named {
    name: String,
}

async fn ask_name(ctx: &RunContext, key: &str) -> Result<String, ToolError> {
    Ok(ctx
        .ask::<Named>("What is your name?")
        .named(key)
        .await?
        .required()?
        .name)
}

/// Ask for a name.
#[tool]
async fn test_input_required_result_elicitation(ctx: &RunContext) -> Result<Content, ToolError> {
    Ok(Content::text(format!(
        "Hello, {}!",
        ask_name(ctx, "user_name").await?
    )))
}

/// Ask the model for a capital.
#[tool]
async fn test_input_required_result_sampling(ctx: &RunContext) -> Result<Content, ToolError> {
    let request = SamplingRequest::new("What is the capital of France?").max_tokens(100);
    Ok(Content::text(
        ctx.sample(request).named("capital_question").await?.text(),
    ))
}

/// Ask for the client's roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: &RunContext) -> Result<Content, ToolError> {
    let roots = ctx.roots().named("client_roots").await?;
    Ok(Content::text(
        roots
            .iter()
            .map(|root| root.uri.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    ))
}

/// Ask for a yes, and keep a state meanwhile.
#[tool]
async fn test_input_required_result_request_state(ctx: &RunContext) -> Result<Content, ToolError> {
    let form =
        json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    ctx.ask_raw(RawQuestion::form("Please confirm", form))
        .named("confirm")
        .await?
        .required()?;
    Ok(Content::text("state-ok"))
}

/// Ask the user, the model and for the roots at once.
#[tool]
async fn test_input_required_result_multiple_inputs(
    ctx: &RunContext,
) -> Result<Content, ToolError> {
    let greeting = ctx
        .sample(SamplingRequest::new("Generate a greeting").max_tokens(50))
        .named("greeting");
    let roots = ctx.roots().named("client_roots");
    let (name, greeting, roots) = tokio::join!(ask_name(ctx, "user_name"), greeting, roots);
    Ok(Content::text(format!(
        "{} {}, of {} roots",
        greeting?.text(),
        name?,
        roots?.len()
    )))
}

/// Ask two questions, one after the other.
#[tool]
async fn test_input_required_result_multi_round(ctx: &RunContext) -> Result<Content, ToolError> {
    let name = ask_name(ctx, "step1").await?;
    let form = json!({"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]});
    let color = ctx
        .ask_raw(RawQuestion::form(
            "Step 2: What is your favorite color?",
            form,
        ))
        .named("step2")
        .await?
        .required()?;
    Ok(Content::text(format!("{name} likes {}", color["color"])))
}

/// Ask in the ways that the client allows.
#[tool]
async fn test_input_required_result_capabilities(ctx: &RunContext) -> Result<Content, ToolError> {
    let (asked, sampled) = tokio::join!(
        ctx.ask::<bool>("Well?"),
        ctx.sample(SamplingRequest::new("Well?"))
    );
    Ok(Content::text(format!(
        "asked: {}, sampled: {}",
        asked.is_ok(),
        sampled.is_ok()
    )))
}

/// Greet.
#[tool]
fn greet(name: String) -> Content {
    Content::text(format!("Hello, {name}!"))
}

/// Compute for some seconds.
#[tool(timeout = "2m")]
async fn slow_compute(seconds: u64, label: Option<String>) -> Content {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Content::text(format!("computed {}", label.unwrap_or_default()))
}

/// Fail after a second.
#[tool]
async fn failing_job() -> Result<(), ToolError> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(ToolError::permanent("the job has failed"))
}

/// Fail by a mistake of the program.
#[tool]
async fn protocol_error_job() -> Result<(), ToolError> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    Err(ToolError::internal("the program is broken"))
}

/// Delete a file that the user confirms, after a look at it.
#[tool]
async fn confirm_delete(ctx: &RunContext, filename: String) -> Result<Content, ToolError> {
    tokio::time::sleep(Duration::from_millis(50)).await;
    let form = json!({"type": "object", "properties": {"confirm": {"type": "boolean"}}});
    ctx.ask_raw(RawQuestion::form(format!("Delete {filename}?"), form))
        .await?
        .required()?;
    Ok(Content::text("deleted"))
}

/// Ask two questions at once, after a while.
#[tool]
async fn multi_input(ctx: &RunContext) -> Result<Content, ToolError> {
    tokio::time::sleep(Duration::from_millis(50)).await;
    let form = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "confirm": {"type": "boolean"}}
    });
    let (one, other) = tokio::join!(
        ctx.ask_raw(RawQuestion::form("One?", form.clone())),
        ctx.ask_raw(RawQuestion::form("Two?", form))
    );
    Ok(Content::text(format!("{:?} {:?}", one?, other?)))
}

/// Ask for a name, and work for a while.
#[tool]
async fn test_tool_with_task(ctx: &RunContext) -> Result<Content, ToolError> {
    let name = ask_name(ctx, "user_name").await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(Content::text(format!("Hello, {name}!")))
}

/// Returns the tools that run as tasks.
fn task_support(tool: &ToolDefinition) -> TaskSupport {
    match tool.name() {
        "failing_job" | "test_tool_with_task" => TaskSupport::Required,
        "slow_compute" | "protocol_error_job" | "confirm_delete" | "multi_input" => {
            TaskSupport::Optional
        }
        _ => TaskSupport::Forbidden,
    }
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
    raw(
        "json_schema_2020_12_tool",
        "Tool with JSON Schema 2020-12 features",
        parameters,
    )
}

/// A parameter that HTTP clients repeat in a header.
fn header() -> FunctionTool {
    let parameters = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"]
    });
    raw(
        "test_custom_header",
        "Answer with the region that was asked for.",
        parameters,
    )
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

/// A prompt that asks for its context.
#[prompt]
async fn test_input_required_result_prompt(ctx: &RunContext) -> Result<String, ToolError> {
    let form = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
    let question = RawQuestion::form("What context should the prompt use?", form);
    let answer = ctx
        .ask_raw(question)
        .named("user_context")
        .await?
        .required()?;
    Ok(format!("Use this context: {}", answer["context"]))
}

fn words(request: &CompletionRequest) -> Completion {
    Completion::matching(
        &request.value,
        ["paris", "park", "party", "test", "testValue1"],
    )
}

/// A prompt with a resource in it.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// The URI of the resource to embed
    #[arg(name = "resourceUri")]
    resource_uri: &str,
) -> Vec<PromptMessage> {
    let content = embedded(
        resource_uri,
        "text/plain",
        "Embedded resource content for testing.",
    );
    vec![
        PromptMessage::user(content),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// A prompt with an image in it.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    let image = Content::image(PIXEL, "image/png");
    vec![
        PromptMessage::user(image),
        PromptMessage::user("Please analyze the image above."),
    ]
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
    let declared = RawTool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    };
    FunctionTool::raw(declared, echo).validate(true)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let builder = ToolContext::builder()
        .with(test_simple_text)
        .with(test_image_content)
        .with(test_audio_content);
    let builder = builder
        .with(test_embedded_resource)
        .with(test_multiple_content_types)
        .with(test_error_handling);
    let builder = builder
        .with(test_tool_with_progress)
        .with(test_input_required_result_tampered_state);
    let builder = builder
        .with(test_input_required_result_elicitation)
        .with(json_schema())
        .with(header().guide(GUIDE));
    let builder = builder
        .with_prompt(test_simple_prompt)
        .with_prompt(test_prompt_with_arguments);
    let builder = builder
        .with_prompt(test_prompt_with_embedded_resource)
        .with_prompt(test_prompt_with_image);
    let builder = builder.with_prompt(test_input_required_result_prompt);
    let builder = builder
        .with_resource(static_text)
        .with_resource(static_binary)
        .with_resource(template_data);
    let builder = builder
        .with_resource(watched)
        .with(test_trigger_prompt_change);
    let builder = builder
        .with(test_tool_with_logging)
        .with(test_logging_tool)
        .with(test_sampling);
    let builder = builder
        .with(test_missing_capability)
        .with(test_elicitation)
        .with(test_streaming_elicitation);
    let builder = builder
        .with(test_elicitation_sep1034_defaults)
        .with(test_elicitation_sep1330_enums);
    let builder = builder
        .with(test_reconnection)
        .with(test_input_required_result_sampling);
    let builder = builder
        .with(test_input_required_result_list_roots)
        .with(test_input_required_result_request_state);
    let builder = builder.with(test_input_required_result_multiple_inputs);
    let builder = builder
        .with(test_input_required_result_multi_round)
        .with(test_input_required_result_capabilities);
    let builder = builder
        .with(greet)
        .with(slow_compute)
        .with(failing_job)
        .with(protocol_error_job);
    let builder = builder
        .with(confirm_delete)
        .with(multi_input)
        .with(test_tool_with_task);
    let server = Server::from_tools(builder.build()?)?
        .name("conformance", "1.0.0")
        .tasks(task_support);
    let changes = server.changes();
    let server = server.session(move |session, _| session.user_data(changes.clone()));
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let bound = server.bind(address.parse()?).await?;
    println!("{}", bound.url()?);
    bound.serve().await?;
    Ok(())
}
