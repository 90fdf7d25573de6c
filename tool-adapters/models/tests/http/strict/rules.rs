//! The rules by which providers refuse requests, as data: what each says, and where it is from.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// A rule of a provider.
pub(crate) struct Rule {
    pub(crate) says: &'static str,
    /// The document, the source or the error message that it is from.
    pub(crate) source: &'static str,
    holds: fn(&Value) -> bool,
}

/// Returns the first rule that a request breaks.
pub(crate) fn broken<'r>(rules: &[&'r [Rule]], body: &Value) -> Option<&'r Rule> {
    rules
        .iter()
        .flat_map(|rules| rules.iter())
        .find(|rule| !(rule.holds)(body))
}

pub(crate) const fn rule(
    says: &'static str,
    source: &'static str,
    holds: fn(&Value) -> bool,
) -> Rule {
    Rule {
        says,
        source,
        holds,
    }
}

/// What most servers with Chat Completions refuse.
pub(crate) const CHAT: &[Rule] = &[
    rule(
        "there is a message of the user",
        "OpenAI, API reference: `messages` is required",
        |body| of_role(body, "user").next().is_some(),
    ),
    rule(
        "only the first message is of the system",
        "Qwen's template: \"System message must be at the beginning\"",
        |body| {
            messages(body)
                .iter()
                .skip(1)
                .all(|message| message["role"] != "system")
        },
    ),
    rule(
        "the user begins",
        "Gemma's and Mistral's templates: roles must alternate user/assistant",
        |body| {
            messages(body)
                .iter()
                .find(|message| message["role"] != "system")
                .is_some_and(|first| first["role"] == "user")
        },
    ),
    rule(
        "a message of the user has text",
        "Moonshot: \"message must not be empty\"",
        |body| of_role(body, "user").all(|message| is_said(&message["content"])),
    ),
    rule(
        "a message of the model has text or calls",
        "llama.cpp: \"Assistant message must contain either 'content' or 'tool_calls'!\"",
        |body| {
            of_role(body, "assistant")
                .all(|message| is_said(&message["content"]) || !calls(message).is_empty())
        },
    ),
    rule(
        "no part is a blank text",
        "Anthropic behind OpenRouter: \"text content blocks must be non-empty\"",
        |body| {
            let parts = messages(body)
                .iter()
                .flat_map(|message| items(&message["content"]));
            parts
                .filter(|part| part["type"] == "text")
                .all(|part| is_said(&part["text"]))
        },
    ),
    rule(
        "a call has a name of [a-zA-Z0-9_-]{1,64}",
        "OpenAI, API reference: `tools[].function.name`",
        |body| chat_calls(body).all(|call| is_name(text(&call["function"], "name"), 64, "_-")),
    ),
    rule(
        "a call has an id of 1 to 40 characters",
        "OpenAI: \"Expected a string with maximum length 40\"",
        |body| chat_calls(body).all(|call| matches!(text(call, "id").chars().count(), 1..=40)),
    ),
    rule(
        "an id has visible ASCII characters only",
        "Anthropic behind gateways: `tool_use.id` has a pattern",
        |body| {
            chat_calls(body)
                .all(|call| text(call, "id").bytes().all(|byte| byte.is_ascii_graphic()))
        },
    ),
    rule(
        "no two calls have one id",
        "Anthropic behind gateways: \"`tool_use` ids must be unique\"",
        |body| are_unique(chat_calls(body).map(|call| text(call, "id"))),
    ),
    rule(
        "arguments are the text of an object",
        "vLLM, SGLang and llama.cpp parse them, for each message",
        |body| chat_calls(body).all(|call| is_object_text(text(&call["function"], "arguments"))),
    ),
    rule(
        "each call has one result, which follows it",
        "OpenAI: \"An assistant message with 'tool_calls' must be followed by tool messages\"",
        chat_results_follow,
    ),
    rule(
        "the model does not have the last word",
        "llama.cpp: \"Assistant response prefill is incompatible\"",
        |body| {
            messages(body)
                .last()
                .is_some_and(|last| last["role"] != "assistant")
        },
    ),
];

