//! What the providers tell of a response: its id, its model, and what was used. Input has what was cached and what was
//! written to the cache, output has the reasoning, whoever counts. S8

use crate::Provider;
use crate::event::Event;
use crate::tests::streams::{events, read, sse};

/// The lines about the response, of a whole answer or a stream, wherever it is cut.
fn told(provider: Provider, message: &str) -> String {
    let summary = read(provider, message);
    let about = |line: &&str| {
        ["response:", "service tier:", "usage:"]
            .iter()
            .any(|kind| line.starts_with(kind))
    };
    summary.lines().filter(about).collect::<Vec<_>>().join("; ")
}

#[test]
fn chat_completions_tell_id_model_and_usage() {
    let whole = r#"{"id":"chatcmpl-1","model":"gpt-5-2025-08-07","choices":[{"index":0,"message":{"content":"Hi"},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":40,"total_tokens":140,
        "prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},
        "completion_tokens_details":{"reasoning_tokens":25}}}"#;
    let expected =
        r#"response: Some("chatcmpl-1") Some("gpt-5-2025-08-07"); usage: 100 60 30 40 25"#;
    assert_eq!(told(Provider::OpenAiChat, whole), expected);
    let stream = sse([
        // Azure begins with what it thinks of the prompt.
        r#"{"choices":[],"id":"","model":"","prompt_filter_results":[]}"#,
        r#"{"id":"chatcmpl-1","model":"gpt-5-2025-08-07","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
        r#"{"id":"chatcmpl-1","model":"gpt-5-2025-08-07","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"chatcmpl-1","model":"gpt-5-2025-08-07","choices":[],"usage":{"prompt_tokens":100,
           "completion_tokens":40,"total_tokens":140,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},
           "completion_tokens_details":{"reasoning_tokens":25}}}"#
            .replace('\n', " ")
            .as_str(),
        "[DONE]",
    ]);
    assert_eq!(told(Provider::OpenAiChat, &stream), expected);
}

#[test]
fn reasoning_counted_beside_the_output_is_added() {
    let answer = |usage: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"message":{{"content":"Hi"}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        )
    };
    // xAI: the total has the reasoning once more.
    let usage = r#"{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,
        "completion_tokens_details":{"reasoning_tokens":94}}"#;
    assert_eq!(
        told(Provider::OpenAiChat, &answer(usage)),
        "usage: 32 0 0 103 94"
    );
    // Perplexity.
    let usage = r#"{"prompt_tokens":20,"completion_tokens":50,"total_tokens":470,"reasoning_tokens":300,
        "citation_tokens":100}"#;
    assert_eq!(
        told(Provider::OpenAiChat, &answer(usage)),
        "usage: 20 0 0 350 300"
    );
    // DeepSeek, Moonshot, and a gateway.
    let usage = r#"{"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,"prompt_cache_hit_tokens":40}"#;
    assert_eq!(
        told(Provider::OpenAiChat, &answer(usage)),
        "usage: 50 40 0 7 0"
    );
    let usage =
        r#"{"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,"cached_tokens":30}"#;
    assert_eq!(
        told(Provider::OpenAiChat, &answer(usage)),
        "usage: 50 30 0 7 0"
    );
    let usage = r#"{"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,"cache_read_input_tokens":20,
        "cache_creation_input_tokens":10}"#;
    assert_eq!(
        told(Provider::OpenAiChat, &answer(usage)),
        "usage: 50 20 10 7 0"
    );
}

#[test]
fn thoughts_that_only_googles_total_has_are_added() {
    let answer = |model: &str| {
        format!(
            r#"{{"model":"{model}","choices":[{{"index":0,"message":{{"content":"Hi"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":1,"total_tokens":103}}}}"#
        )
    };
    assert_eq!(
        told(Provider::OpenAiChat, &answer("google/gemini-2.5-flash")),
        r#"response: None Some("google/gemini-2.5-flash"); usage: 9 0 0 94 93"#
    );
    assert_eq!(
        told(Provider::OpenAiChat, &answer("sonar")),
        r#"response: None Some("sonar"); usage: 9 0 0 1 0"#
    );
}

