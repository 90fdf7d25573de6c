//! The binary stream of AWS (`application/vnd.amazon.eventstream`): frames, each of which names its event and has it as
//! JSON. Its checksums are not looked at: the connection has its own.

/// A frame's lengths, and their checksum.
const PRELUDE: usize = 12;
/// The checksum at its end.
const TRAILER: usize = 4;
/// The most bytes that a frame has, by AWS's documents: 16 MiB and its headers.
const MOST: usize = 17 * 1024 * 1024;

/// Reads frames, cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// What came of the frame that is being read.
    kept: Vec<u8>,
    /// What came is no frame: nothing more is read.
    broken: bool,
}

impl Frames {
    /// Reads on; `sink` is given each event as the JSON that the protocol reads: an object of one member, the event.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
        if self.broken {
            return;
        }
        self.kept.extend_from_slice(bytes);
        let mut read = 0;
        while let Some(rest) = self.kept.get(read..).filter(|rest| rest.len() >= PRELUDE) {
            let Some((total, headers)) = lengths(rest) else {
                self.broken = true;
                self.kept = Vec::new();
                return;
            };
            let Some(frame) = rest.get(..total) else { break };
            if let Some(event) = event(frame, headers) {
                sink(&event);
            }
            read += total;
        }
        self.kept.drain(..read);
    }
}

/// The length of the frame and of its headers.
fn lengths(frame: &[u8]) -> Option<(usize, usize)> {
    let (total, rest) = number::<4>(frame)?;
    let (headers, _) = number::<4>(rest)?;
    (headers + PRELUDE + TRAILER <= total && total <= MOST).then_some((total, headers))
}

/// A number of so many bytes, the first of which weighs most, and what follows it.
fn number<const LENGTH: usize>(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<LENGTH>()?;
    Some((number.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)), rest))
}

/// The event of a frame, as `{"name":payload}`.
fn event(frame: &[u8], headers: usize) -> Option<Vec<u8>> {
    let payload = frame.get(PRELUDE + headers..frame.len() - TRAILER)?;
    let name = name(frame.get(PRELUDE..PRELUDE + headers)?)?;
    let payload = if payload.is_empty() { b"{}" } else { payload };
    let name = serde_json::to_vec(name).ok()?;
    Some([b"{", &*name, b":", payload, b"}\n"].concat())
}

/// The event's name: what the header `:event-type` or `:exception-type` says.
fn name(mut headers: &[u8]) -> Option<&str> {
    while !headers.is_empty() {
        let (length, rest) = number::<1>(headers)?;
        let (name, rest) = rest.split_at_checked(length)?;
        let (kind, rest) = number::<1>(rest)?;
        let (length, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            6 | 7 => number::<2>(rest)?,
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        if kind == 7 && matches!(name, b":event-type" | b":exception-type") {
            return std::str::from_utf8(value).ok();
        }
        headers = rest;
    }
    None
}
