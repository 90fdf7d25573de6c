//! A server over HTTP whose clients can neither hold a connection without using it nor hold up its
//! shutdown.
//!
//! hyper bounds the time for the head of a request, and closes connections on which no request
//! follows. `PacedStream` closes those whose client does not read. Of the connections and of the
//! bytes that wait for slow clients, each address has a share.

use crate::quota::{QuotaLimits, Share, network};
use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io::{self, IoSlice, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tool_core::{CancellationToken, time};

/// The time and the bytes that a client gets.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// The time for the head of a request, which includes the wait for it on an open connection.
    pub(crate) head: Duration,
    /// The time for which a client may send or take fewer bytes than `bytes_per_second`.
    pub body: Duration,
    /// The bytes that a client has to send or take.
    pub bytes_per_second: u32,
    /// The time for open connections after the shutdown has begun.
    pub grace: Duration,
    /// The connections of an address and of all.
    pub connections: QuotaLimits,
    /// The bytes of bodies that have not ended, and as many of answers that clients have not taken.
    pub buffered: QuotaLimits,
}

impl Default for HttpLimits {
    fn default() -> Self {
        let head = Duration::from_secs(30);
        let body = Duration::from_secs(20);
        let grace = Duration::from_secs(10);
        let connections = QuotaLimits {
            all: 10_000,
            each: 2_500,
        };
        let buffered = QuotaLimits {
            all: 256 << 20,
            each: 64 << 20,
        };
        Self {
            head,
            body,
            bytes_per_second: 1024,
            grace,
            connections,
            buffered,
        }
    }
}

impl HttpLimits {
    /// Returns the time in which a client at the lowest rate sends or takes this many bytes.
    pub fn time_for(&self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Duration::from_millis(bytes.saturating_mul(1_000) / u64::from(self.bytes_per_second.max(1)))
    }
}

/// The bytes that the kernel keeps of an answer until it has sent them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_UNSENT: u32 = 128 << 10;

/// The answer to a connection that exceeds a limit.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n\
    too many connections of this address or of all are open; close some, or try again later";

/// A server that is bound to an address, but does not serve yet.
pub struct BoundServer {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) path: String,
    pub(crate) shutdown: CancellationToken,
    pub(crate) limits: HttpLimits,
}

// The path may have a token.
debug_only!(BoundServer, |this| listener: this.listener, limits: this.limits);