#[test]
fn responses_tell_id_model_and_usage() {
    let response = r#"{"id":"resp_1","object":"response","model":"gpt-5-2025-08-07","status":"completed","output":[],
        "usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},
        "output_tokens":40,"output_tokens_details":{"reasoning_tokens":25},"total_tokens":140}}"#
        .replace('\n', " ");
    let expected = r#"response: Some("resp_1") Some("gpt-5-2025-08-07"); usage: 100 60 30 40 25"#;
    assert_eq!(told(Provider::OpenAiResponses, &response), expected);
    let created =
        r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-5-2025-08-07"}}"#;
    let completed = format!(r#"{{"type":"response.completed","response":{response}}}"#);
    assert_eq!(
        told(Provider::OpenAiResponses, &sse([created, &completed])),
        expected
    );
}

#[test]
fn realtime_tells_the_sessions_model_with_each_response() {
    let session = r#"{"type":"session.created","session":{"id":"sess_1","model":"gpt-realtime"}}"#;
    let created = r#"{"type":"response.created","response":{"id":"resp_1"}}"#;
    let done = r#"{"type":"response.done","response":{"id":"resp_1","status":"completed","output":[],
        "usage":{"input_tokens":100,"input_token_details":{"cached_tokens":60,"text_tokens":40,"audio_tokens":60},
        "output_tokens":40,"output_token_details":{"text_tokens":10,"audio_tokens":30},"total_tokens":140}}}"#;
    let next = done.replace("resp_1", "resp_2");
    assert_eq!(
        told(
            Provider::OpenAiRealtime,
            &[session, created, done, &next].join("\n")
        ),
        r#"response: Some("resp_1") Some("gpt-realtime"); usage: 100 60 0 40 0 audio=60 output_audio=30; response: Some("resp_2") Some("gpt-realtime"); usage: 100 60 0 40 0 audio=60 output_audio=30"#
    );
}

#[test]
fn anthropic_tells_id_model_and_usage() {
    let usage =
        r#"{"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,
        "output_tokens":40,"output_tokens_details":{"thinking_tokens":25}}"#
            .replace('\n', " ");
    let whole = format!(
        r#"{{"type":"message","id":"msg_1","model":"claude-sonnet-4-5-20250929","role":"assistant",
        "content":[],"stop_reason":"end_turn","usage":{usage}}}"#
    );
    let response = r#"response: Some("msg_1") Some("claude-sonnet-4-5-20250929")"#;
    assert_eq!(
        told(Provider::Anthropic, &whole),
        format!("{response}; usage: 100 60 30 40 25")
    );
    let start =
        r#"{"type":"message_start","message":{"type":"message","id":"msg_1","model":"claude-sonnet-4-5-20250929",
        "content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,
        "output_tokens":1}}}"#
            .replace('\n', " ");
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40,"output_tokens_details":{"thinking_tokens":25}}}"#;
    assert_eq!(
        told(
            Provider::Anthropic,
            &sse([&*start, delta, r#"{"type":"message_stop"}"#])
        ),
        format!("{response}; usage: 100 60 30 1 0; usage: 100 60 30 40 25")
    );
}

#[test]
fn gemini_tells_id_model_and_usage() {
    let chunk = |finish: &str, thoughts: u64| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"Hi"}}]}}{finish}}}],"responseId":"r1",
            "modelVersion":"gemini-2.5-flash","usageMetadata":{{"promptTokenCount":70,"cachedContentTokenCount":60,
            "toolUsePromptTokenCount":30,"candidatesTokenCount":15,"thoughtsTokenCount":{thoughts},
            "totalTokenCount":140}}}}"#
        )
        .replace('\n', " ")
    };
    let whole = chunk(r#","finishReason":"STOP""#, 25);
    let response = r#"response: Some("r1") Some("gemini-2.5-flash")"#;
    assert_eq!(
        told(Provider::Gemini, &whole),
        format!("{response}; usage: 100 60 0 40 25")
    );
    assert_eq!(
        told(Provider::GeminiJsonSchema, &sse([&*chunk("", 3), &*whole])),
        format!("{response}; usage: 100 60 0 18 3; usage: 100 60 0 40 25")
    );
}

#[test]
fn gemini_live_tells_usage_only() {
    let message = r#"{"serverContent":{"turnComplete":true},"usageMetadata":{"promptTokenCount":70,
        "toolUsePromptTokenCount":30,"cachedContentTokenCount":60,"responseTokenCount":15,"thoughtsTokenCount":25}}"#;
    assert_eq!(told(Provider::GeminiLive, message), "usage: 100 60 0 40 25");
}

