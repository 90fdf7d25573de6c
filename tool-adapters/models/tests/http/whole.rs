//! Whole answers of every provider over HTTP.

use crate::server::Answer;
use serde_json::{Value, json};
use tool_adapters::Provider;

/// The providers over HTTP.
pub(crate) const PROVIDERS: [Provider; 8] = [
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Mistral,
    Provider::Cohere,
    Provider::Ollama,
    Provider::Bedrock,
];

/// The reason for which an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum End {
    #[default]
    Done,
    Calls,
    Length,
    Withheld,
}

/// The content of an answer, in the order of the members.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Whole<'a> {
    pub(crate) thought: &'a str,
    pub(crate) text: &'a str,
    pub(crate) calls: &'a [Called<'a>],
    pub(crate) end: End,
}

/// A call of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    /// The arguments as JSON, or a part of it.
    pub(crate) arguments: &'a str,
}

impl Called<'_> {
    /// The arguments where a provider sends an object.
    fn object(&self) -> Value {
        serde_json::from_str(self.arguments).unwrap_or_else(|_| json!({}))
    }

    fn function(&self) -> Value {
        json!({"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}})
    }
}

impl Whole<'_> {
    /// Returns the answer of the provider. `None` if it has no word for the end.
    pub(crate) fn answer(&self, provider: Provider) -> Option<Answer> {
        let body = match provider {
            Provider::OpenAiChat => self.chat(&json!(self.text)),
            Provider::Mistral => self.chat(&self.mistral_content()),
            Provider::OpenAiResponses => self.responses(),
            Provider::Anthropic => self.anthropic()?,
            Provider::Gemini => self.gemini(),
            Provider::Cohere => self.cohere(),
            Provider::Ollama => self.ollama()?,
            Provider::Bedrock => self.bedrock(),
            _ => return None,
        };
        Some(json_answer(&body))
    }

    fn word<'w>(
        &self,
        done: &'w str,
        calls: &'w str,
        length: &'w str,
        withheld: &'w str,
    ) -> &'w str {
        match self.end {
            End::Done => done,
            End::Calls => calls,
            End::Length => length,
            End::Withheld => withheld,
        }
    }

    fn chat(&self, content: &Value) -> Value {
        let mut message = json!({"role": "assistant", "content": content});
        if !self.thought.is_empty() && content.is_string() {
            message["reasoning_content"] = self.thought.into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(Called::function).collect();
        }
        let reason = self.word("stop", "tool_calls", "length", "content_filter");
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "the-model",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    }

    fn mistral_content(&self) -> Value {
        if self.thought.is_empty() {
            return json!(self.text);
        }
        let thought =
            json!({"type": "thinking", "thinking": [{"type": "text", "text": self.thought}]});
        json!([thought, {"type": "text", "text": self.text}])
    }

    fn responses(&self) -> Value {
        let is_whole = matches!(self.end, End::Done | End::Calls);
        let status = if is_whole { "completed" } else { "incomplete" };
        let mut output = Vec::new();
        if !self.thought.is_empty() {
            let summary = json!([{"type": "summary_text", "text": self.thought}]);
            output
                .push(json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VhbGVk"}));
        }
        if !self.text.is_empty() {
            let content = json!([{"type": "output_text", "text": self.text, "annotations": []}]);
            output.push(
                json!({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}),
            );
        }
        for call in self.calls {
            output.push(
                json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
                "name": call.name, "arguments": call.arguments, "status": status}),
            );
        }
        let reason = self.word("", "", "max_output_tokens", "content_filter");
        let details = if is_whole {
            Value::Null
        } else {
            json!({"reason": reason})
        };
        json!({"id": "r", "object": "response", "model": "the-model", "status": status, "incomplete_details": details,
            "output": output, "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
    }

    fn anthropic(&self) -> Option<Value> {
        let mut content = Vec::new();
        if !self.thought.is_empty() {
            content.push(
                json!({"type": "thinking", "thinking": self.thought, "signature": "c2lnbmVk"}),
            );
        }
        if !self.text.is_empty() {
            content.push(json!({"type": "text", "text": self.text}));
        }
        for call in self.calls {
            content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.object()}));
        }
        let reason = self.word("end_turn", "tool_use", "max_tokens", "");
        (!reason.is_empty()).then(|| anthropic(&content, reason))
    }

    fn gemini(&self) -> Value {
        let mut parts = Vec::new();
        if !self.thought.is_empty() {
            parts.push(json!({"text": self.thought, "thought": true}));
        }
        if !self.text.is_empty() {
            parts.push(json!({"text": self.text}));
        }
        for call in self.calls {
            let call = json!({"name": call.name, "args": call.object()});
            parts.push(json!({"functionCall": call, "thoughtSignature": "c2lnbmVk"}));
        }
        let reason = self.word("STOP", "STOP", "MAX_TOKENS", "SAFETY");
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}})
    }

    fn cohere(&self) -> Value {
        let mut content = Vec::new();
        if !self.thought.is_empty() {
            content.push(json!({"type": "thinking", "thinking": self.thought}));
        }
        if !self.text.is_empty() {
            content.push(json!({"type": "text", "text": self.text}));
        }
        let mut message = json!({"role": "assistant", "content": content});
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(Called::function).collect();
        }
        let reason = self.word("COMPLETE", "TOOL_CALL", "MAX_TOKENS", "ERROR_TOXIC");
        json!({"id": "c", "finish_reason": reason, "message": message,
            "usage": {"billed_units": {"input_tokens": 10, "output_tokens": 5}}})
    }

    fn ollama(&self) -> Option<Value> {
        let calls = self
            .calls
            .iter()
            .map(|call| json!({"function": {"name": call.name, "arguments": call.object()}}));
        let message = json!({"role": "assistant", "content": self.text, "thinking": self.thought,
            "tool_calls": calls.collect::<Vec<_>>()});
        let reason = self.word("stop", "stop", "length", "");
        (!reason.is_empty()).then(|| {
            json!({"model": "the-model", "message": message, "done": true, "done_reason": reason,
                "prompt_eval_count": 10, "eval_count": 5})
        })
    }

    fn bedrock(&self) -> Value {
        let mut content = Vec::new();
        if !self.thought.is_empty() {
            let text = json!({"text": self.thought, "signature": "c2lnbmVk"});
            content.push(json!({"reasoningContent": {"reasoningText": text}}));
        }
        if !self.text.is_empty() {
            content.push(json!({"text": self.text}));
        }
        for call in self.calls {
            content.push(json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.object()}}));
        }
        let reason = self.word("end_turn", "tool_use", "max_tokens", "guardrail_intervened");
        json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason,
            "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}})
    }
}

/// Returns a whole answer of Messages.
pub(crate) fn anthropic(content: &[Value], reason: &str) -> Value {
    json!({"id": "m", "type": "message", "role": "assistant", "model": "the-model", "content": content,
        "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5}})
}

/// Answers with a JSON body.
pub(crate) fn json_answer(body: &Value) -> Answer {
    Answer::new(
        200,
        &[("content-type", "application/json")],
        &body.to_string(),
    )
}
