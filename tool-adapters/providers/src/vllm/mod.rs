//! vLLM's server, and SGLang's: Chat Completions, with a grammar of the tools' schemas where the
//! model has to call one.
//!
//! The grammars are xgrammar's. vLLM (`vllm/v1/structured_output/backend_xgrammar.py`) answers 400,
//! or turns to a slower backend, for a schema with `multipleOf`, `uniqueItems`, `contains`, an
//! unknown `format`, limits of length beside a `pattern` or a `format`, `patternProperties` or
//! `propertyNames` beside `properties`. xgrammar (`cpp/json_schema_converter.cc`,
//! `cpp/regex_converter.cc`)
//!
//! - refuses look-around, backward references, `\b` and `\p` in a pattern, and takes one without
//!   anchors for the whole text
//! - closes an object that says nothing of further properties, and an array without `items`
//! - ignores what is beside `$ref`, `enum`, `const` and `anyOf`, all of an `allOf`, and `not`, `if`
//!   and `dependentRequired`
//!
//! The `$defs` of all tools of a request become one map, and vLLM refuses two schemas of one name.
//! References are replaced by their targets.

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, WEB_IMAGES};
use crate::llama_cpp::{self, local_server};
use crate::openai_chat::{self, SOUNDS};
use crate::schema::rules::{GrammarRules, SchemaForm, SchemaSubset, TypeSet};
use crate::spec::{ProviderNames, ProviderSpec};

/// The facts of vLLM's server.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    schema: SchemaForm::Subset(&SUBSET),
    accepted: ACCEPTED,
    ..openai_chat::compatible(
        ProviderNames::of("vllm"),
        local_server("http://127.0.0.1:8000", &["VLLM_API_KEY"]),
    )
};

/// docs.vllm.ai, "Multimodal inputs": what Chat Completions has but files. The server loads URLs
/// too, from inside the network that it runs in.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES),
    sounds: AcceptedMedia::bytes(SOUNDS),
    ..AcceptedParts::TEXT
};

/// The keywords that the converter knows.
const SUBSET: SchemaSubset = SchemaSubset {
    formats: |types, format| types == TypeSet::STRING && FORMATS.contains(&format),
    grammar: Some(&GrammarRules {
        max_length: u32::MAX as u64,
        max_items: u32::MAX as u64,
        number_bounds: true,
        lists_any: false,
    }),
    ..llama_cpp::SUBSET
};

/// The formats of xgrammar and of llguidance, the backend for schemas that xgrammar does not take.
const FORMATS: [&str; 10] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
    "uri",
];
