//! One call of `create_event` as providers send it: in a whole answer, and in a stream with the arguments in pieces.

use crate::works::inputs::EVENT;
use serde_json::Value;
use std::fmt::Write as _;
use tool_adapters::Provider;

/// The answers of a provider.
pub(crate) struct Answers {
    pub(crate) name: &'static str,
    pub(crate) provider: Provider,
    pub(crate) whole: String,
    /// Server-sent events.
    pub(crate) stream: String,
}

/// Chat Completions first.
pub(crate) fn all() -> [Answers; 4] {
    [openai_chat(), openai_responses(), anthropic(), gemini()]
}

/// Returns a text as JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the arguments in pieces, as JSON.
fn pieces() -> Vec<String> {
    EVENT
        .as_bytes()
        .chunks(8)
        .map(|piece| quoted(&String::from_utf8_lossy(piece)))
        .collect()
}

fn openai_chat() -> Answers {
    let arguments = quoted(EVENT);
    let whole = format!(
        r#"{{"id":"chatcmpl-Cw1","object":"chat.completion","created":1763632800,"model":"gpt-5-mini","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_9pXWjnwzQeRbFA1zD2xmKkqL","type":"function","function":{{"name":"create_event","arguments":{arguments}}}}}],"refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":412,"completion_tokens":71,"total_tokens":483,"prompt_tokens_details":{{"cached_tokens":256,"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0}}}},"service_tier":"default"}}"#
    );
    let mut stream = String::new();
    let mut chunk = |delta: &str, rest: &str| {
        let _ = write!(
            stream,
            "data: {{\"id\":\"chatcmpl-Cw1\",\"object\":\"chat.completion.chunk\",\"created\":1763632800,\"model\":\"gpt-5-mini\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{rest}}}]}}\n\n"
        );
    };
    chunk(
        r#"{"tool_calls":[{"index":0,"id":"call_9pXWjnwzQeRbFA1zD2xmKkqL","type":"function","function":{"name":"create_event","arguments":""}}]}"#,
        "null",
    );
    for piece in pieces() {
        chunk(
            &format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{piece}}}}}]}}"#),
            "null",
        );
    }
    chunk("{}", r#""tool_calls""#);
    stream.push_str("data: [DONE]\n\n");
    Answers {
        name: "Chat Completions",
        provider: Provider::OpenAiChat,
        whole,
        stream,
    }
}

fn openai_responses() -> Answers {
    let item = |arguments: &str, status: &str| {
        format!(
            r#"{{"id":"fc_68f1c2a7e0b08191","type":"function_call","status":"{status}","arguments":{arguments},"call_id":"call_9pXWjnwzQeRbFA1zD2xmKkqL","name":"create_event"}}"#
        )
    };
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#"{{"id":"resp_68f1c2a6b4c88191","object":"response","created_at":1763632800,"status":"{status}","error":null,"incomplete_details":null,"model":"gpt-5-mini","output":[{output}],"parallel_tool_calls":true,"temperature":1.0,"tool_choice":"auto","usage":{usage}}}"#
        )
    };
    let usage = r#"{"input_tokens":412,"input_tokens_details":{"cached_tokens":256},"output_tokens":71,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":483}"#;
    let done = item(&quoted(EVENT), "completed");
    let whole = response("completed", &done, usage);
    let mut stream = String::new();
    let mut number = 0;
    let mut event = |name: &str, members: &str| {
        let _ = write!(
            stream,
            "event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{members}}}\n\n"
        );
        number += 1;
    };
    event(
        "response.created",
        &format!(r#""response":{}"#, response("in_progress", "", "null")),
    );
    event(
        "response.in_progress",
        &format!(r#""response":{}"#, response("in_progress", "", "null")),
    );
    event(
        "response.output_item.added",
        &format!(r#""output_index":0,"item":{}"#, item("\"\"", "in_progress")),
    );
    let of_item = r#""item_id":"fc_68f1c2a7e0b08191","output_index":0"#;
    for piece in pieces() {
        event(
            "response.function_call_arguments.delta",
            &format!(r#"{of_item},"delta":{piece}"#),
        );
    }
    event(
        "response.function_call_arguments.done",
        &format!(r#"{of_item},"arguments":{}"#, quoted(EVENT)),
    );
    event(
        "response.output_item.done",
        &format!(r#""output_index":0,"item":{done}"#),
    );
    event("response.completed", &format!(r#""response":{whole}"#));
    Answers {
        name: "Responses",
        provider: Provider::OpenAiResponses,
        whole,
        stream,
    }
}

fn anthropic() -> Answers {
    let block = |input: &str| {
        format!(
            r#"{{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"create_event","input":{input}}}"#
        )
    };
    let message = |content: &str, reason: &str, output: u32| {
        format!(
            r#"{{"id":"msg_01EcyWo6m4hyW8KHs2y2pei5","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{content}],"stop_reason":{reason},"stop_sequence":null,"usage":{{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":256,"output_tokens":{output},"service_tier":"standard"}}}}"#
        )
    };
    let whole = message(&block(EVENT), r#""tool_use""#, 71);
    let mut stream = String::new();
    let mut event = |name: &str, members: &str| {
        let _ = write!(
            stream,
            "event: {name}\ndata: {{\"type\":\"{name}\"{members}}}\n\n"
        );
    };
    event(
        "message_start",
        &format!(r#","message":{}"#, message("", "null", 1)),
    );
    event(
        "content_block_start",
        &format!(r#","index":0,"content_block":{}"#, block("{}")),
    );
    for piece in pieces() {
        event(
            "content_block_delta",
            &format!(r#","index":0,"delta":{{"type":"input_json_delta","partial_json":{piece}}}"#),
        );
    }
    event("content_block_stop", r#","index":0"#);
    event(
        "message_delta",
        r#","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":71}"#,
    );
    event("message_stop", "");
    Answers {
        name: "Messages",
        provider: Provider::Anthropic,
        whole,
        stream,
    }
}

/// Calls come whole. The rest of the stream is text.
fn gemini() -> Answers {
    let chunk = |part: &str, reason: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}}{reason},"index":0}}],"usageMetadata":{{"promptTokenCount":412,"candidatesTokenCount":71,"totalTokenCount":483,"cachedContentTokenCount":256,"promptTokensDetails":[{{"modality":"TEXT","tokenCount":412}}]}},"modelVersion":"gemini-2.5-flash","responseId":"pXWjnwzQeRbFA1zD2xmKkqL"}}"#
        )
    };
    let call = format!(r#"{{"functionCall":{{"name":"create_event","args":{EVENT}}}}}"#);
    let whole = chunk(&call, r#","finishReason":"STOP""#);
    let mut stream = String::new();
    for piece in pieces() {
        let _ = write!(
            stream,
            "data: {}\n\n",
            chunk(&format!(r#"{{"text":{piece}}}"#), "")
        );
    }
    let _ = write!(stream, "data: {whole}\n\n");
    Answers {
        name: "generateContent",
        provider: Provider::Gemini,
        whole,
        stream,
    }
}
