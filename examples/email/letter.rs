//! An encoded message.

use super::error::EmailError;
use lettre::message::header::{ContentType, MIME_VERSION_1_0};
use lettre::{Address, Message};
use reqwest::Url;

/// One message to one recipient.
pub(crate) struct Letter {
    pub(crate) from: Address,
    pub(crate) to: Address,
    /// The `Message-ID`.
    pub(crate) id: String,
    /// The headers and the body, without the final line end.
    pub(crate) bytes: Vec<u8>,
}

impl Letter {
    pub(crate) fn new(
        from: &Address,
        to: &str,
        subject: &str,
        body: &str,
    ) -> Result<Self, EmailError> {
        // The schema checks this too, but not for a caller in Rust. A line break here would
        // add a header.
        if subject.chars().any(char::is_control) {
            return Err(EmailError::Refused(
                "the subject has a line break or another control character in it".into(),
            ));
        }
        let to = address(to)?;
        let unfit = |error: lettre::error::Error| {
            EmailError::Refused(format!("the message cannot be written: {error}"))
        };
        let message = Message::builder()
            .from(from.clone().into())
            .to(to.clone().into())
            .subject(subject)
            .message_id(None)
            .header(MIME_VERSION_1_0)
            .header(ContentType::TEXT_PLAIN)
            // A text ends with a line end. For an unencoded body the end of the message adds it.
            .body(format!("{}\n", body.strip_suffix('\n').unwrap_or(body)))
            .map_err(unfit)?;
        let id = message
            .headers()
            .get_raw("Message-ID")
            .unwrap_or_default()
            .to_owned();
        let mut bytes = message.formatted();
        if bytes.ends_with(b"\r\n") {
            bytes.truncate(bytes.len() - 2);
        }
        Ok(Self {
            from: from.clone(),
            to,
            id,
            bytes,
        })
    }
}

/// Parses an address, and converts its domain to ASCII, as few servers accept other characters there.
pub(crate) fn address(text: &str) -> Result<Address, EmailError> {
    let unfit = || EmailError::Refused(format!("`{}` is no e-mail address", text.escape_debug()));
    let address: Address = text.parse().map_err(|_| unfit())?;
    if text.chars().any(char::is_control) {
        return Err(unfit());
    }
    if address.domain().is_ascii() {
        return Ok(address);
    }
    let url = Url::parse(&format!("http://{}/", address.domain())).map_err(|_| unfit())?;
    Address::new(address.user(), url.host_str().unwrap_or_default()).map_err(|_| unfit())
}
