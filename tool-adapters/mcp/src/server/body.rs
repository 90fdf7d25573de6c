//! Bodies of requests, which have to arrive at a number of bytes a second.

use crate::lines::{IdScanner, MessageId};
use crate::server::client::Identity;
use crate::server::message::InvalidMessage;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};
use tool_adapters_http::quota::Share;
use tool_adapters_http::serve::HttpLimits;
use tool_core::time;

/// A body that was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the message is longer than {max} bytes")]
    TooLong {
        max: usize,
        size: usize,
        id: MessageId,
    },
    /// So much longer that its end was not waited for.
    #[error("the message is longer than {0} bytes")]
    Endless(usize),
    #[error("the body did not arrive in time; send it at {0} bytes a second or more")]
    TooSlow(u32),
    #[error("too many bytes of unanswered requests wait in the server; send this one again later")]
    Full,
    #[error("the body ended early")]
    Broken,
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::TooLong { max, size, id } => {
                let invalid = InvalidMessage::too_long(*size, *max, id);
                return invalid.into_response(StatusCode::PAYLOAD_TOO_LARGE);
            }
            Self::Endless(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken => StatusCode::BAD_REQUEST,
        };
        (status, [(header::CONNECTION, "close")], self.to_string()).into_response()
    }
}

/// The bodies that are read to their end although they are too long, so that their request can be
/// answered: those of up to this many times the maximum. Nothing is kept of them.
const MAX_EXCESS: usize = 16;

/// The bytes that a request takes beside those of its body.
const REQUEST: usize = 8 << 10;

