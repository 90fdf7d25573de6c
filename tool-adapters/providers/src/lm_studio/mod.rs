//! LM Studio's server: Chat Completions, over llama.cpp or MLX.
//!
//! It answers 400 to a tool whose `parameters` have no `type` or no `properties`, and to a
//! `tool_choice` that is no text. Its models read the schemas in the words of their templates, some
//! of which fail at a schema without a `type`. Grammars are those of
//! [`llama_cpp`].

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::llama_cpp::{self, local_server};
use crate::openai_chat;
use crate::setting_places::{Setting, SettingPlace};
use crate::spec::{ProviderNames, ProviderSpec};

/// The facts of LM Studio's server.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    names: ProviderNames {
        otel: "lm_studio",
        manifest: "lmStudio",
        ..ProviderNames::of("lm-studio")
    },
    endpoint: openai_chat::endpoint_of(local_server("http://127.0.0.1:1234", &["LM_API_TOKEN"])),
    accepted: ACCEPTED,
    settings: SETTINGS,
    ..llama_cpp::SPEC
};

/// lmstudio.ai/docs, "Image input": JPEG, PNG and WebP in base64.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png", "image/jpeg", "image/webp"]),
    ..AcceptedParts::TEXT
};

const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["top_p"]),
    SettingPlace::at(Setting::Seed, &["seed"]),
    SettingPlace::at(Setting::Stop, &["stop"]),
];