#[test]
fn bedrock_tells_the_model_only_where_a_router_chose_it() {
    let usage = r#""usage":{"inputTokens":10,"outputTokens":40,"totalTokens":140,"cacheReadInputTokens":60,
        "cacheWriteInputTokens":30}"#;
    let whole = format!(
        r#"{{"output":{{"message":{{"content":[{{"text":"Hi"}}]}}}},"stopReason":"end_turn",{usage}}}"#
    );
    assert_eq!(told(Provider::Bedrock, &whole), "usage: 100 60 30 40 0");
    let model =
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-sonnet-20240620-v1:0";
    let stream = format!(
        r#"{{"messageStart":{{"role":"assistant"}}}}
        {{"contentBlockDelta":{{"contentBlockIndex":0,"delta":{{"text":"Hi"}}}}}}
        {{"messageStop":{{"stopReason":"end_turn"}}}}
        {{"metadata":{{{usage},"trace":{{"promptRouter":{{"invokedModelId":"{model}"}}}}}}}}"#
    );
    assert_eq!(
        told(Provider::Bedrock, &stream),
        format!(r#"response: None Some("{model}"); usage: 100 60 30 40 0"#)
    );
}

#[test]
fn mistral_tells_id_model_and_usage() {
    let whole = r#"{"id":"m1","model":"mistral-large-latest","choices":[{"index":0,"message":{"content":"Hi"},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":40,"total_tokens":140,
        "num_cached_tokens":60}}"#;
    let expected = r#"response: Some("m1") Some("mistral-large-latest"); usage: 100 60 0 40 0"#;
    assert_eq!(told(Provider::Mistral, whole), expected);
}

#[test]
fn cohere_tells_the_id_and_what_is_billed() {
    let usage = r#"{"billed_units":{"input_tokens":17.0,"output_tokens":40.0},"tokens":{"input_tokens":215.0,"output_tokens":44.0},"cached_tokens":64}"#;
    let whole = format!(
        r#"{{"id":"c1","finish_reason":"COMPLETE","message":{{"role":"assistant","content":[{{"type":"text","text":"Hi"}}]}},"usage":{usage}}}"#
    );
    assert_eq!(
        told(Provider::Cohere, &whole),
        r#"response: Some("c1") None; usage: 17 17 0 40 0"#
    );
    let start = r#"{"type":"message-start","id":"c1","delta":{"message":{"role":"assistant","content":[]}}}"#;
    let end = format!(
        r#"{{"type":"message-end","delta":{{"finish_reason":"COMPLETE","usage":{usage}}}}}"#
    );
    assert_eq!(
        told(Provider::Cohere, &sse([start, &end])),
        r#"response: Some("c1") None; usage: 17 17 0 40 0"#
    );
    let tokens = whole.replace(
        r#""billed_units":{"input_tokens":17.0,"output_tokens":40.0},"#,
        "",
    );
    assert_eq!(
        told(Provider::Cohere, &tokens),
        r#"response: Some("c1") None; usage: 215 64 0 44 0"#
    );
}

#[test]
fn ollama_tells_the_model_and_usage() {
    let lines = r#"{"model":"llama3.2","message":{"role":"assistant","content":"Hi"},"done":false}
        {"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":40}"#;
    assert_eq!(
        told(Provider::Ollama, lines),
        r#"response: None Some("llama3.2"); usage: 100 0 0 40 0"#
    );
}

#[test]
fn openai_counts_audio_and_images_with_their_cache() {
    let details = r#"{"text_tokens":50,"audio_tokens":40,"image_tokens":10,"cached_tokens":60,
        "cached_tokens_details":{"text_tokens":30,"audio_tokens":25,"image_tokens":5}}"#
        .replace('\n', " ");
    let output = r#"{"text_tokens":10,"audio_tokens":30}"#;
    let expected = "100 60 0 40 0 audio=40 image=10 cached_audio=25 cached_image=5 output_audio=30";
    let done = format!(
        r#"{{"type":"response.done","response":{{"id":"r1","status":"completed","output":[],"usage":{{"input_tokens":100,"input_token_details":{details},"output_tokens":40,"output_token_details":{output}}}}}}}"#
    );
    assert_eq!(
        told(Provider::OpenAiRealtime, &done),
        format!(r#"response: Some("r1") None; usage: {expected}"#)
    );
    let chat = format!(
        r#"{{"choices":[{{"index":0,"message":{{"content":"Hi"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":100,"completion_tokens":40,"total_tokens":140,"prompt_tokens_details":{details},"completion_tokens_details":{output}}}}}"#
    );
    assert_eq!(
        told(Provider::OpenAiChat, &chat),
        format!("usage: {expected}")
    );
}

