//! Serving one client over standard input and output, or any pair of streams.

use super::Server;
use super::connection::Connection;
use super::lines::Lines;
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};

impl Server {
    /// Serves the client that has started this process, until it closes standard input. Nothing else may write to
    /// standard output; logs belong on standard error.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve_pair(tokio::io::stdin(), tokio::io::stdout(), Some("pipe")).await
    }

    /// The same over any two streams, such as a socket's halves.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_pair(input, output, None).await
    }

    async fn serve_pair<R, W>(&self, input: R, output: W, transport: Option<&'static str>) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (lines, written) = Lines::new(BufReader::new(input), output, self.settings.max_message);
        let connection = Arc::new(Connection::new(self.shared(), transport));
        let served = loop {
            let stop = self.settings.stop.child_token();
            match serve_server_with_ct(Arc::clone(&connection), lines.clone(), stop).await {
                Ok(running) => break running.waiting().await.map(drop).map_err(io::Error::other),
                // A message that is out of place at the beginning is passed over.
                Err(
                    ServerInitializeError::ExpectedInitializeRequest(_) | ServerInitializeError::InitializeFailed(_),
                ) => {}
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => break Ok(()),
                Err(error) => break Err(io::Error::other(error)),
            }
        };
        connection.conversation.end().await;
        drop(lines);
        written.await.map_err(io::Error::other)?;
        served
    }
}
