//! llama.cpp's server (`llama-server --jinja`), which speaks Chat Completions and makes a grammar
//! of the tools' schemas.
//!
//! The grammar converter (`common/json-schema-to-grammar.cpp`) and the parser of grammars
//! (`src/llama-grammar.cpp`) answer 400 to a whole request whose schema has
//!
//! - a `pattern` without `^` and `$`, or with an escape that grammars do not have, such as `\d`
//! - 2,000 repetitions or more, in `maxLength`, `maxItems` or a pattern
//! - `true` or `false` as a schema, or a `$ref` to anything but a place in the same schema
//!
//! It reads `{}` as an object, closes an object that says nothing of further properties, requires
//! every property in an `allOf`, and ignores what is beside `anyOf`, `$ref` and `enum`. It ignores
//! `not`, `if`, `patternProperties`, `uniqueItems`, `multipleOf`, bounds of numbers that are not
//! integers, and other formats than dates, times and UUIDs. Schemas are shared among the tools of a
//! request by the text of their reference, so references are replaced by their targets.

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::hosts::Host;
use crate::openai_chat::{self, SOUNDS};
use crate::request::Request;
use crate::schema::rules::{GrammarRules, SchemaForm, SchemaSubset, TypeSet};
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use crate::spec::{MessageForm, ProviderNames, ProviderSpec, Server};
use serde_json::Value;

/// The facts of llama.cpp's server.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    messages: MessageForm {
        request: request_without_named_choice,
        ..openai_chat::MESSAGES
    },
    schema: SchemaForm::Subset(&SUBSET),
    accepted: ACCEPTED,
    settings: SETTINGS,
    ..openai_chat::compatible(
        ProviderNames {
            otel: "llama_cpp",
            manifest: "llamaCpp",
            ..ProviderNames::of("llama-cpp")
        },
        local_server("http://127.0.0.1:8080", &["LLAMA_API_KEY"]),
    )
};

/// llama.cpp, docs/multimodal.md: images that stb reads, and sounds as WAV or MP3. The server loads
/// URLs too, from inside the network that it runs in.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png", "image/jpeg", "image/gif", "image/bmp"]),
    sounds: AcceptedMedia::bytes(SOUNDS),
    ..AcceptedParts::TEXT
};

/// The effort is a word of the model's template. `tool_choice` names no tool.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["top_p"]),
    SettingPlace::at(Setting::Seed, &["seed"]),
    SettingPlace::at(Setting::Stop, &["stop"]),
    SettingPlace::effort(
        &["chat_template_kwargs", "reasoning_effort"],
        &[
            ReasoningEffort::Low,
            ReasoningEffort::Medium,
            ReasoningEffort::High,
        ],
    ),
    SettingPlace::at(Setting::ParallelToolCalls, &["parallel_tool_calls"]),
];

/// A server on this machine, which wants a key only if it was started with one.
pub(crate) const fn local_server(
    base_url: &'static str,
    key_env: &'static [&'static str],
) -> Server {
    Server {
        key_required: false,
        ..Server::new(base_url, key_env)
    }
}

/// Writes a request whose `tool_choice` is a text: the server knows no other, and takes an object
/// for `auto`.
pub(crate) fn request_without_named_choice(request: &Request<'_>, host: &Host) -> Value {
    let mut body = (openai_chat::MESSAGES.request)(request, host);
    if let Some(choice) = body
        .get_mut("tool_choice")
        .filter(|choice| choice.is_object())
    {
        *choice = "required".into();
    }
    body
}

/// The keywords that the converter knows.
pub(crate) const SUBSET: SchemaSubset = SchemaSubset {
    keeps: &[
        "title",
        "default",
        "examples",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
    ],
    typed: false,
    references: false,
    maps: true,
    enums: TypeSet::ALL,
    formats: |types, format| {
        types == TypeSet::STRING && matches!(format, "date" | "time" | "date-time" | "uuid")
    },
    grammar: Some(&GrammarRules {
        max_length: 1_999,
        max_items: 500,
        number_bounds: false,
        lists_any: true,
    }),
};