#[test]
fn gemini_counts_audio_and_images_by_modality() {
    let usage = |output: &str| {
        format!(
            r#"{{"promptTokenCount":90,"cachedContentTokenCount":60,"toolUsePromptTokenCount":10,"{output}TokenCount":40,
            "promptTokensDetails":[{{"modality":"TEXT","tokenCount":20}},{{"modality":"AUDIO","tokenCount":50}},
            {{"modality":"IMAGE","tokenCount":9}},{{"modality":"DOCUMENT","tokenCount":3}},
            {{"modality":"VIDEO","tokenCount":8}}],
            "cacheTokensDetails":[{{"modality":"AUDIO","tokenCount":30}},{{"modality":"VIDEO","tokenCount":4}}],
            "toolUsePromptTokensDetails":[{{"modality":"AUDIO","tokenCount":1}}],
            "{output}TokensDetails":[{{"modality":"AUDIO","tokenCount":33}},{{"modality":"TEXT","tokenCount":7}}]}}"#
        )
        .replace('\n', " ")
    };
    let expected = "100 60 0 40 0 audio=51 image=20 cached_audio=30 cached_image=4 output_audio=33";
    let live = format!(
        r#"{{"serverContent":{{"turnComplete":true}},"usageMetadata":{}}}"#,
        usage("response")
    );
    assert_eq!(
        told(Provider::GeminiLive, &live),
        format!("usage: {expected}")
    );
    let answer = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"Hi"}}]}},"finishReason":"STOP"}}],"usageMetadata":{}}}"#,
        usage("candidates")
    );
    assert_eq!(
        told(Provider::Gemini, &answer),
        format!("usage: {expected}")
    );
}

#[test]
fn counts_what_the_cache_keeps_for_an_hour() {
    let start = r#"{"type":"message_start","message":{"type":"message","id":"m","model":"c","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":30},"output_tokens":1}}}"#;
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}"#;
    assert_eq!(
        told(
            Provider::Anthropic,
            &sse([start, delta, r#"{"type":"message_stop"}"#])
        ),
        r#"response: Some("m") Some("c"); usage: 100 0 90 1 0 written_1h=30; usage: 100 0 90 40 0 written_1h=30"#
    );
    let converse = r#"{"output":{"message":{"content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":40,"totalTokens":140,"cacheWriteInputTokens":90,"cacheDetails":[{"ttl":"5m","inputTokens":60},{"ttl":"1h","inputTokens":30}]}}"#;
    assert_eq!(
        told(Provider::Bedrock, converse),
        "usage: 100 0 90 40 0 written_1h=30"
    );
}

#[test]
fn each_provider_tells_another_tier_than_the_standard_one() {
    let chat = r#"{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"service_tier":"TIER","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let response = r#"{"object":"response","status":"completed","output":[],"service_tier":"TIER","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let message = r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1,"service_tier":"TIER"}}"#;
    let fast = r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1,"service_tier":"standard","speed":"TIER"}}"#;
    let candidate = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"serviceTier":"TIER"}}"#;
    let vertex = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"trafficType":"ON_DEMAND_TIER"}}"#;
    let live = r#"{"serverContent":{"turnComplete":true},"usageMetadata":{"promptTokenCount":1,"responseTokenCount":1,"serviceTier":"TIER"}}"#;
    let converse = r#"{"output":{"message":{"content":[{"text":"Hi"}]}},"stopReason":"end_turn","serviceTier":{"type":"TIER"},"usage":{"inputTokens":1,"outputTokens":1}}"#;
    for (provider, message) in [
        (Provider::OpenAiChat, chat),
        (Provider::OpenAiResponses, response),
        (Provider::Anthropic, message),
        (Provider::Anthropic, fast),
        (Provider::Gemini, candidate),
        (Provider::Gemini, vertex),
        (Provider::GeminiLive, live),
        (Provider::Bedrock, converse),
    ] {
        let tier = |name: &str| told(provider, &message.replace("TIER", name));
        assert_eq!(
            tier("PRIORITY"),
            "service tier: priority; usage: 1 0 0 1 0",
            "{message}"
        );
        for standard in ["default", "auto", "STANDARD", ""] {
            assert_eq!(tier(standard), "usage: 1 0 0 1 0", "{message}");
        }
    }
    let traffic = |name| told(Provider::Gemini, &vertex.replace("ON_DEMAND_TIER", name));
    assert_eq!(traffic("ON_DEMAND"), "usage: 1 0 0 1 0");
    assert_eq!(traffic("TRAFFIC_TYPE_UNSPECIFIED"), "usage: 1 0 0 1 0");
    assert_eq!(
        traffic("PROVISIONED_THROUGHPUT"),
        "service tier: provisioned_throughput; usage: 1 0 0 1 0"
    );
}

