//! An answer whose body has a limit.

use crate::egress::error::EgressError;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The answer to a guarded request. Its body is limited in size and time.
///
/// ```no_run
/// use tool_adapters::egress::{EgressClient, EgressError};
/// use tool_core::serde_json::Value;
///
/// /// Returns the temperature at a place, or `None` where the service does not know it.
/// async fn temperature(client: &EgressClient, place: &str) -> Result<Option<f64>, EgressError> {
///     let response = client.get("https://weather.example/now").query(&[("place", place)]).send().await?;
///     if response.status() == 404 {
///         return Ok(None);
///     }
///     let weather: Value = response.error_for_status()?.json().await?;
///     Ok(weather["celsius"].as_f64())
/// }
/// ```
pub struct EgressResponse {
    response: Response,
    max_body: usize,
    read: usize,
    limit: Duration,
}

impl EgressResponse {
    pub(crate) fn new(response: Response, max_body: usize, limit: Duration) -> Self {
        Self {
            response,
            max_body,
            read: 0,
            limit,
        }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns the URL that answered, behind all redirects.
    pub fn url(&self) -> &Url {
        self.response.url()
    }

    /// Returns an error for a status of 400 and above.
    ///
    /// # Errors
    ///
    /// Returns [`EgressError::Status`].
    pub fn error_for_status(self) -> Result<Self, EgressError> {
        let status = self.status();
        if status.is_client_error() || status.is_server_error() {
            return Err(EgressError::Status {
                host: self.host(),
                status,
            });
        }
        Ok(self)
    }

    /// Returns the next part of the body, or `None` at its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is larger than the limit, takes too long, or breaks off.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, EgressError> {
        let left = self.max_body - self.read;
        if self
            .response
            .content_length()
            .is_some_and(|length| length > left as u64)
        {
            return Err(EgressError::TooLarge {
                limit: self.max_body,
            });
        }
        let chunk = match self.response.chunk().await {
            Ok(chunk) => chunk,
            Err(error) => return Err(EgressError::from_reqwest(error, &self.host(), self.limit)),
        };
        let length = chunk.as_ref().map_or(0, |chunk| chunk.as_ref().len());
        if length > left {
            return Err(EgressError::TooLarge {
                limit: self.max_body,
            });
        }
        self.read += length;
        Ok(chunk)
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is larger than the limit, takes too long, or breaks off.
    pub async fn bytes(mut self) -> Result<Vec<u8>, EgressError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(chunk.as_ref());
        }
        Ok(body)
    }

    /// Reads the body to its end as UTF-8. Replaces what is invalid.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is larger than the limit, takes too long, or breaks off.
    pub async fn text(self) -> Result<String, EgressError> {
        let body = self.bytes().await?;
        Ok(String::from_utf8(body)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Reads the body to its end as JSON, without a byte order mark.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is larger than the limit, takes too long, breaks off, or is not
    /// such a value.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, EgressError> {
        let host = self.host();
        let body = self.bytes().await?;
        let json = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&body);
        serde_json::from_slice(json).map_err(|error| EgressError::from_json(&error, host))
    }

    fn host(&self) -> String {
        self.response
            .url()
            .host_str()
            .unwrap_or_default()
            .to_owned()
    }
}

debug_only!(EgressResponse, |this| status: this.status());
