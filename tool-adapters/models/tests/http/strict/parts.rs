//! The forms of images, sounds, videos and documents that providers take in the messages of the user and in results, as rules.

use crate::strict::rules::{Rule, broken, items, messages, of_role, rule, text};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Chat Completions.
pub(crate) const CHAT_PARTS: &[Rule] = &[
    rule(
        "a part of the user is a text, an image, a sound or a file",
        "openai-python, `ChatCompletionContentPartParam`",
        |body| user_parts(body).all(is_chat_part),
    ),
    rule(
        "a result is a text, or has texts",
        "openai-python, `ChatCompletionToolMessageParam`",
        has_results_of_text,
    ),
];

/// Mistral, which writes the URL of an image, a document and a sound as a text.
pub(crate) const MISTRAL_PARTS: &[Rule] = &[
    rule(
        "a part of the user is a text, an image, a sound or a document",
        "mistralai, `ContentChunk`",
        |body| user_parts(body).all(is_mistral_part),
    ),
    rule(
        "a result is a text",
        "docs.mistral.ai, Function calling",
        |body| of_role(body, "tool").all(|message| message["content"].is_string()),
    ),
];

pub(crate) const COHERE_PARTS: &[Rule] = &[
    rule(
        "a part of the user is a text or an image",
        "cohere, `UserMessageV2Content`",
        |body| {
            user_parts(body).all(|part| match text(part, "type") {
                "text" => part["text"].is_string(),
                "image_url" => is_image_url(&part["image_url"]),
                _ => false,
            })
        },
    ),
    rule(
        "a result has texts and documents",
        "cohere, `ToolContent`",
        |body| {
            let parts = of_role(body, "tool").flat_map(|message| items(&message["content"]));
            parts
                .into_iter()
                .all(|part| matches!(text(part, "type"), "text" | "document"))
        },
    ),
];

pub(crate) const RESPONSES_PARTS: &[Rule] = &[rule(
    "a part of the user and of an output is a text, an image or a file",
    "openai-python, `ResponseInputContentParam`",
    |body| {
        let input = items(&body["input"]).iter();
        let of_user = input.clone().filter(|item| item["role"] == "user");
        let parts = of_user.flat_map(|item| items(&item["content"]));
        let outputs = input.flat_map(|item| items(&item["output"]));
        parts.chain(outputs).all(is_response_part)
    },
)];

pub(crate) const MESSAGES_PARTS: &[Rule] = &[rule(
    "an image and a document have a source of their kind",
    "anthropic, `ImageBlockParam` and `DocumentBlockParam`",
    |body| {
        let blocks = messages(body)
            .iter()
            .flat_map(|message| items(&message["content"]));
        let in_results = blocks.clone().flat_map(|block| items(&block["content"]));
        blocks.chain(in_results).all(is_anthropic_block)
    },
)];

pub(crate) const GENERATE_CONTENT_PARTS: &[Rule] = &[rule(
    "data has a type and base64, and a file has a URI",
    "google-genai, `Blob` and `FileData`",
    |body| {
        let parts = items(&body["contents"])
            .iter()
            .flat_map(|content| items(&content["parts"]));
        let in_results = parts
            .clone()
            .filter_map(|part| part.pointer("/functionResponse/parts"))
            .flat_map(items);
        parts.chain(in_results).all(|part| {
            let data = part.get("inlineData").is_none_or(|data| {
                has_members(data, &["mimeType", "data"]) && is_base64(text(data, "data"))
            });
            let file = part.get("fileData").is_none_or(|file| {
                has_members(file, &["mimeType", "fileUri"]) && is_url(text(file, "fileUri"))
            });
            data && file
        })
    },
)];

pub(crate) const CONVERSE_PARTS: &[Rule] = &[
    rule(
        "a file has a format of its kind, and bytes",
        "the service model, `ImageBlock`, `DocumentBlock`, `VideoBlock` and `AudioBlock`",
        |body| converse_blocks(body).all(is_converse_block),
    ),
    rule(
        "a document has a name of words, and a text beside it",
        "docs.aws.amazon.com, `DocumentBlock` and `Message`",
        |body| {
            let is_allowed =
                |letter: char| letter.is_ascii_alphanumeric() || " -()[]".contains(letter);
            let mut names =
                converse_blocks(body).filter_map(|block| block.pointer("/document/name"));
            let are_named = names.all(|name| {
                let name = name.as_str().unwrap_or_default();
                !name.is_empty() && !name.contains("  ") && name.chars().all(is_allowed)
            });
            let has_text = messages(body).iter().all(|message| {
                let blocks = items(&message["content"]);
                let has = |kind: &str| blocks.iter().any(|block| block.get(kind).is_some());
                !has("document") || has("text")
            });
            are_named && has_text
        },
    ),
    rule(
        "no two documents have one name",
        "\"Messages can't contain duplicate document names\"",
        |body| {
            let mut known = HashSet::new();
            let mut names = converse_blocks(body)
                .filter_map(|block| block.pointer("/document/name"))
                .map(|name| name.to_string().to_lowercase());
            names.all(|name| known.insert(name))
        },
    ),
];