/// The members that OpenAI, Azure and GitHub Models know.
pub(crate) const CLOSED: &[Rule] = &[
    rule(
        "a message has known members only",
        "OpenAI: \"Unknown parameter: 'messages[1].x'\"",
        |body| has_members(body, &["role", "content", "tool_calls", "tool_call_id"]),
    ),
    rule("a call has known members only", "the same", |body| {
        chat_calls(body).all(is_plain_call)
    }),
];

/// The key of the cache, which many servers do not know.
pub(crate) const NO_CACHE_KEY: &[Rule] = &[rule(
    "no `prompt_cache_key`",
    "Groq: \"property 'prompt_cache_key' is unsupported\"",
    |body| body.get("prompt_cache_key").is_none(),
)];

/// The name of the limit of tokens.
pub(crate) const MAX_COMPLETION_TOKENS: &[Rule] = &[rule(
    "no `max_tokens`",
    "OpenAI: \"Use 'max_completion_tokens' instead\"",
    |body| body.get("max_tokens").is_none(),
)];

/// The name of the limit of tokens elsewhere.
pub(crate) const MAX_TOKENS: &[Rule] = &[rule(
    "no `max_completion_tokens`",
    "DeepSeek and llama.cpp: unknown; Mistral: 422 `extra_forbidden`",
    |body| body.get("max_completion_tokens").is_none(),
)];

/// What servers with a model's template refuse, or lose, in results.
pub(crate) const TEXT_RESULTS: &[Rule] = &[rule(
    "a result is a text",
    "Ollama, openai.go: parts lose the call's id; DeepSeek: \"invalid type: sequence, expected a string\"",
    |body| of_role(body, "tool").all(|message| message["content"].is_string()),
)];

pub(crate) const GROQ: &[Rule] = &[
    rule(
        "a message has known members only",
        "Groq: \"property 'reasoning_content' is unsupported\"",
        |body| {
            has_members(
                body,
                &["role", "content", "tool_calls", "tool_call_id", "reasoning"],
            )
        },
    ),
    rule("a call has known members only", "the same", |body| {
        chat_calls(body).all(is_plain_call)
    }),
];

pub(crate) const MISTRAL: &[Rule] = &[
    rule(
        "a request has known members only",
        "Mistral: 422 `extra_forbidden`",
        |body| {
            let known = [
                "model",
                "messages",
                "tools",
                "tool_choice",
                "stream",
                "max_tokens",
                "prompt_cache_key",
                "response_format",
            ];
            members(body).all(|name| known.contains(&name))
        },
    ),
    rule(
        "a message has known members only",
        "Mistral: 422 `extra_forbidden`",
        |body| {
            has_members(
                body,
                &["role", "content", "tool_calls", "tool_call_id", "name"],
            )
        },
    ),
    rule(
        "a call has known members only",
        "Mistral: 422 `extra_forbidden`",
        |body| chat_calls(body).all(is_plain_call),
    ),
    rule(
        "an id has nine letters and digits",
        "mistral-common, `_validate_tool_call`",
        |body| {
            let is_valid =
                |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let results = of_role(body, "tool").map(|message| text(message, "tool_call_id"));
            chat_calls(body)
                .map(|call| text(call, "id"))
                .chain(results)
                .all(is_valid)
        },
    ),
    rule(
        "a result has a name of [a-zA-Z0-9_-]{1,64}",
        "mistral-common, `_validate_tool_message`",
        |body| of_role(body, "tool").all(|message| is_name(text(message, "name"), 64, "_-")),
    ),
    rule(
        "a result has the name of its call",
        "docs.mistral.ai, Function calling",
        |body| {
            let name_of = |id: &str| {
                chat_calls(body)
                    .find(|call| text(call, "id") == id)
                    .map(|call| text(&call["function"], "name"))
            };
            of_role(body, "tool").all(|message| {
                name_of(text(message, "tool_call_id")) == Some(text(message, "name"))
            })
        },
    ),
    rule(
        "the user does not follow a result",
        "Mistral: \"Unexpected role 'user' after role 'tool'\"",
        |body| {
            pairs(messages(body))
                .all(|(before, after)| !(before["role"] == "tool" && after["role"] == "user"))
        },
    ),
    rule(
        "content has texts and thoughts",
        "mistral-common, `_validate_assistant_content_chunks`",
        |body| {
            let parts = of_role(body, "assistant").flat_map(|message| items(&message["content"]));
            parts
                .into_iter()
                .all(|part| matches!(text(part, "type"), "text" | "thinking"))
        },
    ),
];

