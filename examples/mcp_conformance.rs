//! The tools that the conformance suite of the Model Context Protocol expects of a server:
//! `cargo run --example mcp_conformance --features mcp -- 127.0.0.1:8932`. `tests/conformance/mcp/run.py` runs the suite.

use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;
use tool_adapters::mcp::Server;
use tool_core::{Content, FunctionTool, Progress, RawTool, RunContext, ToolContext, ToolError, tool};

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

fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::Resource { uri: uri.to_owned(), mime_type: Some(mime_type.to_owned()), text: Some(text.to_owned()) }
}

/// Answer with a resource.
#[tool]
fn test_embedded_resource() -> Content {
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
}

/// Answer with parts of several kinds.
#[tool]
fn test_multiple_content_types() -> Vec<Content> {
    let data = r#"{"test":"data","value":123}"#;
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PIXEL, "image/png"),
        resource("test://mixed-content-resource", "application/json", data),
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
    let server = Server::from_tools(builder.build()?)?.name("conformance", "1.0.0");
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let bound = server.bind(address.parse()?).await?;
    println!("{}", bound.url()?);
    bound.serve().await?;
    Ok(())
}
