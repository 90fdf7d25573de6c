//! Both protocols in the same words, for tests that hold for either.

use crate::peer::{Peer, Server};
use crate::support::{self, Talk, resumable, talk_under};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::transport::websocket::LiveModel;
use tool_core::Policy;
use tool_core::session::History;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Gemini,
    OpenAi,
}

pub(crate) use Wire::{Gemini, OpenAi};

pub(crate) const BOTH: [Wire; 2] = [Gemini, OpenAi];

impl Wire {
    pub(crate) fn model(self, server: &Server) -> LiveModel {
        support::model(
            if self == Gemini {
                Provider::GeminiLive
            } else {
                Provider::OpenAiRealtime
            },
            server,
        )
    }

    /// Starts a conversation. Returns the provider's end and the setup.
    pub(crate) async fn start(self, server: &Server) -> (Talk, Peer, Value) {
        self.start_with(server, self.model(server), Policy::text(), History::new())
            .await
    }

    pub(crate) async fn start_with(
        self,
        server: &Server,
        model: LiveModel,
        policy: Policy,
        history: History,
    ) -> (Talk, Peer, Value) {
        let talk = talk_under(policy, model, history).await;
        let (peer, setup) = self.accept(server).await;
        (talk, peer, setup)
    }

    /// Accepts the next connection. Returns it with its setup.
    pub(crate) async fn accept(self, server: &Server) -> (Peer, Value) {
        let mut peer = server.peer().await;
        let mut setup = peer.receive().await;
        if self == Gemini {
            peer.send(json!({"setupComplete": {}})).await;
        }
        let member = if self == Gemini { "setup" } else { "session" };
        let setup = setup[member].take();
        (peer, setup)
    }

    /// Returns the names of the tools in a setup or an update.
    pub(crate) fn declared(self, setup: &Value) -> Vec<&str> {
        let tools = if self == Gemini {
            &setup["tools"][0]["functionDeclarations"]
        } else {
            &setup["tools"]
        };
        tools
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .collect()
    }

    /// Makes a step of one call.
    pub(crate) async fn call(self, peer: &mut Peer, id: &str, name: &str, arguments: &Value) {
        if self == Gemini {
            return peer.send(support::call(id, name, arguments)).await;
        }
        let item = json!({"type": "function_call", "id": format!("item_{id}"), "call_id": id, "name": name,
            "arguments": arguments.to_string(), "status": "completed"});
        begin_response(peer).await;
        peer.send(json!({"type": "response.output_item.done", "output_index": 0, "item": item}))
            .await;
        end_response(peer, &[item]).await;
    }

    /// Receives the result of a call: its id, its text, and whether the model is asked to go on.
    pub(crate) async fn result(self, peer: &mut Peer) -> (String, String) {
        let message = peer.receive().await;
        if self == Gemini {
            return support::answer(&message);
        }
        let item = &message["item"];
        assert_eq!(item["type"], "function_call_output", "{message}");
        (
            item["call_id"].as_str().unwrap_or_default().to_owned(),
            item["output"].as_str().unwrap_or_default().to_owned(),
        )
    }

    /// Receives the request for a response, where the protocol has one. Returns its settings.
    pub(crate) async fn response_request(self, peer: &mut Peer) -> Value {
        if self == Gemini {
            return Value::Null;
        }
        let mut message = peer.receive().await;
        assert_eq!(message["type"], "response.create");
        message["response"].take()
    }

    /// Receives a text of the user.
    pub(crate) async fn text(self, peer: &mut Peer) -> String {
        let message = peer.receive().await;
        let text = if self == Gemini {
            &message["realtimeInput"]["text"]
        } else {
            &message["item"]["content"][0]["text"]
        };
        text.as_str()
            .unwrap_or_else(|| panic!("{message}"))
            .to_owned()
    }

    /// Speaks, without an end.
    pub(crate) async fn speak(self, peer: &mut Peer, text: &str, audio: &str) {
        if self == Gemini {
            let data = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": audio}});
            peer.send(json!({"serverContent": {"modelTurn": {"role": "model", "parts": [data]}}}))
                .await;
            return peer
                .send(json!({"serverContent": {"outputTranscription": {"text": text}}}))
                .await;
        }
        begin_response(peer).await;
        let place =
            json!({"item_id": "i", "output_index": 0, "content_index": 0, "response_id": "r"});
        for (kind, delta) in [("output_audio", audio), ("output_audio_transcript", text)] {
            let mut event = place.clone();
            (event["type"], event["delta"]) =
                (format!("response.{kind}.delta").into(), delta.into());
            peer.send(event).await;
        }
    }

    /// Ends the model's message.
    pub(crate) async fn finish(self, peer: &mut Peer) {
        match self {
            Gemini => peer.send(support::turn_complete()).await,
            OpenAi => end_response(peer, &[]).await,
        }
    }

    /// Sends the transcript of the user's speech.
    pub(crate) async fn hear(self, peer: &mut Peer, text: &str) {
        peer.send(match self {
            Gemini => json!({"serverContent": {"inputTranscription": {"text": text}}}),
            OpenAi => {
                let kind = "conversation.item.input_audio_transcription.completed";
                json!({"type": kind, "item_id": "u", "content_index": 0, "transcript": text})
            }
        })
        .await;
    }

    /// Reports that the user interrupts the model.
    pub(crate) async fn interrupt(self, peer: &mut Peer) {
        peer.send(match self {
            Gemini => json!({"serverContent": {"interrupted": true}}),
            OpenAi => json!({"type": "input_audio_buffer.speech_started", "audio_start_ms": 1, "item_id": "u"}),
        })
        .await;
    }

    /// Makes the conversation resumable, where the protocol can.
    pub(crate) async fn make_resumable(self, peer: &mut Peer) {
        if self == Gemini {
            peer.send(resumable("h-1")).await;
        }
    }
}

async fn begin_response(peer: &mut Peer) {
    peer.send(
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
    )
    .await;
}

async fn end_response(peer: &mut Peer, output: &[Value]) {
    peer.send(
        json!({"type": "response.done", "response": {"status": "completed", "output": output}}),
    )
    .await;
}