pub(crate) const PERPLEXITY: &[Rule] = &[rule(
    "the messages of the user and the model alternate",
    "Perplexity: \"user or tool message(s) should alternate with assistant message(s)\"",
    |body| {
        pairs(messages(body))
            .all(|(before, after)| before["role"] != after["role"] || before["role"] == "tool")
    },
)];

/// Gemini in its OpenAI form.
pub(crate) const GEMINI_CHAT: &[Rule] = &[rule(
    "the first call of each step has a signature",
    "ai.google.dev, Thought signatures: \"Function call is missing a thought_signature\"",
    |body| {
        let steps = of_role(body, "assistant").filter_map(|message| calls(message).first());
        steps.into_iter().all(|call| {
            call.pointer("/extra_content/google/thought_signature")
                .is_some_and(Value::is_string)
        })
    },
)];

/// Servers that refuse calls without the reasoning before them.
pub(crate) const NEEDS_REASONING: &[Rule] = &[
    rule(
        "a step with calls has its reasoning",
        "DeepSeek: \"The `reasoning_content` in the thinking mode must be passed back to the API\"",
        |body| {
            let mut steps = of_role(body, "assistant").filter(|message| !calls(message).is_empty());
            steps.all(|message| !text(message, "reasoning_content").is_empty())
        },
    ),
    rule(
        "no call is forced",
        "DeepSeek: \"Thinking mode does not support this tool_choice\"",
        |body| body["tool_choice"] != "required",
    ),
];

pub(crate) const RESPONSES: &[Rule] = &[
    rule(
        "the input is not empty",
        "OpenAI, API reference: `input`",
        |body| !items(&body["input"]).is_empty(),
    ),
    rule(
        "a message says something",
        "xAI: \"Each message must have at least one content element\"",
        |body| {
            input(body)
                .filter(|item| !item["role"].is_null())
                .all(|item| is_said(&item["content"]))
        },
    ),
    rule(
        "a call has a name of [a-zA-Z0-9_-]{1,64}",
        "OpenAI, API reference: `function_call`",
        |body| of_type(body, "function_call").all(|call| is_name(text(call, "name"), 64, "_-")),
    ),
    rule(
        "a call has an id of 1 to 64 characters",
        "OpenAI: \"'input[2].call_id': string too long\"",
        |body| {
            of_type(body, "function_call")
                .all(|call| matches!(text(call, "call_id").chars().count(), 1..=64))
        },
    ),
    rule(
        "arguments are the text of an object",
        "vLLM, LM Studio and llama.cpp parse them",
        |body| of_type(body, "function_call").all(|call| is_object_text(text(call, "arguments"))),
    ),
    rule(
        "each call has one output, behind it",
        "OpenAI: \"No tool output found for function call\"",
        |body| {
            let mut open = HashSet::new();
            let mut known = HashSet::new();
            let is_valid = input(body).all(|item| match text(item, "type") {
                "function_call" => {
                    known.insert(text(item, "call_id")) && open.insert(text(item, "call_id"))
                }
                "function_call_output" => open.remove(text(item, "call_id")),
                _ => true,
            });
            is_valid && open.is_empty()
        },
    ),
    // In the tests the items of a response have one number: `rs_3` is the reasoning of `fc_3`, `msg_3` or `ws_3`.
    rule(
        "reasoning is followed by its item",
        "OpenAI: \"Item 'rs_1' of type 'reasoning' was provided without its required following item\"",
        |body| {
            let input = items(&body["input"]);
            let reasoning = input
                .iter()
                .enumerate()
                .filter(|(_, item)| item["type"] == "reasoning");
            reasoning.into_iter().all(|(place, item)| {
                let next = input.get(place + 1);
                next.is_some_and(|next| {
                    number_of(next) == number_of(item) || number_of(next).is_none()
                }) && next.is_some_and(|next| next["type"] != "reasoning" && !is_of_user(next))
            })
        },
    ),
    rule(
        "an item that had reasoning has it",
        "OpenAI: \"'function_call' was provided without its required 'reasoning' item\"",
        |body| {
            let input = items(&body["input"]);
            input.iter().enumerate().all(|(place, item)| {
                let needs = number_of(item).filter(|_| item["type"] != "reasoning");
                let before = place.checked_sub(1).and_then(|before| input.get(before));
                needs.is_none_or(|number| {
                    before.is_some_and(|before| number_of(before) == Some(number))
                })
            })
        },
    ),
];

