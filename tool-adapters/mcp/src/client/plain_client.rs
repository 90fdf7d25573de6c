//! The client for servers at plain addresses, such as `http://127.0.0.1:8080/mcp`.
//!
//! Other clients run each connection on a task of its own, and hand each message from task to task.
//! This one runs a connection on the task that waits for its answer.

use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::header::HOST;
use hyper::service::Service;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Body, Method, Url};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, Join, ReadBuf, join};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::bytes::Bytes;

/// The idle time after which a connection is probed, as reqwest has it.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The connections that are kept for further requests, and for how long, as reqwest has it.
const MAX_IDLE: usize = 64;
const IDLE_TIME: Duration = Duration::from_secs(90);

type PlainError = Box<dyn std::error::Error + Send + Sync>;

/// A request failed.
#[derive(Debug)]
pub(crate) struct PlainFailure {
    pub(crate) error: PlainError,
    /// False if the server cannot have read the request.
    pub(crate) was_sent: bool,
}

impl PlainFailure {
    fn unsent(error: impl Into<PlainError>) -> Self {
        Self {
            error: error.into(),
            was_sent: false,
        }
    }
}

/// A client for one address without encryption. Clones share their connections.
#[derive(Clone)]
pub(crate) struct PlainClient(Arc<PlainConnections>);

struct PlainConnections {
    connector: TowerToHyperService<HttpConnector>,
    server: Uri,
    /// The path and the query of requests, and their `Host`.
    target: Uri,
    host: HeaderValue,
    idle: Mutex<VecDeque<(Instant, Box<PlainConnection>)>>,
}

impl PlainClient {
    /// Returns the client for a URL that is an address and has no credentials.
    pub(crate) fn new(url: &Url) -> Option<Self> {
        let host = url.host_str()?;
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_plain = url.scheme() == "http"
            && is_address
            && url.username().is_empty()
            && url.password().is_none();
        let server = url.as_str().parse::<Uri>().ok().filter(|_| is_plain)?;
        let host = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(KEEPALIVE));
        Some(Self(Arc::new(PlainConnections {
            connector: TowerToHyperService::new(connector),
            target: Uri::from(server.path_and_query()?.clone()),
            host: host.try_into().ok()?,
            server,
            idle: Mutex::default(),
        })))
    }

    /// Sends a request, and returns the answer once its head is read. Dropping the future or the
    /// unread body closes the connection.
    pub(crate) async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Response<Body>, PlainFailure> {
        let mut request = Request::new(body.cloned().map(Body::from).unwrap_or_default());
        *request.uri_mut() = self.0.target.clone();
        method.clone_into(request.method_mut());
        headers.clone_into(request.headers_mut());
        request.headers_mut().insert(HOST, self.0.host.clone());
        while let Some(connection) = self.idle_connection() {
            match self.exchange(connection, request).await {
                // The server has closed the connection before it got the request.
                Err(FailedExchange {
                    unsent: Some(unsent),
                    ..
                }) => request = *unsent,
                answer => return answer.map_err(PlainFailure::from),
            }
        }
        let connected = self.0.connector.call(self.0.server.clone()).await;
        let stream = connected.map_err(PlainFailure::unsent)?;
        let (from, to) = stream.into_inner().into_split();
        let stream = join(YieldingReader { from, read: 0 }, to);
        let begun = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = begun.map_err(PlainFailure::unsent)?;
        let connection = PlainConnection {
            sender,
            running: Some(connection),
        };
        self.exchange(Box::new(connection), request)
            .await
            .map_err(PlainFailure::from)
    }

    /// Sends a request over a connection.
    async fn exchange(
        &self,
        mut connection: Box<PlainConnection>,
        request: Request<Body>,
    ) -> Result<Response<Body>, FailedExchange> {
        let mut answer = pin!(connection.sender.try_send_request(request));
        let running = &mut connection.running;
        let answer = poll_fn(|cx| {
            run(running, cx);
            answer.as_mut().poll(cx)
        });
        let answer = answer.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            FailedExchange {
                error: error.into_error(),
                unsent,
            }
        })?;
        Ok(answer.map(|incoming| {
            let is_read = incoming.is_end_stream();
            let connection = Some(connection);
            Body::wrap(PlainBody {
                incoming,
                is_read,
                connection,
                client: self.clone(),
            })
        }))
    }

    /// Returns the connection that was used last and is done with its last request.
    fn idle_connection(&self) -> Option<Box<PlainConnection>> {
        let mut idle = self.0.idle.lock();
        std::iter::from_fn(|| idle.pop_back())
            .map(|(_, connection)| connection)
            .find(|connection| connection.sender.is_ready())
    }

    fn keep(&self, connection: Box<PlainConnection>) {
        let now = Instant::now();
        let mut idle = self.0.idle.lock();
        idle.push_back((now, connection));
        while idle.len() > MAX_IDLE
            || idle
                .front()
                .is_some_and(|(since, _)| now - *since > IDLE_TIME)
        {
            idle.pop_front();
        }
    }
}

/// A request failed over a connection.
struct FailedExchange {
    error: hyper::Error,
    /// The request, if the server cannot have read it.
    unsent: Option<Box<Request<Body>>>,
}

impl From<FailedExchange> for PlainFailure {
    fn from(failed: FailedExchange) -> Self {
        Self {
            error: failed.error.into(),
            was_sent: failed.unsent.is_none(),
        }
    }
}