impl BoundServer {
    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}{}", self.address()?, self.path))
    }

    /// Serves until the server is shut down, or the future is dropped. After a shutdown, open
    /// connections get some seconds to finish, and are closed then.
    pub async fn serve(self) -> io::Result<()> {
        let open = Arc::default();
        let buffered = Arc::default();
        let limits = Arc::new(self.limits.clone());
        let mut connections = JoinSet::new();
        let stop = self.shutdown.clone();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener) => accepted,
                Some(_) = connections.join_next() => continue,
                () = stop.cancelled() => break,
            };
            let (stream, peer) = accepted;
            let client = network(peer.ip());
            let bytes = Share::new(&buffered, client, self.limits.buffered);
            match Share::one(&open, client, self.limits.connections) {
                Ok(place) => {
                    _ = connections.spawn(self.connection((stream, peer), &limits, (place, bytes)));
                }
                // The buffer of a new connection has room for the answer.
                Err(_) => {
                    _ = stream
                        .into_std()
                        .and_then(|mut stream| stream.write(REFUSAL));
                }
            }
        }
        drop(self.listener);
        let finish = async { while connections.join_next().await.is_some() {} };
        if timeout(self.limits.grace, finish).await.is_err() {
            tracing::warn!(
                open = connections.len(),
                "closed connections that did not end in time"
            );
            connections.shutdown().await;
        }
        Ok(())
    }

    /// Returns a future that serves one connection. A shutdown ends it after the request that is
    /// being answered.
    fn connection(
        &self,
        (stream, peer): (TcpStream, SocketAddr),
        limits: &Arc<HttpLimits>,
        (place, buffered): (Share<IpAddr>, Share<IpAddr>),
    ) -> impl Future<Output = ()> + Send + 'static {
        let router = TowerToHyperService::new(self.router.clone());
        // A layer around the router would make a copy of all its routes for each connection.
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            router.call(request)
        });
        let stream = PacedStream::new(stream, Arc::clone(limits), buffered);
        let stop = self.shutdown.clone();
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head);
        // Boxed, as a future has two places for what it moves.
        let mut connection = Box::pin(builder.serve_connection(TokioIo::new(stream), service));
        async move {
            let _place = place;
            let served = tokio::select! {
                served = &mut connection => served,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = served {
                tracing::debug!(%error, "failed to serve a connection");
            }
        }
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Err(error) = set_up(&stream) {
                    tracing::debug!(%error, "failed to set the options of a connection");
                }
                return (stream, peer);
            }
            Err(error) => {
                // Too many open files, for example. Trying again at once would keep a core busy.
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sets the options of a connection.
fn set_up(stream: &TcpStream) -> io::Result<()> {
    // A head and its body are written one after the other, and the second would wait for the
    // client.
    stream.set_nodelay(true)?;
    // What the kernel keeps for a client counts for no share. Bytes on their way to the client do
    // not count here.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(MAX_UNSENT)?;
    Ok(())
}

/// A stream that fails if the other side takes too few bytes of what is written, or if too many
/// bytes wait for its address.
struct PacedStream<S> {
    stream: S,
    limits: Arc<HttpLimits>,
    /// The time that writes have waited for since the client last took the bytes of `limits.body`,
    /// and those it took.
    waited: Duration,
    taken: usize,
    waiting: Option<Waiting>,
    /// The bytes that wait for the client.
    buffered: Share<IpAddr>,
}

struct Waiting {
    since: Instant,
    end: Pin<Box<Sleep>>,
}

impl<S> PacedStream<S> {
    fn new(stream: S, limits: Arc<HttpLimits>, buffered: Share<IpAddr>) -> Self {
        Self {
            stream,
            limits,
            waited: Duration::ZERO,
            taken: 0,
            waiting: None,
            buffered,
        }
    }

    /// Notes the outcome of a write of some bytes. Fails if the client is too slow.
    fn pace(
        &mut self,
        cx: &mut Context<'_>,
        len: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            if let Some(waiting) = self.waiting.take() {
                self.waited += waiting.since.elapsed();
                _ = self.buffered.resize(0);
            }
            self.taken += written.as_ref().copied().unwrap_or(0);
            if self.limits.time_for(self.taken) >= self.waited {
                (self.waited, self.taken) = (Duration::ZERO, 0);
            }
            return Poll::Ready(written);
        }
        if self.buffered.resize(len).is_err() {
            return Poll::Ready(Err(io::Error::other(
                "too many bytes wait for the clients of this address",
            )));
        }
        let left = self.limits.body.saturating_sub(self.waited);
        let waiting = self.waiting.get_or_insert_with(|| {
            let since = Instant::now();
            Waiting {
                since,
                end: Box::pin(sleep_until(time::after(since, left))),
            }
        });
        ready!(waiting.end.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pace(cx, buf.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.pace(cx, bufs.iter().map(|buf| buf.len()).sum(), written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::pin::pin;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::sleep;

    fn paced<S>(stream: S) -> PacedStream<S> {
        let buffered = Share::new(
            &Arc::default(),
            IpAddr::from([127, 0, 0, 1]),
            HttpLimits::default().buffered,
        );
        PacedStream::new(stream, Arc::default(), buffered)
    }

    /// Writes 100,000 bytes to a client that takes `rate` bytes a second.
    async fn written(rate: usize) -> io::Result<()> {
        let (ours, mut theirs) = duplex(64);
        tokio::spawn(async move {
            let mut taken = vec![0; rate];
            while rate > 0 && theirs.read_exact(&mut taken).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
            std::future::pending::<()>().await;
        });
        paced(ours).write_all(&vec![0; 100_000]).await
    }

    #[tokio::test(start_paused = true)]
    async fn readers_below_the_lowest_rate_are_dropped() {
        for rate in (0..1_000).step_by(37) {
            let error = written(rate).await.expect_err("the client is too slow");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{rate}");
        }
        for rate in [1_200, 5_000, 100_000] {
            written(rate).await.expect("the client is fast enough");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_without_anything_to_write_do_not_count() {
        let (ours, mut theirs) = duplex(64);
        tokio::spawn(async move { tokio::io::copy(&mut theirs, &mut tokio::io::sink()).await });
        let mut stream = paced(ours);
        for _ in 0..1_000 {
            stream.write_all(&[0; 100]).await.expect("the client reads");
            sleep(Duration::from_secs(3_600)).await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_keeps_little_for_a_client_that_does_not_read() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address"))
            .await
            .expect("a connection");
        let (stream, _) = accept(&listener).await;

        let mut kept = 0;
        while kept < 8 << 20 {
            let written = timeout(Duration::from_millis(200), stream.writable()).await;
            match written.map(|ready| ready.and_then(|()| stream.try_write(&[0; 16 << 10]))) {
                Ok(Ok(count)) => kept += count,
                Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(Err(error)) => panic!("{error}"),
                Err(_) => break,
            }
        }
        assert!(kept <= 1 << 20, "{kept}");
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_a_share_of_the_waiting_bytes() {
        let buffered = QuotaLimits {
            all: 100_000,
            each: 25_000,
        };
        let quota = Arc::default();
        let limits = Arc::<HttpLimits>::default();
        let mut streams = Vec::new();
        let mut waiting = async |address: [u8; 4]| {
            // tokio lets a task wait that never does.
            tokio::task::yield_now().await;
            let (ours, theirs) = duplex(1);
            let mut stream = PacedStream::new(
                ours,
                Arc::clone(&limits),
                Share::new(&quota, IpAddr::from(address), buffered),
            );
            stream.write_all(b"x").await.expect("the buffer has room");
            let waits = futures_util::poll!(pin!(stream.write(&[0; 100]))).is_pending();
            streams.push((stream, theirs));
            waits
        };
        let mut waited = [0, 0];
        for _ in 0..1_300 {
            waited[0] += usize::from(waiting([192, 0, 2, 1]).await);
        }
        for at in 0..1_000_u32 {
            let [_, _, high, low] = at.to_be_bytes();
            waited[1] += usize::from(waiting([10, 0, high, low]).await);
        }
        assert_eq!(waited, [250, 750]);
        for (stream, theirs) in &mut streams {
            theirs.read_exact(&mut [0]).await.expect("a byte");
            _ = stream.write(b"x").await;
            tokio::task::yield_now().await;
        }
        let (ours, _theirs) = duplex(1);
        let mut late = PacedStream::new(
            ours,
            limits,
            Share::new(&quota, IpAddr::from([192, 0, 2, 1]), buffered),
        );
        late.write_all(b"x").await.expect("the buffer has room");
        assert!(
            futures_util::poll!(pin!(late.write(&vec![0; 25_000]))).is_pending(),
            "the share is free again"
        );
    }
}
