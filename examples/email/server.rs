//! A local mail server with enough SMTP to receive messages, so that the example runs offline.
//!
//! A recipient `fail-550@..` is answered with that code.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The limits of a line and of a message, in bytes.
const LINE: u64 = 4096;
const MESSAGE: usize = 10 * 1024 * 1024;

/// A received message.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Headers and body.
    pub(crate) text: String,
}

/// The received messages.
#[derive(Clone, Default)]
pub(crate) struct Mailbox(Arc<Mutex<Vec<Arrived>>>);

impl Mailbox {
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Serves on a local port until the process ends, and returns the address. 0 is a free port.
pub(crate) async fn start_at(port: u16) -> io::Result<(SocketAddr, Mailbox)> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let (address, mailbox) = (listener.local_addr()?, Mailbox::default());
    let arrivals = mailbox.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mailbox = arrivals.clone();
            tokio::spawn(async move { talk(stream, &mailbox).await });
        }
    });
    Ok((address, mailbox))
}

async fn talk(stream: TcpStream, mailbox: &Mailbox) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    let (mut from, mut to) = (String::new(), String::new());
    write.write_all(b"220 localhost\r\n").await?;
    loop {
        let mut line = String::new();
        if (&mut lines).take(LINE).read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let answer = match verb.as_str() {
            "EHLO" => "250-localhost\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN".to_owned(),
            "HELO" | "NOOP" | "RSET" => "250 OK".to_owned(),
            "AUTH" => "235 2.7.0 Any password will do here".to_owned(),
            "MAIL" => {
                from = path(&line);
                "250 2.1.0 OK".to_owned()
            }
            "RCPT" => {
                to = path(&line);
                failure(&to).unwrap_or_else(|| "250 2.1.5 OK".to_owned())
            }
            "DATA" => {
                write.write_all(b"354 End with a dot\r\n").await?;
                let text = content(&mut lines).await?;
                let mut arrived = mailbox.0.lock().unwrap_or_else(PoisonError::into_inner);
                arrived.push(Arrived {
                    from: from.clone(),
                    to: to.clone(),
                    text,
                });
                format!("250 2.0.0 Taken as number {}", arrived.len())
            }
            "QUIT" => {
                write.write_all(b"221 Bye\r\n").await?;
                return Ok(());
            }
            _ => "502 5.5.1 Unknown command".to_owned(),
        };
        write.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
}

/// Reads the message up to the line with a single dot, and removes the escaping of other dots.
async fn content(lines: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<String> {
    let mut text = Vec::new();
    loop {
        let start = text.len();
        lines.read_until(b'\n', &mut text).await?;
        match text.get(start..).unwrap_or_default() {
            b".\r\n" => {
                text.truncate(start);
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            [b'.', ..] => drop(text.remove(start)),
            _ => {}
        }
        if text.len() > MESSAGE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

/// Returns `ada@example.com` from `RCPT TO:<ada@example.com> ...`.
fn path(line: &str) -> String {
    let inside = line
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    inside.map_or_else(String::new, |(path, _)| path.to_owned())
}

fn failure(to: &str) -> Option<String> {
    let code = to.strip_prefix("fail-")?.get(..3)?;
    code.parse::<u16>()
        .ok()
        .map(|code| format!("{code} Failed because the address says so"))
}
