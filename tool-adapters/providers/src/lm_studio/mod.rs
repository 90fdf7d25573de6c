//! LM Studio's server: Chat Completions, over llama.cpp or MLX.
//!
//! It answers 400 to a tool whose `parameters` have no `type` or no `properties`, and to a `tool_choice` that is no text. Its models
//! read the schemas in the words of their templates, some of which fail at a schema without a `type`. Grammars are those of
//! [`llama_cpp`].

use crate::llama_cpp::{self, local_server, request_without_named_choice};
use crate::spec::{Endpoint, HttpEndpoint, ProviderSpec, segments};

/// The facts of LM Studio's server.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "lm-studio",
    otel_name: "lm_studio",
    manifest_key: "lmStudio",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: local_server("http://127.0.0.1:1234", &["LM_API_TOKEN"]),
        headers: &[],
        path: |_, _| segments(&["v1", "chat", "completions"]),
        stream_query: None,
        streams: true,
    }),
    request: request_without_named_choice,
    ..llama_cpp::SPEC
};