pub(crate) const MESSAGES: &[Rule] = &[
    rule(
        "at most 4 blocks have a mark of the cache",
        "\"A maximum of 4 blocks with cache_control may be provided\"",
        |body| body.to_string().matches(r#""cache_control":"#).count() <= 4,
    ),
    rule(
        "no thought has a mark of the cache",
        "docs.anthropic.com, Prompt caching: thinking blocks cannot be marked",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "thinking")
                .all(|block| block.get("cache_control").is_none())
        },
    ),
    rule(
        "the user begins, and the roles alternate",
        "docs.anthropic.com, Messages",
        alternates,
    ),
    rule(
        "no content is empty",
        "\"messages.1: all messages must have non-empty content\"",
        has_content,
    ),
    rule(
        "no text is blank",
        "\"text content blocks must contain non-whitespace text\"",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "text")
                .all(|block| is_said(&block["text"]))
        },
    ),
    rule(
        "a call has a name of [a-zA-Z0-9_-]{1,128}",
        "\"tool_use.name: String should match pattern\"",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "tool_use")
                .all(|call| is_name(text(call, "name"), 128, "_-"))
        },
    ),
    rule(
        "a call has an id of [a-zA-Z0-9_-]+",
        "\"tool_use.id: String should match pattern\"",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "tool_use")
                .all(|call| is_name(text(call, "id"), 64, "_-"))
        },
    ),
    rule(
        "no two calls have one id",
        "\"`tool_use` ids must be unique\"",
        |body| {
            are_unique(
                blocks(body)
                    .filter(|block| block["type"] == "tool_use")
                    .map(|call| text(call, "id")),
            )
        },
    ),
    rule(
        "the input of a call is an object",
        "\"tool_use.input: Input should be a valid dictionary\"",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "tool_use")
                .all(|call| call["input"].is_object())
        },
    ),
    rule(
        "the results of a step begin the next message, all of them and no others",
        "\"`tool_use` ids were found without `tool_result` blocks immediately after\"",
        |body| {
            let calls =
                |message: &Value| ids_of(message, |block| block["type"] == "tool_use", "/id");
            let results = |message: &Value| {
                ids_of(
                    message,
                    |block| block["type"] == "tool_result",
                    "/tool_use_id",
                )
            };
            results_follow(messages(body), calls, results)
        },
    ),
    rule(
        "thoughts are signed",
        "\"thinking.signature: Field required\"",
        |body| {
            blocks(body)
                .filter(|block| block["type"] == "thinking")
                .all(|block| is_said(&block["signature"]))
        },
    ),
    rule(
        "no turn ends with a thought",
        "\"The final block in an assistant message cannot be `thinking`\"",
        |body| {
            let last =
                of_role(body, "assistant").filter_map(|message| items(&message["content"]).last());
            last.into_iter()
                .all(|block| !text(block, "type").ends_with("thinking"))
        },
    ),
    rule(
        "a turn with thoughts begins with one",
        "\"a final `assistant` message must start with a thinking block\"",
        |body| {
            let is_thought = |block: &Value| text(block, "type").ends_with("thinking");
            of_role(body, "assistant").all(|message| {
                let blocks = items(&message["content"]);
                !blocks.iter().any(is_thought) || blocks.first().is_some_and(is_thought)
            })
        },
    ),
    rule(
        "a tool that the provider ran has its result",
        "\"`web_search` tool use was found without a corresponding `web_search_tool_result` block\"",
        |body| {
            // The last turn goes on with it.
            let is_spoken = |message: &Value| {
                let mut blocks = items(&message["content"]).iter();
                message["role"] == "user" && blocks.any(|block| block["type"] != "tool_result")
            };
            let results = blocks(body)
                .map(|block| text(block, "tool_use_id"))
                .collect::<HashSet<_>>();
            let spoken = messages(body)
                .iter()
                .rposition(is_spoken)
                .unwrap_or_default();
            let before = messages(body)
                .iter()
                .take(spoken)
                .flat_map(|message| items(&message["content"]));
            let mut own = before.filter(|block| block["type"] == "server_tool_use");
            own.all(|block| results.contains(text(block, "id")))
        },
    ),
    rule(
        "the user has the last word",
        "\"This model does not support assistant message prefill\"",
        |body| {
            let Some(last) = messages(body).last() else {
                return false;
            };
            // A turn that the provider has paused goes on.
            let is_paused = items(&last["content"])
                .last()
                .is_some_and(|block| text(block, "type").starts_with("server_tool"));
            last["role"] == "user" || is_paused
        },
    ),
];

