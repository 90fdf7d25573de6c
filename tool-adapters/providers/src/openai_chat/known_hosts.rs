//! The servers that speak Chat Completions, and what their documents say.

use crate::accepted_parts::AcceptedParts;
use crate::hosts::{HostRules, KnownHost, TokenLimit};
use crate::mistral::accepted::ACCEPTED as MISTRAL_ACCEPTED;
use crate::setting_places::Setting;
use crate::structured::StructuredOutput;

/// OpenAI refuses members that it does not know:
/// `Unknown parameter: 'messages[1].reasoning_content'`. Its reasoning models refuse `max_tokens`:
/// `Use 'max_completion_tokens' instead`.
const OPENAI_RULES: HostRules = HostRules {
    members: Some(&[]),
    token_limit: TokenLimit::MaxCompletionTokens,
    result_parts: true,
    takes_cache_key: true,
    ..HostRules::DEFAULT
};

/// ai.google.dev, "Thought signatures": 400 without `extra_content.google.thought_signature` at the
/// first call of a step. Calls of other models have a constant instead.
const GOOGLE_RULES: HostRules = HostRules {
    needs_signature: true,
    ..HostRules::DEFAULT
};

const MISTRAL_RULES: HostRules = HostRules {
    accepted: Some(&MISTRAL_ACCEPTED),
    ..HostRules::MISTRAL
};

