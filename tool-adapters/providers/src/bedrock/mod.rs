//! Bedrock's Converse. Its stream has AWS's binary frames. An event is an object with one member,
//! named after its kind, such as `{"contentBlockDelta": {..}}`.
//!
//! Every content block is an item, thoughts with their signatures among them. A tool that the
//! provider ran itself (`server_tool_use`, or any other type) is not a call to answer.
//!
//! - Skipped are events of unknown kinds without a piece of a block, and pieces of unknown kinds
//!   for blocks that are no calls. Blocks of unknown kinds are items.
//! - All else is a part of the answer: an event that is no object, a member of another form, a
//!   piece without its index or its open block, and a block whose index skips another is an error,
//!   and so is an event whose name ends with `Exception`.
//! - `messageStart` and `metadata` have no part of the answer, and may be missing. A block may lack
//!   its end if it shows that it is whole, as those of Messages.
//! - What comes again counts once. It has to say the same.

pub(crate) mod models;
pub(crate) mod read;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, DOCX, MEGABYTE, WEB_IMAGES, XLSX};
use crate::anthropic;
use crate::bedrock::read::ConverseReader;
use crate::declared_tool::{DeclaredTool, ObjectText};
use crate::part_form::has_form;
use crate::prompt_cache::{PromptCache, mark_bedrock};
use crate::schema::rules::PropertyNames;
use crate::setting_places::{Setting, SettingPlace};
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, NamedModel, ProviderNames, ProviderSpec,
    Server, UrlPath, segments,
};
use crate::structured::{AnswerForm, AnswerSchema, StructuredOutput};
use crate::token_counter::{TokenCounter, only};
use crate::turns::TurnForm;
use serde_json::{Value, json};

/// The service model: the formats of each kind. docs.aws.amazon.com, `Message`: at most 3.75 MB an
/// image and 4.5 MB a document; "Video understanding": 25 MB. Which kinds a model takes, its own
/// page tells.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES).at_most(3_750_000),
    sounds: AcceptedMedia::bytes(&[
        "audio/wav",
        "audio/mpeg",
        "audio/aac",
        "audio/ogg",
        "audio/opus",
        "audio/flac",
        "audio/mp4",
        "audio/webm",
    ])
    .at_most(25 * MEGABYTE),
    videos: AcceptedMedia::bytes(&[
        "video/mp4",
        "video/mpeg",
        "video/quicktime",
        "video/x-matroska",
        "video/x-flv",
        "video/webm",
        "video/wmv",
        "video/3gpp",
    ])
    .at_most(25 * MEGABYTE),
    documents: AcceptedMedia::bytes(&[
        "application/pdf",
        "application/msword",
        DOCX,
        "application/vnd.ms-excel",
        XLSX,
        "text/csv",
        "text/html",
        "text/plain",
        "text/markdown",
    ])
    .at_most(4_500_000),
};

/// The facts of Converse.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: model_of_url,
    }),
    declaration: write_declaration,
    // Anthropic's models refuse the whole request for another name. The interface does not say
    // which model answers.
    property_names: Some(PropertyNames::ANTHROPIC),
    accepted: ACCEPTED,
    // Bedrock passes the schema to the same compiler of grammars.
    strict: Some(anthropic::STRICT),
    answer_form: Some(AnswerForm {
        write: write_answer,
        needs_strict: true,
        support: structured_output,
    }),
    settings: SETTINGS,
    takes_tool_choice: models::takes_tool_choice,
    has_reasoning: write::ConverseTurns::is_thought,
    prompt_cache: PromptCache::Breakpoints(mark_bedrock),
    ..ProviderSpec::new(
        ProviderNames {
            otel: "aws.bedrock",
            biller: Some("aws"),
            ..ProviderNames::of("bedrock")
        },
        Endpoint::Http(HttpEndpoint {
            token_counter: Some(TokenCounter {
                path: |model| segments(&["model", model, "count-tokens"]),
                body: |_, body| json!({"input": {"converse": only(body, COUNTED_MEMBERS)}}),
                result: "/inputTokens",
            }),
            ..HttpEndpoint::new(SERVER, path_of_model)
        }),
        MessageForm {
            reader: || Box::<ConverseReader>::default(),
            encode: write::encode,
            request: write::request,
            has_form: has_form::<write::ConverseTurns>,
        },
    )
};

/// The members that the endpoint for counting takes.
const COUNTED_MEMBERS: &[&str] = &[
    "additionalModelRequestFields",
    "messages",
    "system",
    "toolConfig",
];

/// The others are settings of single models, in `additionalModelRequestFields`.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["inferenceConfig", "temperature"]),
    SettingPlace::at(Setting::TopP, &["inferenceConfig", "topP"]),
    SettingPlace::at(Setting::Stop, &["inferenceConfig", "stopSequences"]),
    SettingPlace::shaped(
        Setting::FirstTool,
        &["toolConfig", "toolChoice"],
        |name| json!({"tool": {"name": name}}),
    ),
];

const SERVER: Server = Server {
    base_url_env: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
    region_env: &["AWS_REGION", "AWS_DEFAULT_REGION"],
    ..Server::new(
        "https://bedrock-runtime.{region}.amazonaws.com",
        &["AWS_BEARER_TOKEN_BEDROCK"],
    )
};

fn path_of_model(model: &str, stream: bool) -> Vec<String> {
    let method = if stream {
        "converse-stream"
    } else {
        "converse"
    };
    segments(&["model", model, method])
}

fn model_of_url(path: &UrlPath<'_>) -> Option<NamedModel> {
    let converses = matches!(path.last, "converse" | "converse-stream");
    path.segment_after("model").filter(|_| converses).map(Some)
}

/// Writes the form of a text. The schema is a text in JSON.
fn write_answer(answer: &AnswerSchema<'_>) -> Value {
    let schema = json!({"schema": answer.schema.to_string(), "name": answer.name, "description": answer.description});
    json!({"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}})
}

/// The models of other companies differ, so that the form is used only where nothing depends on
/// tools.
fn structured_output(model: &str, _host: &str) -> StructuredOutput {
    if model.contains("claude") {
        anthropic::structured_output(model)
    } else {
        StructuredOutput::WithoutTools
    }
}

fn write_declaration(tool: &DeclaredTool<'_>) -> String {
    let schema = ObjectText::new().raw("json", tool.schema).finish();
    let spec = ObjectText::new()
        .with("name", tool.name)
        .with("description", tool.some_description())
        .raw("inputSchema", &schema)
        .with_some("strict", tool.strict_flag());
    ObjectText::new().raw("toolSpec", &spec.finish()).finish()
}
