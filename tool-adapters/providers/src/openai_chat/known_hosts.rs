//! The servers that speak Chat Completions, and what their documents say.

use crate::accepted_parts::AcceptedParts;
use crate::hosts::{HostRules, KnownHost, TokenLimit};
use crate::mistral::accepted::ACCEPTED as MISTRAL_ACCEPTED;

/// OpenAI refuses members that it does not know: `Unknown parameter: 'messages[1].reasoning_content'`. Its reasoning models
/// refuse `max_tokens`: `Use 'max_completion_tokens' instead`.
const OPENAI: HostRules = HostRules {
    members: Some(&[]),
    token_limit: TokenLimit::MaxCompletionTokens,
    result_parts: true,
    ..HostRules::DEFAULT
};

/// The servers that speak Chat Completions.
pub(crate) const KNOWN_HOSTS: &[KnownHost] = &[
    KnownHost {
        domain: "api.openai.com",
        rules: OPENAI,
    },
    // The same API (learn.microsoft.com, "Azure OpenAI reasoning models": `max_completion_tokens`).
    KnownHost {
        domain: "openai.azure.com",
        rules: OPENAI,
    },
    KnownHost {
        domain: "cognitiveservices.azure.com",
        rules: OPENAI,
    },
    KnownHost {
        domain: "azure-api.net",
        rules: OPENAI,
    },
    // Models of many companies, most of them OpenAI's.
    KnownHost {
        domain: "services.ai.azure.com",
        rules: HostRules {
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
    },
    // docs.github.com, "REST API endpoints for models inference": `max_tokens`, and a closed list of members.
    KnownHost {
        domain: "models.github.ai",
        rules: HostRules {
            members: Some(&[]),
            ..HostRules::DEFAULT
        },
    },
    KnownHost {
        domain: "models.inference.ai.azure.com",
        rules: HostRules {
            members: Some(&[]),
            ..HostRules::DEFAULT
        },
    },
    // api-docs.deepseek.com, "Thinking Mode": reasoning goes back in all requests after a call, else it is passed over. Without
    // it: "The `reasoning_content` in the thinking mode must be passed back to the API". Thinking is on by default, and does
    // not support a forced call: "Thinking mode does not support this tool_choice". Its models read text only: "unknown variant
    // `image_url`, expected `text`".
    KnownHost {
        domain: "api.deepseek.com",
        rules: HostRules {
            accepted: Some(&AcceptedParts::TEXT),
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    // platform.moonshot.ai, "Use Kimi K2 Thinking": the whole reasoning goes back. Without it: "thinking is enabled but
    // reasoning_content is missing in assistant tool call message". "Migrating from OpenAI": no `tool_choice=required`.
    KnownHost {
        domain: "api.moonshot.ai",
        rules: HostRules {
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    KnownHost {
        domain: "api.moonshot.cn",
        rules: HostRules {
            needs_reasoning: true,
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    // docs.z.ai, "Thinking Mode": `reasoning_content` goes back as it came. "Function Calling": `tool_choice` is `auto` only.
    KnownHost {
        domain: "api.z.ai",
        rules: HostRules {
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    KnownHost {
        domain: "open.bigmodel.cn",
        rules: HostRules {
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    // help.aliyun.com, "Deep thinking": `reasoning_content`, which `preserve_thinking` uses. "Function calling": `tool_choice`
    // is `auto`, `none` or a function.
    KnownHost {
        domain: "aliyuncs.com",
        rules: HostRules {
            forces_calls: false,
            ..HostRules::DEFAULT
        },
    },
    // platform.minimax.io, "Tool Use & Interleaved Thinking": the whole message goes back, with `reasoning_details`.
    KnownHost {
        domain: "api.minimax.io",
        rules: HostRules::DEFAULT,
    },
    KnownHost {
        domain: "api.minimaxi.com",
        rules: HostRules::DEFAULT,
    },
    // ai.google.dev, "Thought signatures": 400 without `extra_content.google.thought_signature` at the first call of a step.
    // Calls of other models have a constant instead.
    KnownHost {
        domain: "googleapis.com",
        rules: HostRules {
            needs_signature: true,
            ..HostRules::DEFAULT
        },
    },
    KnownHost {
        domain: "mistral.ai",
        rules: HostRules {
            accepted: Some(&MISTRAL_ACCEPTED),
            ..HostRules::MISTRAL
        },
    },
    // openrouter.ai, "Reasoning Tokens": `reasoning` and `reasoning_details` go back unmodified. "Parameters": `max_tokens`.
    KnownHost {
        domain: "openrouter.ai",
        rules: HostRules::DEFAULT,
    },
    // groq-python, `ChatCompletionAssistantMessageParam`: `reasoning`. Others: "property 'reasoning_content' is unsupported".
    KnownHost {
        domain: "api.groq.com",
        rules: HostRules {
            members: Some(&["reasoning"]),
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
    },
    // cerebras-cloud-sdk, `MessageAssistantMessageRequest`: `reasoning`. Others: "property .. is unsupported".
    KnownHost {
        domain: "api.cerebras.ai",
        rules: HostRules {
            members: Some(&["reasoning"]),
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
    },
    // docs.x.ai, "Chat Completions": `reasoning_content` in messages, and `max_completion_tokens` in place of `max_tokens`.
    KnownHost {
        domain: "api.x.ai",
        rules: HostRules {
            token_limit: TokenLimit::MaxCompletionTokens,
            ..HostRules::DEFAULT
        },
    },
    // docs.together.ai, "Reasoning": `reasoning` goes back for preserved thinking. The SDK has `max_tokens` only.
    KnownHost {
        domain: "together.xyz",
        rules: HostRules::DEFAULT,
    },
    KnownHost {
        domain: "together.ai",
        rules: HostRules::DEFAULT,
    },
    // docs.fireworks.ai, "Reasoning": `reasoning_content` goes back, `reasoning_history` decides how much of it is used.
    KnownHost {
        domain: "fireworks.ai",
        rules: HostRules::DEFAULT,
    },
    // sambanova-python, `completion_create_params`: messages take further members; both names of the limit.
    KnownHost {
        domain: "api.sambanova.ai",
        rules: HostRules::DEFAULT,
    },
    // docs.nvidia.com, NIM, which is vLLM: `max_tokens`.
    KnownHost {
        domain: "integrate.api.nvidia.com",
        rules: HostRules::DEFAULT,
    },
    // docs.perplexity.ai: "user or tool message(s) should alternate with assistant message(s)".
    KnownHost {
        domain: "api.perplexity.ai",
        rules: HostRules {
            members: Some(&[]),
            alternates: true,
            ..HostRules::DEFAULT
        },
    },
    // huggingface.co, "Inference Providers": passes a request on to the server that answers.
    KnownHost {
        domain: "router.huggingface.co",
        rules: HostRules::DEFAULT,
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
        assert_eq!(rules("https://eu.api.openai.com/v1"), OPENAI);
        assert_eq!(rules("https://team.openai.azure.com:443/openai/v1"), OPENAI);
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