/// The servers that speak Chat Completions.
pub(crate) const KNOWN_HOSTS: &[KnownHost] = &[
    KnownHost {
        path: &["v1"],
        structured_output: StructuredOutput::BesideTools,
        rules: OPENAI_RULES,
        ..KnownHost::at("api.openai.com")
    },
    // The same API (learn.microsoft.com, "Azure OpenAI reasoning models": `max_completion_tokens`).
    KnownHost {
        structured_output: StructuredOutput::BesideTools,
        rules: OPENAI_RULES,
        ..KnownHost::at("openai.azure.com")
    },
    KnownHost {
        rules: OPENAI_RULES,
        ..KnownHost::at("cognitiveservices.azure.com")
    },
    KnownHost {
        rules: OPENAI_RULES,
        ..KnownHost::at("azure-api.net")
    },
    // Models of many companies, most of them OpenAI's.
    KnownHost {
        rules: HostRules {
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("services.ai.azure.com")
    },
    // docs.github.com, "REST API endpoints for models inference": `max_tokens`, and a closed list
    // of members.
    KnownHost {
        rules: HostRules {
            members: Some(&[]),
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("models.github.ai")
    },
    KnownHost {
        rules: HostRules {
            members: Some(&[]),
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("models.inference.ai.azure.com")
    },
    // api-docs.deepseek.com, "Thinking Mode": reasoning goes back in all requests after a call,
    // else it is passed over. Without it: "The `reasoning_content` in the thinking mode must be
    // passed back to the API". Thinking is on by default, and does not support a forced call:
    // "Thinking mode does not support this tool_choice". "Create Chat Completion": no `seed`, no
    // `parallel_tool_calls`. Its models read text only: "unknown variant `image_url`, expected
    // `text`".
    KnownHost {
        structured_output: StructuredOutput::Never,
        rules: HostRules {
            accepted: Some(&AcceptedParts::TEXT),
            lacks: &[
                Setting::Seed,
                Setting::ParallelToolCalls,
                Setting::FirstTool,
            ],
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.deepseek.com")
    },
    // platform.moonshot.ai, "Use Kimi K2 Thinking": the whole reasoning goes back. Without it:
    // "thinking is enabled but reasoning_content is missing in assistant tool call message".
    // "Migrating from OpenAI": no `tool_choice=required`.
    KnownHost {
        rules: HostRules {
            lacks: &[Setting::FirstTool],
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.moonshot.ai")
    },
    KnownHost {
        rules: HostRules {
            lacks: &[Setting::FirstTool],
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.moonshot.cn")
    },
    // docs.z.ai, "Thinking Mode": `reasoning_content` goes back as it came. "Function Calling":
    // `tool_choice` is `auto` only.
    KnownHost {
        rules: HostRules {
            lacks: &[Setting::FirstTool],
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.z.ai")
    },
    KnownHost {
        rules: HostRules {
            lacks: &[Setting::FirstTool],
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("open.bigmodel.cn")
    },
    // help.aliyun.com, "Deep thinking": `reasoning_content`, which `preserve_thinking` uses.
    // "Function calling": `tool_choice` is `auto`, `none` or a function.
    KnownHost {
        rules: HostRules {
            forces_calls: false,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("aliyuncs.com")
    },
    // platform.minimax.io, "Tool Use & Interleaved Thinking": the whole message goes back, with
    // `reasoning_details`.
    KnownHost::at("api.minimax.io"),
    KnownHost::at("api.minimaxi.com"),
    KnownHost {
        path: &["v1beta", "openai"],
        structured_output: StructuredOutput::WithoutTools,
        rules: GOOGLE_RULES,
        ..KnownHost::at("generativelanguage.googleapis.com")
    },
    KnownHost {
        rules: GOOGLE_RULES,
        ..KnownHost::at("googleapis.com")
    },
    KnownHost {
        path: &["v1"],
        rules: MISTRAL_RULES,
        ..KnownHost::at("api.mistral.ai")
    },
    KnownHost {
        rules: MISTRAL_RULES,
        ..KnownHost::at("mistral.ai")
    },
    // openrouter.ai, "Reasoning Tokens": `reasoning` and `reasoning_details` go back unmodified.
    // "Parameters": `max_tokens`.
    KnownHost {
        path: &["api", "v1"],
        ..KnownHost::at("openrouter.ai")
    },
    // groq-python, `ChatCompletionAssistantMessageParam`: `reasoning`. Others: "property
    // 'reasoning_content' is unsupported".
    KnownHost {
        path: &["openai", "v1"],
        structured_output: StructuredOutput::WithoutTools,
        rules: HostRules {
            members: Some(&["reasoning"]),
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.groq.com")
    },
    // cerebras-cloud-sdk, `MessageAssistantMessageRequest`: `reasoning`. Others: "property .. is
    // unsupported".
    KnownHost {
        path: &["v1"],
        structured_output: StructuredOutput::WithoutTools,
        rules: HostRules {
            members: Some(&["reasoning"]),
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.cerebras.ai")
    },
    // docs.x.ai, "Chat Completions": `reasoning_content` in messages, and `max_completion_tokens`
    // in place of `max_tokens`.
    KnownHost {
        path: &["v1"],
        structured_output: StructuredOutput::BesideTools,
        rules: HostRules {
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.x.ai")
    },
    // docs.together.ai, "Reasoning": `reasoning` goes back for preserved thinking. The SDK has
    // `max_tokens` only.
    KnownHost {
        path: &["v1"],
        ..KnownHost::at("api.together.xyz")
    },
    KnownHost::at("together.ai"),
    // docs.fireworks.ai, "Reasoning": `reasoning_content` goes back, `reasoning_history` decides
    // how much of it is used.
    KnownHost {
        path: &["inference", "v1"],
        ..KnownHost::at("api.fireworks.ai")
    },
    // sambanova-python, `completion_create_params`: messages take further members; both names of
    // the limit.
    KnownHost {
        path: &["v1"],
        ..KnownHost::at("api.sambanova.ai")
    },
    // docs.nvidia.com, NIM, which is vLLM: `max_tokens`.
    KnownHost {
        path: &["v1"],
        ..KnownHost::at("integrate.api.nvidia.com")
    },
    // docs.perplexity.ai: "user or tool message(s) should alternate with assistant message(s)".
    KnownHost {
        rules: HostRules {
            members: Some(&[]),
            alternates: true,
            lacks: &[
                Setting::Seed,
                Setting::ParallelToolCalls,
                Setting::FirstTool,
            ],
            ..HostRules::DEFAULT
        },
        ..KnownHost::at("api.perplexity.ai")
    },
    // huggingface.co, "Inference Providers": passes a request on to the server that answers.
    KnownHost::at("router.huggingface.co"),
    // The paths of these are known, by their documents, and nothing else.
    KnownHost {
        path: &["v1"],
        ..KnownHost::at("api.anthropic.com")
    },
    KnownHost {
        path: &["compatibility", "v1"],
        ..KnownHost::at("api.cohere.ai")
    },
    KnownHost {
        path: &["compatibility", "v1"],
        ..KnownHost::at("api.cohere.com")
    },
    KnownHost {
        path: &["v1", "openai"],
        ..KnownHost::at("api.deepinfra.com")
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;
    use crate::hosts::Host;

    #[test]
    fn the_book_names_every_server() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/providers.md");
        let book = std::fs::read_to_string(path).expect("the book");
        for host in KNOWN_HOSTS {
            let domain = format!("`{}`", host.domain);
            let limit = format!("| `{}` |", host.rules.token_limit_name());
            let is_row = |line: &str| {
                line.starts_with('|') && line.contains(&domain) && line.contains(&limit)
            };
            assert!(book.lines().any(is_row), "{domain}");
        }
    }

    #[test]
    fn hosts_are_found_by_domain() {
        let rules = |url| Host::at(Provider::OpenAiChat, url).rules;
        assert_eq!(rules("https://eu.api.openai.com/v1"), OPENAI_RULES);
        assert_eq!(
            rules("https://team.openai.azure.com:443/openai/v1"),
            OPENAI_RULES
        );
        assert!(rules("https://us-central1-aiplatform.googleapis.com/v1/x").needs_signature);
        assert_eq!(
            rules("https://notapi.openai.com.example"),
            HostRules::DEFAULT
        );
        assert_eq!(rules("https://xapi.openai.com"), HostRules::DEFAULT);
        assert_eq!(
            Host::at(Provider::Mistral, "http://127.0.0.1:1").rules,
            HostRules::MISTRAL
        );
    }
}
