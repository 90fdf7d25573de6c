//! A relay between a store and its server, that can be cut.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

pub(crate) struct Relay {
    pub(crate) url: String,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
    down: Arc<AtomicBool>,
}

impl Relay {
    /// To the server at this URL, which names its host and port only.
    pub(crate) async fn to(server: &str) -> Self {
        let address = redis::Client::open(server)
            .expect("a URL")
            .get_connection_info()
            .addr()
            .to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("redis://{}", listener.local_addr().expect("a port"));
        let connections = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&connections);
        let down = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&down);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                if closed.load(Ordering::Relaxed) {
                    continue;
                }
                let address = address.clone();
                let connection = tokio::spawn(async move {
                    let mut server = TcpStream::connect(address)
                        .await
                        .expect("the server answers");
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
                seen.lock()
                    .expect("no thread panicked")
                    .push(connection.abort_handle());
            }
        });
        Self {
            url,
            connections,
            down,
        }
    }

    /// Takes the server away, or gives it back.
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
        self.cut();
    }

    /// Breaks all connections that there are. Later ones work.
    pub(crate) fn cut(&self) {
        self.connections
            .lock()
            .expect("no thread panicked")
            .drain(..)
            .for_each(|connection| connection.abort());
    }
}
