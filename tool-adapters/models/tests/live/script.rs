//! The provider's part in one conversation, over its connections.

use crate::board::{self, Board};
use crate::clients::provider;
use crate::peer::{PATIENCE, Peer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tool_adapters::Provider;

/// A generator of numbers, so that a failure can be repeated.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The end of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Finished,
    Broken,
}

pub(crate) struct Script {
    number: usize,
    provider: Provider,
    board: Arc<Board>,
    pub(crate) numbers: Numbers,
    connections: u32,
    /// The number of messages until the connection breaks.
    break_in: Option<u64>,
    gives_handles: bool,
    handles: u32,
    made: usize,
    /// Calls without an answer.
    open: BTreeSet<usize>,
    /// Calls without an answer whose conversation is over.
    orphans: BTreeSet<usize>,
    /// True once the client has asked for a response.
    is_asked: bool,
}

impl Script {
    pub(crate) fn new(number: usize, board: Arc<Board>) -> Self {
        let mut numbers = Numbers(number as u64);
        let breaks = board.load.has_breaks && number % 20 < 2;
        Self {
            number,
            provider: provider(number),
            board,
            break_in: breaks.then(|| numbers.below(30)),
            gives_handles: numbers.below(4) > 0,
            numbers,
            connections: 0,
            handles: 0,
            made: 0,
            open: BTreeSet::new(),
            orphans: BTreeSet::new(),
            is_asked: false,
        }
    }

    fn is_gemini(&self) -> bool {
        self.provider == Provider::GeminiLive
    }

    /// Confirms the setup. Returns true for the first connection.
    pub(crate) async fn begin(&mut self, setup: &Value, peer: &mut Peer) -> bool {
        let is_resumed = setup["setup"]["sessionResumption"]["handle"].is_string();
        if !is_resumed {
            self.orphans.append(&mut self.open);
        }
        self.is_asked = false;
        if self.is_gemini() {
            peer.send(json!({"setupComplete": {}})).await;
            self.give_handle(peer).await;
        }
        self.settle(peer).await;
        // The client may not have received them.
        let open = self.open.iter().copied().collect::<Vec<_>>();
        if !open.is_empty() {
            self.send_calls(&open, peer).await;
        }
        self.connections += 1;
        self.connections == 1
    }

    /// Plays until the conversation has ended or its connection breaks.
    pub(crate) async fn play(&mut self, peer: &mut Peer) -> End {
        let since = Instant::now();
        while self.settle(peer).await || !self.orphans.is_empty() {
            assert!(
                since.elapsed() < PATIENCE,
                "the results {:?} of {} are lost",
                self.orphans,
                self.number
            );
        }
        loop {
            let mut is_owed = !self.open.is_empty();
            while is_owed {
                let message = peer.receive().await;
                self.take(&message, peer).await;
                if self.breaks() {
                    return self.end(peer).await;
                }
                is_owed = !self.open.is_empty() || !self.is_gemini() && !self.is_asked;
            }
            self.is_asked = false;
            if self.is_gemini() && self.made > 0 {
                peer.send(text("Done.")).await;
                peer.send(json!({"serverContent": {"turnComplete": true}}))
                    .await;
                self.give_handle(peer).await;
            }
            if self.made == self.board.load.calls {
                self.say_bye(peer).await;
                return End::Finished;
            }
            if self.breaks() {
                return self.end(peer).await;
            }
            self.pause().await;
            let count = 1 + usize::try_from(self.numbers.below(3)).unwrap_or_default();
            let calls = (self.made..self.board.load.calls)
                .take(count)
                .collect::<Vec<_>>();
            self.made += calls.len();
            self.open.extend(&calls);
            self.send_calls(&calls, peer).await;
            if self.breaks() {
                return self.end(peer).await;
            }
        }
    }

    /// Takes what the client still sends.
    pub(crate) async fn wait_until_closed(&mut self, peer: &mut Peer) {
        while let Some(message) = timeout(PATIENCE, peer.next())
            .await
            .expect("the client closes")
        {
            self.take(&message, peer).await;
        }
    }

    async fn pause(&mut self) {
        let pause = u64::try_from(self.board.load.pause.as_micros()).unwrap_or_default();
        if pause > 0 {
            tokio::time::sleep(Duration::from_micros(self.numbers.below(pause))).await;
        }
    }

    /// Returns true if the connection breaks here.
    fn breaks(&mut self) -> bool {
        let Some(left) = &mut self.break_in else {
            return false;
        };
        *left = left.saturating_sub(1);
        *left == 0
    }