pub(crate) const GENERATE_CONTENT: &[Rule] = &[
    rule(
        "the user begins",
        "\"function call turn comes immediately after a user turn\"",
        |body| {
            contents(body)
                .first()
                .is_some_and(|first| first["role"] == "user")
        },
    ),
    rule(
        "no content is empty",
        "\"contents.parts must not be empty\"",
        |body| {
            contents(body)
                .iter()
                .all(|content| !parts(content).is_empty())
        },
    ),
    rule(
        "a turn of the model says or calls something",
        "\"must include at least one parts field\"",
        |body| {
            let is_said = |part: &Value| {
                part.get("text")
                    .is_none_or(|said| part["thought"] != true && is_said(said))
            };
            contents(body)
                .iter()
                .filter(|content| content["role"] == "model")
                .all(|content| parts(content).iter().any(is_said))
        },
    ),
    rule(
        "a call has a name of [a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
        "ai.google.dev, `FunctionDeclaration`",
        |body| {
            let names = gemini_calls(body)
                .chain(gemini_results(body))
                .map(|call| text(call, "name"));
            names.into_iter().all(|name| {
                is_name(name, 128, "_.:-") && !name.starts_with(|first: char| !is_letter(first))
            })
        },
    ),
    rule(
        "arguments are an object",
        "ai.google.dev, `FunctionCall`",
        |body| gemini_calls(body).all(|call| call["args"].is_object()),
    ),
    rule(
        "each turn of calls has as many responses, in the next turn, and nothing else there",
        "\"the number of function response parts is equal to the number of function call parts\"",
        |body| {
            let count = |content: &Value, member: &str| {
                parts(content)
                    .iter()
                    .filter(|part| part.get(member).is_some())
                    .count()
            };
            let contents = contents(body);
            contents.iter().enumerate().all(|(place, content)| {
                let calls = count(content, "functionCall");
                let next = contents.get(place + 1);
                let is_answered = next.map_or(0, |next| count(next, "functionResponse")) == calls;
                let results = count(content, "functionResponse");
                is_answered && (results == 0 || results == parts(content).len())
            }) && contents
                .first()
                .is_none_or(|first| count(first, "functionResponse") == 0)
        },
    ),
    rule(
        "a response has the name of its call",
        "ai.google.dev, `FunctionResponse`",
        |body| {
            gemini_calls(body)
                .map(|call| text(call, "name"))
                .eq(gemini_results(body).map(|result| text(result, "name")))
        },
    ),
    rule(
        "the first call of each turn has a signature",
        "\"missing a `thought_signature` in functionCall parts\"",
        |body| {
            let first = |content: &Value| {
                parts(content)
                    .iter()
                    .find(|part| part.get("functionCall").is_some())
                    .cloned()
            };
            contents(body)
                .iter()
                .filter_map(first)
                .all(|call| is_said(&call["thoughtSignature"]))
        },
    ),
    rule(
        "the turns of the model are apart",
        "\"Please ensure that multiturn requests alternate\"",
        |body| {
            pairs(contents(body))
                .all(|(before, after)| !(before["role"] == "model" && after["role"] == "model"))
        },
    ),
    rule(
        "the user has the last word",
        "\"single turn requests end with a user role\"",
        |body| {
            contents(body)
                .last()
                .is_some_and(|last| last["role"] == "user")
        },
    ),
];

