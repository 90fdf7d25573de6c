//! The key by which a server knows that a request was sent before.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::hash::{BuildHasher, RandomState};

/// The header of a request and of all its repetitions.
pub(crate) struct IdempotencyKey {
    name: HeaderName,
    value: HeaderValue,
}

impl IdempotencyKey {
    /// Makes a key for a new request.
    pub(crate) fn new(header: &'static str) -> Option<Self> {
        // The seeds of hash maps are random enough to tell requests apart.
        let random = || RandomState::new().hash_one(0);
        let value = format!("{:016x}{:016x}", random(), random());
        Some(Self {
            name: HeaderName::from_static(header),
            value: HeaderValue::from_str(&value).ok()?,
        })
    }

    /// Adds the key, unless the program has set one.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        headers
            .entry(&self.name)
            .or_insert_with(|| self.value.clone());
    }
}
