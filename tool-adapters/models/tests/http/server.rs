//! A server that plays a script: one answer for each request, in pieces of any size.

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// An answer to a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    head: String,
    body: Vec<u8>,
    /// The size of the pieces.
    piece: usize,
    then: Then,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// Ends the answer.
    End,
    /// Closes the connection before the end.
    Break,
    /// Sends nothing more.
    Hang,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect::<Vec<_>>()
            .concat();
        let head = format!(
            "HTTP/1.1 {status} Said\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        );
        Self {
            head,
            body: body.as_bytes().to_vec(),
            piece: usize::MAX,
            then: Then::End,
        }
    }

    /// Sets a binary body.
    pub(crate) fn bytes(self, body: Vec<u8>) -> Self {
        Self { body, ..self }
    }

    /// Answers with server-sent events.
    pub(crate) fn events(body: &str) -> Self {
        Self::new(200, &[("content-type", "text/event-stream")], body)
    }

    pub(crate) fn in_pieces_of(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    pub(crate) fn breaks(self) -> Self {
        Self {
            then: Then::Break,
            ..self
        }
    }

    pub(crate) fn hangs(self) -> Self {
        Self {
            then: Then::Hang,
            ..self
        }
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method, path and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
    /// The head and the body as they were sent.
    pub(crate) sent_head: String,
    pub(crate) sent_body: Vec<u8>,
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Receives an item for each connection that the client closed early.
    left: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Plays one answer for each request. Refuses requests after the last answer.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers = answers.into_iter().collect::<VecDeque<_>>();
        Self::answering(move |_| {
            answers
                .pop_front()
                .unwrap_or_else(|| Answer::new(418, &[], "the script is over"))
        })
        .await
    }

    /// Answers each request as a function says.
    pub(crate) async fn answering(
        mut answer: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let url = format!("http://{}", listener.local_addr().expect("has an address"));
        let (sender, left) = mpsc::unbounded_channel();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else {
                    continue;
                };
                let answer = answer(&request);
                seen.lock().expect("not poisoned").push(request);
                tokio::spawn(play(stream, answer, sender.clone()));
            }
        });
        Self {
            url,
            requests,
            left,
        }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("not poisoned").clone()
    }

    /// Waits until a client closes a connection that hangs.
    pub(crate) async fn was_closed(&mut self) -> bool {
        tokio::time::timeout(Duration::from_secs(5), self.left.recv())
            .await
            .is_ok()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_ends = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let sent_head = String::from_utf8_lossy(&bytes[..head_ends]).into_owned();
    let head = sent_head.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))?
        .parse::<usize>()
        .ok()?;
    while bytes.len() < head_ends + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request {
        head,
        body: serde_json::from_slice(&bytes[head_ends..]).ok()?,
        sent_head,
        sent_body: bytes.split_off(head_ends),
    })
}

async fn play(
    mut stream: TcpStream,
    answer: Answer,
    left: mpsc::UnboundedSender<()>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.write_all(answer.head.as_bytes()).await.ok()?;
    for piece in answer
        .body
        .chunks(answer.piece.min(answer.body.len().max(1)))
    {
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        stream.write_all(&chunk).await.ok()?;
        if answer.piece < answer.body.len() {
            tokio::task::yield_now().await;
        }
    }
    match answer.then {
        Then::End => stream.write_all(b"0\r\n\r\n").await.ok()?,
        Then::Break => {}
        Then::Hang => {
            let mut rest = [0; 64];
            while stream.read(&mut rest).await.unwrap_or(0) > 0 {}
            left.send(()).ok()?;
        }
    }
    stream.shutdown().await.ok()
}