pub(crate) const CONVERSE: &[Rule] = &[
    rule(
        "at most 4 cache points",
        "docs.aws.amazon.com, Prompt caching: 4 checkpoints per request",
        |body| body.to_string().matches(r#""cachePoint":"#).count() <= 4,
    ),
    rule(
        "the user begins, and the roles alternate",
        "\"A conversation must start with a user message\"",
        alternates,
    ),
    rule(
        "no content is empty",
        "\"The content field in the Message object is empty\"",
        has_content,
    ),
    rule(
        "no text is blank",
        "\"The text field in the ContentBlock object is blank\"",
        |body| {
            blocks(body)
                .filter(|block| block.get("text").is_some())
                .all(|block| is_said(&block["text"]))
        },
    ),
    rule(
        "a call has a name of [a-zA-Z0-9_-]{1,64}",
        "the service model, `ToolName`",
        |body| members_of(body, "toolUse").all(|call| is_name(text(call, "name"), 64, "_-")),
    ),
    rule(
        "a call has an id of [a-zA-Z0-9_-]{1,64}",
        "the service model, `ToolUseId`",
        |body| members_of(body, "toolUse").all(|call| is_name(text(call, "toolUseId"), 64, "_-")),
    ),
    rule(
        "the input of a call is an object",
        "the models of Anthropic and Amazon",
        |body| members_of(body, "toolUse").all(|call| call["input"].is_object()),
    ),
    rule(
        "the results of a step begin the next message, all of them and no others",
        "\"Expected toolResult blocks at messages.2.content for the following Ids\"",
        |body| {
            let calls = |message: &Value| {
                ids_of(
                    message,
                    |block| block.get("toolUse").is_some(),
                    "/toolUse/toolUseId",
                )
            };
            let results = |message: &Value| {
                ids_of(
                    message,
                    |block| block.get("toolResult").is_some(),
                    "/toolResult/toolUseId",
                )
            };
            results_follow(messages(body), calls, results)
        },
    ),
    rule(
        "a result has content",
        "\"The content field in the ToolResult object is empty\"",
        |body| members_of(body, "toolResult").all(|result| !items(&result["content"]).is_empty()),
    ),
    rule(
        "thoughts are signed",
        "pydantic-ai, `bedrock.py`: other models refuse them",
        |body| {
            let texts = members_of(body, "reasoningContent")
                .filter_map(|reasoning| reasoning.get("reasoningText"));
            texts.into_iter().all(|text| is_said(&text["signature"]))
        },
    ),
    rule(
        "no turn ends with a thought",
        "\"The final block in an assistant message cannot be `thinking`\"",
        |body| {
            let last =
                of_role(body, "assistant").filter_map(|message| items(&message["content"]).last());
            last.into_iter()
                .all(|block| block.get("reasoningContent").is_none())
        },
    ),
    rule(
        "the user has the last word",
        "\"The model does not support assistant message prefill\"",
        |body| {
            messages(body)
                .last()
                .is_some_and(|last| last["role"] == "user")
        },
    ),
];

/// Llama's and Mistral's models behind Converse.
pub(crate) const LONE_RESULTS: &[Rule] = &[rule(
    "results have a message of their own",
    "pydantic-ai, `bedrock.py`: \"the `toolResult` must be alone\"",
    |body| {
        let is_result = |block: &Value| block.get("toolResult").is_some();
        messages(body).iter().all(|message| {
            let content = items(&message["content"]);
            content.iter().all(is_result) || !content.iter().any(is_result)
        })
    },
)];

pub(crate) const COHERE: &[Rule] = &[
    rule(
        "a message has known members only",
        "cohere-openapi.yaml, `ChatMessageV2`",
        |body| {
            has_members(
                body,
                &[
                    "role",
                    "content",
                    "tool_calls",
                    "tool_call_id",
                    "tool_plan",
                    "citations",
                ],
            )
        },
    ),
    rule(
        "content has texts and thoughts",
        "cohere-openapi.yaml, `AssistantMessageV2Content`",
        |body| {
            let parts = of_role(body, "assistant").flat_map(|message| items(&message["content"]));
            parts
                .into_iter()
                .all(|part| matches!(text(part, "type"), "text" | "thinking"))
        },
    ),
    rule(
        "a plan stands beside calls",
        "docs.cohere.com, Tool use: `tool_plan`",
        |body| {
            messages(body)
                .iter()
                .all(|message| message.get("tool_plan").is_none() || !calls(message).is_empty())
        },
    ),
];

pub(crate) const OLLAMA: &[Rule] = &[
    rule("the user begins", "the templates of models", |body| {
        messages(body)
            .iter()
            .find(|message| message["role"] != "system")
            .is_some_and(|first| first["role"] == "user")
    }),
    rule(
        "arguments are an object",
        "ollama, api/types.go: `ToolCallFunctionArguments`",
        |body| chat_calls(body).all(|call| call["function"]["arguments"].is_object()),
    ),
    rule(
        "content is a text",
        "ollama, api/types.go: `Message`",
        |body| {
            messages(body)
                .iter()
                .all(|message| message["content"].is_string())
        },
    ),
    rule(
        "a result has the name of its call",
        "ollama, docs/api.md: `tool_name`",
        |body| {
            let called = chat_calls(body).map(|call| text(&call["function"], "name"));
            called.eq(of_role(body, "tool").map(|message| text(message, "tool_name")))
        },
    ),
    rule(
        "as many results as calls follow a step",
        "the templates of models",
        |body| {
            let messages = messages(body);
            messages.iter().enumerate().all(|(place, message)| {
                let after = messages
                    .iter()
                    .skip(place + 1)
                    .take_while(|next| next["role"] == "tool")
                    .count();
                message["role"] == "tool" || after == calls(message).len()
            })
        },
    ),
    rule(
        "the model does not have the last word",
        "it would be continued",
        |body| {
            messages(body)
                .last()
                .is_some_and(|last| last["role"] != "assistant")
        },
    ),
];

pub(crate) fn messages(body: &Value) -> &[Value] {
    items(&body["messages"])
}

pub(crate) fn of_role<'v>(body: &'v Value, role: &'v str) -> impl Iterator<Item = &'v Value> {
    messages(body)
        .iter()
        .filter(move |message| message["role"] == role)
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn calls(message: &Value) -> &[Value] {
    items(&message["tool_calls"])
}

pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn chat_calls(body: &Value) -> impl Iterator<Item = &Value> {
    messages(body).iter().flat_map(calls)
}

fn is_plain_call(call: &Value) -> bool {
    let is_known = |value: &Value, known: &[&str]| members(value).all(|name| known.contains(&name));
    is_known(call, &["id", "type", "function"])
        && is_known(&call["function"], &["name", "arguments"])
}

fn input(body: &Value) -> impl Iterator<Item = &Value> {
    items(&body["input"]).iter()
}

fn of_type<'v>(body: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    input(body).filter(move |item| item["type"] == kind)
}

/// Returns the number of the response that an item is from.
fn number_of(item: &Value) -> Option<&str> {
    let (kind, number) = item["id"].as_str()?.split_once('_')?;
    matches!(kind, "rs" | "fc" | "msg" | "ws").then_some(number)
}

fn is_of_user(item: &Value) -> bool {
    item["role"] == "user" || item["type"] == "function_call_output"
}

fn blocks(body: &Value) -> impl Iterator<Item = &Value> {
    messages(body)
        .iter()
        .flat_map(|message| items(&message["content"]))
}

fn members_of<'v>(body: &'v Value, name: &'v str) -> impl Iterator<Item = &'v Value> {
    blocks(body).filter_map(move |block| block.get(name))
}

fn contents(body: &Value) -> &[Value] {
    items(&body["contents"])
}

fn parts(content: &Value) -> &[Value] {
    items(&content["parts"])
}

fn gemini_calls(body: &Value) -> impl Iterator<Item = &Value> {
    contents(body)
        .iter()
        .flat_map(parts)
        .filter_map(|part| part.get("functionCall"))
}

fn gemini_results(body: &Value) -> impl Iterator<Item = &Value> {
    contents(body)
        .iter()
        .flat_map(parts)
        .filter_map(|part| part.get("functionResponse"))
}

fn pairs(values: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    values.iter().zip(values.iter().skip(1))
}

fn members(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
}

fn has_members(body: &Value, known: &[&str]) -> bool {
    messages(body)
        .iter()
        .all(|message| members(message).all(|name| known.contains(&name)))
}

/// Returns true for a text that is not blank, or for parts.
fn is_said(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    }
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_name(name: &str, max_length: usize, punctuation: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || punctuation.contains(letter);
    !name.is_empty() && name.len() <= max_length && name.chars().all(is_allowed)
}

fn is_object_text(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

fn are_unique<'v>(mut ids: impl Iterator<Item = &'v str>) -> bool {
    let mut known = HashSet::new();
    ids.all(|id| known.insert(id))
}

fn alternates(body: &Value) -> bool {
    let roles = messages(body)
        .iter()
        .map(|message| text(message, "role"))
        .collect::<Vec<_>>();
    roles.first() == Some(&"user") && roles.windows(2).all(|pair| pair[0] != pair[1])
}

fn has_content(body: &Value) -> bool {
    messages(body)
        .iter()
        .all(|message| !items(&message["content"]).is_empty())
}

fn chat_results_follow(body: &Value) -> bool {
    let messages = messages(body);
    let mut open = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            let Some(at) = open.iter().position(|open| *open == id) else {
                return false;
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return false;
        }
        open = calls(message).iter().map(|call| text(call, "id")).collect();
    }
    open.is_empty()
}

fn ids_of(message: &Value, is_wanted: impl Fn(&Value) -> bool, id: &str) -> Vec<String> {
    let wanted = items(&message["content"])
        .iter()
        .filter(|block| is_wanted(block));
    wanted
        .filter_map(|block| Some(block.pointer(id)?.as_str()?.to_owned()))
        .collect()
}

/// Returns true if the results of each message's calls are the beginning of the next one, and no other results are anywhere.
fn results_follow(
    messages: &[Value],
    calls: impl Fn(&Value) -> Vec<String>,
    results: impl Fn(&Value) -> Vec<String>,
) -> bool {
    let mut open = Vec::new();
    for message in messages {
        let mut found = results(message);
        let first = items(&message["content"]).iter().take(found.len());
        let are_first = first
            .filter(|block| block["type"] == "tool_result" || block.get("toolResult").is_some())
            .count();
        let is_beginning = are_first == found.len();
        found.sort_unstable();
        open.sort_unstable();
        if found != open || !is_beginning {
            return false;
        }
        open = calls(message);
    }
    open.is_empty()
}