pub(crate) const OLLAMA_PARTS: &[Rule] = &[rule(
    "images are base64, in messages of the user",
    "ollama, api/types.go: `ImageData`",
    |body| {
        messages(body).iter().all(|message| {
            let images = items(&message["images"]);
            let is_data = |image: &Value| image.as_str().is_some_and(is_base64);
            images.iter().all(is_data) && (images.is_empty() || message["role"] == "user")
        })
    },
)];

fn user_parts(body: &Value) -> impl Iterator<Item = &Value> {
    of_role(body, "user").flat_map(|message| items(&message["content"]))
}

fn has_results_of_text(body: &Value) -> bool {
    let parts = of_role(body, "tool").flat_map(|message| items(&message["content"]));
    parts.into_iter().all(|part| part["type"] == "text")
}

fn is_chat_part(part: &Value) -> bool {
    match text(part, "type") {
        "text" => part["text"].is_string(),
        "image_url" => is_image_url(&part["image_url"]),
        "input_audio" => {
            let sound = &part["input_audio"];
            has_members(sound, &["data", "format"])
                && is_base64(text(sound, "data"))
                && matches!(text(sound, "format"), "wav" | "mp3")
        }
        "file" => {
            let file = &part["file"];
            has_members(file, &["filename", "file_data"])
                && is_data_url(text(file, "file_data"), "application/pdf")
                && !text(file, "filename").is_empty()
        }
        _ => false,
    }
}

fn is_image_url(image: &Value) -> bool {
    let url = text(image, "url");
    has_members(image, &["url"]) && (is_data_url(url, "image/") || is_url(url))
}

fn is_mistral_part(part: &Value) -> bool {
    let is_file = |url: &str, kind: &str| is_data_url(url, kind) || is_url(url);
    match text(part, "type") {
        "text" => part["text"].is_string(),
        "image_url" => is_file(text(part, "image_url"), "image/"),
        "document_url" => is_file(text(part, "document_url"), "application/pdf"),
        "input_audio" => {
            let sound = text(part, "input_audio");
            is_base64(sound) || is_url(sound)
        }
        _ => false,
    }
}

fn is_response_part(part: &Value) -> bool {
    match text(part, "type") {
        "input_text" => part["text"].is_string(),
        "input_image" => {
            let url = text(part, "image_url");
            part["detail"].is_string() && (is_data_url(url, "image/") || is_url(url))
        }
        "input_file" => match part.get("file_url") {
            Some(url) => url.as_str().is_some_and(is_url) && part.get("file_data").is_none(),
            None => is_data_url(text(part, "file_data"), "") && !text(part, "filename").is_empty(),
        },
        _ => false,
    }
}

fn is_anthropic_block(block: &Value) -> bool {
    let source = &block["source"];
    let media_type = text(source, "media_type");
    let kinds = match text(block, "type") {
        "image" => &["image/jpeg", "image/png", "image/gif", "image/webp"][..],
        "document" => &["application/pdf"][..],
        _ => return true,
    };
    match text(source, "type") {
        "base64" => kinds.contains(&media_type) && is_base64(text(source, "data")),
        "url" => text(source, "url").starts_with("https://"),
        "text" => block["type"] == "document" && media_type == "text/plain",
        _ => false,
    }
}

/// Returns the blocks of all messages, and those in results.
fn converse_blocks(body: &Value) -> impl Iterator<Item = &Value> {
    let blocks = messages(body)
        .iter()
        .flat_map(|message| items(&message["content"]));
    let in_results = blocks
        .clone()
        .filter_map(|block| block.pointer("/toolResult/content"))
        .flat_map(items);
    blocks.chain(in_results)
}