/// Reads a body of up to `max` bytes, which count as buffered with those of its request until the
/// share is dropped. Bytes that came early give no time for those that follow.
pub(crate) async fn read_body(
    body: Body,
    max: usize,
    (limits, buffered): (&HttpLimits, &mut Share<Identity>),
) -> Result<Bytes, BodyError> {
    let mut read = Vec::new();
    let mut chunks = body.into_data_stream();
    // The number of bytes that have come, and the scan of those of a body that is too long.
    let mut size = 0_usize;
    let mut scanner = None::<IdScanner>;
    // The time since which fewer bytes have come than the lowest rate brings, and the bytes that
    // were read then.
    let mut since = Instant::now();
    let mut before = 0;
    loop {
        let chunk = match timeout_at(time::after(since, limits.body), chunks.next()).await {
            Ok(Some(Ok(chunk))) => chunk,
            Ok(Some(Err(_))) => return Err(BodyError::Broken),
            Ok(None) => {
                return match scanner {
                    Some(scanner) => Err(BodyError::TooLong {
                        max,
                        size,
                        id: scanner.found(),
                    }),
                    None => Ok(read.into()),
                };
            }
            Err(_) => return Err(BodyError::TooSlow(limits.bytes_per_second)),
        };
        size = size.saturating_add(chunk.len());
        if size > max.saturating_mul(MAX_EXCESS) {
            return Err(BodyError::Endless(max));
        }
        if size > max {
            let scanner = scanner.get_or_insert_with(|| {
                let mut scanner = IdScanner::default();
                scanner.push(&std::mem::take(&mut read));
                scanner
            });
            scanner.push(&chunk);
            // Fewer bytes always fit.
            _ = buffered.resize(0);
        } else if buffered.resize(size + REQUEST).is_err() {
            return Err(BodyError::Full);
        } else {
            read.extend_from_slice(&chunk);
        }
        if limits.time_for(size - before) >= since.elapsed() {
            (since, before) = (Instant::now(), size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::sleep;
    use tool_adapters_http::quota::QuotaLimits;

    fn share() -> Share<Identity> {
        Share::new(
            &Arc::default(),
            Identity::Peer(None),
            HttpLimits::default().buffered,
        )
    }

    /// Returns a body of this many bytes, of which each second brings `rate`.
    fn dripping(bytes: usize, rate: usize) -> Body {
        let chunks = futures_util::stream::unfold(0, move |sent| async move {
            if sent >= bytes {
                return None;
            }
            sleep(Duration::from_secs(1)).await;
            Some((
                Ok::<_, io::Error>(Bytes::from(vec![b'x'; rate.min(bytes - sent)])),
                sent + rate,
            ))
        });
        Body::from_stream(chunks)
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_below_the_lowest_rate_are_refused() {
        let limits = HttpLimits::default();
        let began = Instant::now();
        let mut refused = 0;
        for rate in 1..=1_000 {
            let read = read_body(dripping(1 << 20, rate), 4 << 20, (&limits, &mut share())).await;
            refused += usize::from(read == Err(BodyError::TooSlow(1024)));
        }
        assert_eq!(refused, 1_000);
        let longest = Duration::from_secs(21);
        assert!(began.elapsed() < longest * 1_000, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_buys_no_time() {
        let mut refused = 0;
        for at in 0..1_000 {
            let burst = Ok::<_, io::Error>(Bytes::from(vec![b'x'; (4 << 20) - 1 - at * 4_096]));
            // Silence follows, or a byte a second.
            let drip = dripping(usize::from(at % 2 == 1) << 20, 1).into_data_stream();
            let drip = drip
                .map(|byte| byte.map_err(io::Error::other))
                .chain(futures_util::stream::pending());
            let body = Body::from_stream(futures_util::stream::iter([burst]).chain(drip));
            let began = Instant::now();
            let read = read_body(body, 8 << 20, (&HttpLimits::default(), &mut share())).await;
            refused += usize::from(
                read == Err(BodyError::TooSlow(1024)) && began.elapsed().as_secs() <= 20,
            );
        }
        assert_eq!(refused, 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_at_the_lowest_rate_are_read() {
        let limits = HttpLimits::default();
        for rate in [1024, 1100, 4096, 1 << 20] {
            let read = read_body(dripping(300_000, rate), 300_000, (&limits, &mut share()))
                .await
                .expect("a body");
            assert_eq!(read.len(), 300_000);
        }
        let endless = read_body(
            dripping(usize::MAX / 2, 4096),
            300_000,
            (&limits, &mut share()),
        )
        .await;
        assert_eq!(endless, Err(BodyError::Endless(300_000)));
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_names_its_request() {
        for pad in [300, 3_000, 15_000] {
            let text = format!(
                r#"{{"params":"{}","id":"seven","method":"x"}}"#,
                "x".repeat(pad)
            );
            let size = text.len();
            let chunks = text
                .into_bytes()
                .chunks(7)
                .map(|chunk| Ok::<_, io::Error>(chunk.to_vec()))
                .collect::<Vec<_>>();
            let body = Body::from_stream(futures_util::stream::iter(chunks));
            let read = read_body(body, 1_000, (&HttpLimits::default(), &mut share())).await;
            let id = MessageId::Request(rmcp::model::RequestId::String("seven".into()));
            match pad {
                300 => assert_eq!(read.map(|bytes| bytes.len()), Ok(size)),
                _ => assert_eq!(
                    read,
                    Err(BodyError::TooLong {
                        max: 1_000,
                        size,
                        id
                    })
                ),
            }
        }
    }

    #[tokio::test]
    async fn an_address_has_a_share_of_the_bytes_of_bodies() {
        let one = 100 + REQUEST;
        let buffered = QuotaLimits {
            all: 1_000 * one,
            each: 250 * one,
        };
        let quota = Arc::default();
        let limits = HttpLimits::default();
        let mut kept = Vec::new();
        let mut read = [0, 0];
        for at in 0..2_500_u32 {
            // The first half of the bodies comes from one address.
            let address = if at < 1_250 {
                [192, 0, 2, 1]
            } else {
                at.to_be_bytes()
            };
            let mut share = Share::new(&quota, Identity::Peer(Some(address.into())), buffered);
            match read_body(Body::from(vec![b'x'; 100]), 1_000, (&limits, &mut share)).await {
                Ok(_) => read[usize::from(at >= 1_250)] += 1,
                Err(error) => assert_eq!(error, BodyError::Full),
            }
            kept.push(share);
        }
        assert_eq!(read, [250, 750]);
        drop(kept);
        let mut share = Share::new(
            &quota,
            Identity::Peer(Some([192, 0, 2, 1].into())),
            buffered,
        );
        let all = 250 * one - REQUEST;
        assert!(
            read_body(Body::from(vec![b'x'; all]), all, (&limits, &mut share))
                .await
                .is_ok()
        );
    }
}
