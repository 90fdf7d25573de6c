//! Servers that count their connections, and resolvers with a script.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool_adapters::egress::EgressError;

/// Returns false if this machine has no address 127.0.0.2, which stands for a public one. The test is skipped then.
pub(crate) async fn has_second_address() -> bool {
    let bound = TcpListener::bind(("127.0.0.2", 0)).await;
    if let Err(error) = &bound {
        eprintln!("skipped, as 127.0.0.2 cannot be bound: {error}");
    }
    bound.is_ok()
}

/// A server with one answer for each connection, by the head of the request.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    pub(crate) async fn start(
        address: impl Into<SocketAddr>,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address.into()).await.expect("binds");
        let address = listener.local_addr().expect("an address");
        let (heads, connections) = (
            Arc::<Mutex<Vec<String>>>::default(),
            Arc::<Mutex<usize>>::default(),
        );
        let (seen, counted, answer) = (
            Arc::clone(&heads),
            Arc::clone(&connections),
            Arc::new(answer),
        );
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                *counted.lock().expect("not poisoned") += 1;
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.windows(4).any(|part| part == b"\r\n\r\n") {
                        if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let answer = answer(&head);
                    seen.lock().expect("not poisoned").push(head);
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            address,
            heads,
            connections,
        }
    }

    /// Starts a server on the loopback address that no policy of these tests allows, unless it says so.
    pub(crate) async fn victim() -> Self {
        Self::start(([127, 0, 0, 1], 0), |_| ok("secret")).await
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().expect("not poisoned")
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("not poisoned").clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Asserts that there was no connection. A connection that follows shows that the server would have counted one.
    pub(crate) async fn assert_untouched(&self) {
        let url = format!("http://{}/", self.address);
        reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("builds")
            .get(url)
            .send()
            .await
            .expect("the server answers");
        assert_eq!(
            self.connections(),
            1,
            "the guarded client connected: {:?}",
            self.heads()
        );
    }
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let headers = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    let head = format!(
        "HTTP/1.1 {status} Said\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn ok(body: &str) -> Vec<u8> {
    answer(200, &[], body.as_bytes())
}

pub(crate) fn redirect(status: u16, to: &str) -> Vec<u8> {
    answer(status, &[("location", to)], b"")
}

/// A resolver that answers by the number of the question and the name.
pub(crate) struct Scripted<F>(Arc<(F, Mutex<usize>)>);

impl<F> Clone for Scripted<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: Fn(usize, &str) -> Vec<IpAddr> + Send + Sync + 'static> Scripted<F> {
    pub(crate) fn new(answer: F) -> Self {
        Self(Arc::new((answer, Mutex::new(0))))
    }

    pub(crate) fn questions(&self) -> usize {
        *self.0.1.lock().expect("not poisoned")
    }
}

impl<F: Fn(usize, &str) -> Vec<IpAddr> + Send + Sync + 'static> Resolve for Scripted<F> {
    fn resolve(&self, name: Name) -> Resolving {
        let (answer, questions) = &*self.0;
        let mut questions = questions.lock().expect("not poisoned");
        let found = answer(*questions, name.as_str());
        *questions += 1;
        Box::pin(std::future::ready(Ok(
            Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs,
        )))
    }
}

/// Returns true if the guard refused the URL before a connection.
pub(crate) fn is_refusal(error: &EgressError) -> bool {
    matches!(
        error,
        EgressError::NotPublic { .. }
            | EgressError::Credentials
            | EgressError::Scheme { .. }
            | EgressError::InvalidUrl { .. }
    )
}