fn is_converse_block(block: &Value) -> bool {
    const FORMATS: [(&str, &[&str]); 4] = [
        ("image", &["png", "jpeg", "gif", "webp"]),
        (
            "document",
            &[
                "pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md",
            ],
        ),
        (
            "video",
            &[
                "mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp",
            ],
        ),
        (
            "audio",
            &[
                "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "m4a", "webm",
            ],
        ),
    ];
    FORMATS.iter().all(|(kind, formats)| {
        block.get(*kind).is_none_or(|file| {
            let bytes = file.pointer("/source/bytes").and_then(Value::as_str);
            formats.contains(&text(file, "format")) && bytes.is_some_and(is_base64)
        })
    })
}

fn has_members(value: &Value, names: &[&str]) -> bool {
    let members = value.as_object();
    members.is_some_and(|members| {
        members.len() == names.len() && names.iter().all(|name| members.contains_key(*name))
    })
}

fn is_url(url: &str) -> bool {
    ["https://", "http://", "gs://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

fn is_data_url(url: &str, kind: &str) -> bool {
    let data = url
        .strip_prefix("data:")
        .filter(|data| data.starts_with(kind));
    data.and_then(|data| data.split_once(";base64,"))
        .is_some_and(|(_, data)| is_base64(data))
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !data.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.bytes().all(is_digit)
}

#[test]
fn a_part_in_another_providers_form_is_refused() {
    let chat = |part: Value| json!({"messages": [{"role": "user", "content": [part]}]});
    let contents = |part: Value| json!({"contents": [{"role": "user", "parts": [part]}]});
    let input = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let png = "data:image/png;base64,AAAA";
    let pdf = "data:application/pdf;base64,AAAA";
    let cases = [
        (
            CHAT_PARTS,
            chat(json!({"type": "image_url", "image_url": png})),
        ),
        (
            CHAT_PARTS,
            chat(json!({"type": "image_url", "image_url": {"url": "AAAA"}})),
        ),
        (
            CHAT_PARTS,
            chat(json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "ogg"}})),
        ),
        (
            CHAT_PARTS,
            chat(json!({"type": "file", "file": {"file_data": pdf}})),
        ),
        (
            CHAT_PARTS,
            chat(json!({"type": "input_image", "image_url": png})),
        ),
        (
            CHAT_PARTS,
            json!({"messages": [{"role": "tool", "content": [{"type": "image_url", "image_url": {"url": png}}]}]}),
        ),
        (
            MISTRAL_PARTS,
            chat(json!({"type": "image_url", "image_url": {"url": png}})),
        ),
        (
            MISTRAL_PARTS,
            chat(json!({"type": "file", "file": {"file_data": pdf, "filename": "a.pdf"}})),
        ),
        (
            COHERE_PARTS,
            chat(json!({"type": "document_url", "document_url": pdf})),
        ),
        (
            RESPONSES_PARTS,
            input(json!({"type": "image_url", "image_url": {"url": png}})),
        ),
        (
            RESPONSES_PARTS,
            input(json!({"type": "input_file", "file_data": pdf})),
        ),
        (
            MESSAGES_PARTS,
            chat(
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}}),
            ),
        ),
        (
            MESSAGES_PARTS,
            chat(json!({"type": "image", "source": {"type": "url", "url": "http://example.com"}})),
        ),
        (
            GENERATE_CONTENT_PARTS,
            contents(json!({"inlineData": {"data": "AAAA"}})),
        ),
        (
            GENERATE_CONTENT_PARTS,
            contents(json!({"fileData": {"mimeType": "image/png", "fileUri": "AAAA"}})),
        ),
        (
            CONVERSE_PARTS,
            chat(json!({"image": {"format": "image/png", "source": {"bytes": "AAAA"}}})),
        ),
        (
            CONVERSE_PARTS,
            chat(json!({"image": {"format": "png", "source": {"url": "https://example.com"}}})),
        ),
        (
            CONVERSE_PARTS,
            chat(json!({"document": {"format": "pdf", "name": "a", "source": {"bytes": "AAAA"}}})),
        ),
        (
            OLLAMA_PARTS,
            json!({"messages": [{"role": "user", "content": "", "images": [png]}]}),
        ),
        (
            OLLAMA_PARTS,
            json!({"messages": [{"role": "tool", "content": "", "images": ["AAAA"]}]}),
        ),
    ];
    for (rules, body) in &cases {
        assert!(broken(&[rules], body).is_some(), "{body}");
    }
}