/// The bytes that are read before other tasks get their turn.
const MAX_READ: usize = 64 << 10;

/// A reader that gives other tasks their turn, however fast the server writes. hyper reads on as
/// long as there is something, such as interim answers without an end.
struct YieldingReader {
    from: OwnedReadHalf,
    /// The bytes that were read in this turn.
    read: usize,
}

impl AsyncRead for YieldingReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= MAX_READ {
            self.read = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.from).poll_read(cx, buf);
        self.read = if read.is_pending() {
            0
        } else {
            self.read + buf.filled().len() - before
        };
        read
    }
}

type PlainStream = Join<YieldingReader, OwnedWriteHalf>;

/// A connection, and the way of requests to it.
struct PlainConnection {
    sender: SendRequest<Body>,
    running: Option<Connection<TokioIo<PlainStream>, Body>>,
}

/// Reads and writes what a connection can, until it ends. Its error reaches the request or the body
/// too.
fn run(running: &mut Option<Connection<TokioIo<PlainStream>, Body>>, cx: &mut Context<'_>) {
    if running
        .as_mut()
        .is_some_and(|running| Pin::new(running).poll(cx).is_ready())
    {
        *running = None;
    }
}

/// The body of an answer. Its connection can be used again once it is read.
struct PlainBody {
    incoming: Incoming,
    is_read: bool,
    connection: Option<Box<PlainConnection>>,
    client: PlainClient,
}

impl hyper::body::Body for PlainBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let body = &mut *self;
        let mut frame = Pin::new(&mut body.incoming).poll_frame(cx);
        if let (Poll::Pending, Some(connection)) = (&frame, &mut body.connection) {
            run(&mut connection.running, cx);
            frame = Pin::new(&mut body.incoming).poll_frame(cx);
        }
        body.is_read = matches!(frame, Poll::Ready(None)) || body.incoming.is_end_stream();
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for PlainBody {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| self.is_read) {
            self.client.keep(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    /// Serves connections on which each request gets the next of these answers. A connection is
    /// closed after the last one. Counts the connections, and gives a permit for each that the
    /// client closes.
    async fn serve(
        answers: &'static [&'static str],
    ) -> (PlainClient, Arc<AtomicUsize>, Arc<Semaphore>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!(
            "http://{}/mcp?a=1",
            listener.local_addr().expect("an address")
        );
        let client = PlainClient::new(&url.parse().expect("a URL")).expect("a plain address");
        let opened = Arc::<AtomicUsize>::default();
        let closed = Arc::new(Semaphore::new(0));
        let counter = Arc::clone(&opened);
        let permits = Arc::clone(&closed);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let permits = Arc::clone(&permits);
                tokio::spawn(async move {
                    for answer in answers {
                        let mut request = Vec::new();
                        while !request.ends_with(b"\r\n\r\n{}") {
                            if stream
                                .read_buf(&mut request)
                                .await
                                .map_or(true, |read| read == 0)
                            {
                                return permits.add_permits(1);
                            }
                        }
                        assert!(request.starts_with(b"POST /mcp?a=1 HTTP/1.1\r\n"));
                        stream
                            .write_all(answer.as_bytes())
                            .await
                            .expect("an answer");
                    }
                });
            }
        });
        (client, opened, closed)
    }

    async fn try_post(client: &PlainClient) -> Result<Response<Body>, PlainFailure> {
        client
            .send(
                &Method::POST,
                &HeaderMap::new(),
                Some(&Bytes::from_static(b"{}")),
            )
            .await
    }

    async fn post(client: &PlainClient) -> Response<Body> {
        try_post(client).await.expect("an answer")
    }

    async fn text(answer: Response<Body>) -> String {
        reqwest::Response::from(answer)
            .text()
            .await
            .expect("a body")
    }

    const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    const CHUNKED: &str =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    const TEXT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

    #[tokio::test]
    async fn a_connection_is_used_again_after_its_answer() {
        let (client, opened, _) = serve(&[TEXT, ACCEPTED, CHUNKED, TEXT]).await;
        assert_eq!(text(post(&client).await).await, "hi");
        drop(post(&client).await);
        assert_eq!(text(post(&client).await).await, "hi");
        assert_eq!(text(post(&client).await).await, "hi");
        assert_eq!(opened.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn requests_at_once_have_connections_of_their_own() {
        let (client, opened, _) = serve(&[TEXT, TEXT]).await;
        let (one, other) = tokio::join!(post(&client), post(&client));
        assert_eq!(text(one).await + &text(other).await, "hihi");
        assert_eq!(opened.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closes_is_replaced() {
        let (client, opened, _) = serve(&[TEXT]).await;
        for at in 1..=3 {
            assert_eq!(text(post(&client).await).await, "hi");
            assert_eq!(opened.load(Ordering::SeqCst), at);
        }
    }

    #[tokio::test]
    async fn a_connection_with_an_unread_body_is_closed_at_once() {
        let (client, opened, closed) =
            serve(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", TEXT]).await;
        drop(post(&client).await);
        let closed = timeout(Duration::from_secs(10), closed.acquire()).await;
        assert!(closed.is_ok(), "the server still has the connection");
        assert_eq!(opened.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let (client, ..) = serve(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi"]).await;
        assert!(
            reqwest::Response::from(post(&client).await)
                .text()
                .await
                .is_err()
        );
        let (client, ..) = serve(&["HTTP/1.1 200"]).await;
        assert!(try_post(&client).await.is_err());
    }
}