/// The usage of an answer before which the server has made a summary.
const PASSES: &str = r#"{"input_tokens":23000,"output_tokens":1000,"iterations":[{"type":"compaction","input_tokens":180000,"cache_read_input_tokens":500,"output_tokens":3500},{"type":"message","input_tokens":23000,"cache_creation_input_tokens":40,"output_tokens":1000}]}"#;

#[test]
fn anthropic_counts_all_passes_of_a_whole_answer() {
    let whole =
        format!(r#"{{"type":"message","content":[],"stop_reason":"end_turn","usage":{PASSES}}}"#);
    assert_eq!(
        told(Provider::Anthropic, &whole),
        "usage: 203540 500 40 4500 0"
    );
}

#[test]
fn anthropic_counts_all_passes_of_a_stream() {
    let start = r#"{"type":"message_start","message":{"type":"message","id":"m","content":[],"usage":{"input_tokens":23000,"output_tokens":1}}}"#;
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{PASSES}}}"#
    );
    let told = told(
        Provider::Anthropic,
        &sse([start, &delta, r#"{"type":"message_stop"}"#]),
    );
    assert!(told.ends_with("usage: 203540 500 40 4500 0"), "{told}");
}

#[test]
fn passes_that_only_answer_are_counted_once() {
    let usage = r#"{"input_tokens":10,"output_tokens":40,"iterations":[{"type":"message","input_tokens":6,"output_tokens":10},{"type":"message","input_tokens":4,"output_tokens":20}]}"#;
    let whole =
        format!(r#"{{"type":"message","content":[],"stop_reason":"end_turn","usage":{usage}}}"#);
    assert_eq!(told(Provider::Anthropic, &whole), "usage: 10 0 0 40 0");
}

/// Returns the input, the context and the largest request of the last usage.
fn sizes(provider: Provider, message: &str) -> [u64; 3] {
    let events = events(provider, [message.as_bytes()]);
    let usage = events.iter().rev().find_map(|event| match event {
        Event::Usage(usage) => Some(usage),
        _ => None,
    });
    let usage = usage.expect("a usage");
    [usage.input, usage.context(), usage.input_at_once]
}

/// Writes an answer of `claude-a` by Anthropic, with members of its usage.
fn answer_of_claude(usage: &str) -> String {
    format!(
        r#"{{"type":"message","id":"m","model":"claude-a","content":[],"stop_reason":"end_turn","usage":{{{usage}}}}}"#
    )
}

#[test]
fn the_context_of_a_loop_of_anthropics_tools_is_its_last_pass() {
    let pass = r#"{"type":"message","input_tokens":60000,"output_tokens":10}"#;
    let usage =
        format!(r#""input_tokens":180000,"output_tokens":30,"iterations":[{pass},{pass},{pass}]"#);
    assert_eq!(
        sizes(Provider::Anthropic, &answer_of_claude(&usage)),
        [180_000, 60_000, 60_000]
    );
}

#[test]
fn a_summary_is_the_largest_request_behind_an_answer() {
    let usage = r#""input_tokens":23000,"output_tokens":10,"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":5},
        {"type":"message","input_tokens":23000,"output_tokens":10}]"#;
    assert_eq!(
        sizes(Provider::Anthropic, &answer_of_claude(usage)),
        [203_000, 23_000, 180_000]
    );
}

#[test]
fn an_answer_with_an_adviser_is_one_of_several_models() {
    let with_adviser = |model: &str| {
        let usage = format!(
            r#""input_tokens":10,"output_tokens":1,"iterations":[{{"type":"message","input_tokens":10,"output_tokens":1}},{{"type":"advisor_message","model":"{model}","input_tokens":5,"output_tokens":1}}]"#
        );
        told(Provider::Anthropic, &answer_of_claude(&usage))
    };
    let response = r#"response: Some("m") Some("claude-a")"#;
    assert_eq!(
        with_adviser("claude-b"),
        format!("{response}; service tier: several_models; usage: 15 0 0 2 0")
    );
    assert_eq!(
        with_adviser("claude-a-20260101"),
        format!("{response}; usage: 15 0 0 2 0"),
        "the same model"
    );
}

#[test]
fn the_model_of_a_fallback_pass_is_that_of_the_response() {
    let fallback =
        r#"{"type":"fallback_message","model":"claude-b","input_tokens":10,"output_tokens":1}"#;
    let usage = |passes: &str| {
        let usage = format!(r#""input_tokens":10,"output_tokens":1,"iterations":[{passes}]"#);
        told(Provider::Anthropic, &answer_of_claude(&usage))
    };
    let responses = r#"response: Some("m") Some("claude-a"); response: None Some("claude-b")"#;
    assert_eq!(usage(fallback), format!("{responses}; usage: 10 0 0 1 0"));
    let refused = r#"{"type":"message","input_tokens":10,"output_tokens":1}"#;
    assert_eq!(
        usage(&format!("{refused},{fallback}")),
        format!("{responses}; service tier: several_models; usage: 20 0 0 2 0")
    );
}

/// Writes a stream that `claude-a` begins and another model ends, with further members of its usage.
fn stream_with_fallback(next: &str, further: &str) -> String {
    let fallback = format!(
        r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"fallback","from":{{"model":"claude-a"}},"to":{{"model":"{next}"}}}}}}"#
    );
    let end = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"input_tokens":10,"output_tokens":1{further}}}}}"#
    );
    sse([
        r#"{"type":"message_start","message":{"type":"message","id":"m","model":"claude-a","content":[]}}"#,
        &fallback,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        &end,
        r#"{"type":"message_stop"}"#,
    ])
}