    /// Plans the next break. The calls of a conversation that cannot be resumed have reached the client, as the model has
    /// no other way to get their results.
    async fn end(&mut self, peer: &mut Peer) -> End {
        self.board.breaks[self.number].add();
        self.break_in = (self.numbers.below(2) == 0).then(|| self.numbers.below(30));
        if !(self.is_gemini() && self.gives_handles) {
            self.settle(peer).await;
        }
        End::Broken
    }

    /// Takes what the client sends before it answers a ping. Returns true if that was something.
    async fn settle(&mut self, peer: &mut Peer) -> bool {
        let messages = peer.until_pong().await;
        for message in &messages {
            self.take(message, peer).await;
        }
        !messages.is_empty()
    }

    async fn give_handle(&mut self, peer: &mut Peer) {
        if self.gives_handles {
            self.handles += 1;
            let handle = format!("{}-{}", self.number, self.handles);
            peer.send(json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}}))
                .await;
        }
    }

    async fn send_calls(&mut self, calls: &[usize], peer: &mut Peer) {
        // A repeated call has the same arguments.
        let arguments =
            |call: usize| json!({"call": call, "milliseconds": (self.number + call) % 3});
        let calls = calls
            .iter()
            .map(|call| (*call, arguments(*call)))
            .collect::<Vec<_>>();
        for (call, _) in &calls {
            self.board.call_is_sent(self.number, *call);
        }
        let id = |call: usize| board::call_id(self.number, call);
        if self.is_gemini() {
            let calls = calls
                .iter()
                .map(|(call, args)| json!({"id": id(*call), "name": "work", "args": args}));
            return peer
                .send(json!({"toolCall": {"functionCalls": calls.collect::<Vec<_>>()}}))
                .await;
        }
        let items = calls.iter().map(|(call, arguments)| {
            json!({"type": "function_call", "id": format!("item_{call}"), "call_id": id(*call), "name": "work",
                "arguments": arguments.to_string(), "status": "completed"})
        });
        let items = items.collect::<Vec<_>>();
        let response = format!("r-{}-{}", self.number, self.made);
        peer.send(json!({"type": "response.created", "response": {"id": response, "status": "in_progress"}})).await;
        for (index, item) in items.iter().enumerate() {
            peer.send(
                json!({"type": "response.output_item.added", "output_index": index, "item": item}),
            )
            .await;
            peer.send(
                json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            )
            .await;
        }
        let response = json!({"id": response, "status": "completed", "output": items});
        peer.send(json!({"type": "response.done", "response": response}))
            .await;
    }

    /// Takes a message of the client: results, a history or notes with results, or the request for a response.
    async fn take(&mut self, message: &Value, peer: &mut Peer) {
        for response in message["toolResponse"]["functionResponses"]
            .as_array()
            .into_iter()
            .flatten()
        {
            self.answered(response["id"].as_str(), &response["response"].to_string());
        }
        let (item, history) = (&message["item"], &message["clientContent"]["turns"]);
        self.answered(item["call_id"].as_str(), &item["output"].to_string());
        for text in [&item["content"], history, &message["realtimeInput"]["text"]] {
            self.answered(None, &text.to_string());
        }
        if message["type"] == "response.create" {
            self.is_asked = true;
            self.respond("Done.", peer).await;
        }
    }

    /// Counts the results in a text.
    fn answered(&mut self, id: Option<&str>, text: &str) {
        for call in (0..self.made).filter(|call| text.contains(&board::result(self.number, *call)))
        {
            assert!(
                id.is_none_or(|id| id == board::call_id(self.number, call)),
                "{id:?} has another result: {text}"
            );
            let counts = &self.board.calls[self.number][call];
            let is_first = self.open.remove(&call) | self.orphans.remove(&call);
            if is_first {
                counts.answers.add();
            } else {
                counts.repeats.add();
            }
        }
    }

    async fn respond(&mut self, reply: &str, peer: &mut Peer) {
        let delta = json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0,
            "delta": reply});
        let response = |status: &str| json!({"id": format!("r-{reply}-{}", self.made), "status": status, "output": []});
        peer.send(json!({"type": "response.created", "response": response("in_progress")}))
            .await;
        peer.send(delta).await;
        peer.send(json!({"type": "response.done", "response": response("completed")}))
            .await;
    }

    async fn say_bye(&mut self, peer: &mut Peer) {
        if self.is_gemini() {
            peer.send(text("bye")).await;
        } else {
            self.respond("bye", peer).await;
        }
    }
}

fn text(text: &str) -> Value {
    json!({"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": text}]}}})
}