#[test]
fn a_fallback_without_a_list_of_passes_is_of_several_models() {
    for further in ["", r#","iterations":null"#, r#","iterations":[]"#] {
        assert_eq!(
            told(
                Provider::Anthropic,
                &stream_with_fallback("claude-b", further)
            ),
            r#"response: Some("m") Some("claude-a"); response: None Some("claude-b"); service tier: several_models; usage: 10 0 0 1 0"#,
            "{further}"
        );
    }
}

#[test]
fn a_model_that_takes_over_is_told_once_without_its_date_too() {
    let passes = r#","iterations":[{"type":"fallback_message","model":"claude-b","input_tokens":10,"output_tokens":1}]"#;
    assert_eq!(
        told(
            Provider::Anthropic,
            &stream_with_fallback("claude-b-20260101", passes)
        ),
        r#"response: Some("m") Some("claude-a"); response: None Some("claude-b-20260101"); usage: 10 0 0 1 0"#
    );
}

#[test]
fn anthropics_region_is_told_as_a_tier() {
    let tier = |members: &str| {
        let usage = format!(r#""input_tokens":1,"output_tokens":1,{members}"#);
        let told = told(Provider::Anthropic, &answer_of_claude(&usage));
        let of_tier = told
            .split("; ")
            .find_map(|line| line.strip_prefix("service tier: "));
        of_tier.map(str::to_owned)
    };
    assert_eq!(tier(r#""inference_geo":"us""#).as_deref(), Some("us"));
    assert_eq!(
        tier(r#""inference_geo":"us","speed":"fast""#).as_deref(),
        Some("fast-us")
    );
    for any in ["global", "not_available", ""] {
        assert_eq!(tier(&format!(r#""inference_geo":"{any}""#)), None, "{any}");
    }
}

/// Writes an answer of Gemini, which has read the result of a tool of its own.
fn answer_of_gemini(part: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":70,"toolUsePromptTokenCount":30,"candidatesTokenCount":5}}}}"#
    )
}

#[test]
fn what_geminis_tools_have_read_is_not_in_the_context() {
    let answer = answer_of_gemini(r#"{"text":"Hi"}"#);
    assert_eq!(sizes(Provider::Gemini, &answer), [100, 70, 100]);
    let live = r#"{"serverContent":{"turnComplete":true},"usageMetadata":{"promptTokenCount":70,"toolUsePromptTokenCount":30,"responseTokenCount":5}}"#;
    assert_eq!(sizes(Provider::GeminiLive, live), [100, 70, 100]);
}

#[test]
fn results_in_geminis_answer_are_in_the_context() {
    for part in [
        r#"{"toolResponse":{"id":"a","response":{}}}"#,
        r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"3"}}"#,
    ] {
        assert_eq!(
            sizes(Provider::Gemini, &answer_of_gemini(part)),
            [100, 100, 0],
            "{part}"
        );
    }
}
