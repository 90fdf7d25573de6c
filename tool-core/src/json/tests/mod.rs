//! The texts that the decoder accepts and refuses: rule by rule, by the grammar, and beside `serde_json`.

pub(crate) mod against_serde_json;
pub(crate) mod driving;
pub(crate) mod enums;
pub(crate) mod keys;
pub(crate) mod numbers;
pub(crate) mod repair;
pub(crate) mod shapes;
pub(crate) mod strings;
pub(crate) mod suite;
pub(crate) mod value;

#[cfg(test)]
mod writer;

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use serde::de::DeserializeOwned;

/// Decodes the whole text.
fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut decoder = Decoder::new(text);
    let value = T::deserialize(&mut decoder)?;
    decoder.end()?;
    Ok(value)
}

fn refuses<T: DeserializeOwned>(text: &str) -> bool {
    decode::<T>(text).is_err()
}

fn takes<T: DeserializeOwned + PartialEq>(text: &str, wanted: T) -> bool {
    decode::<T>(text).ok() == Some(wanted)
}

fn path_of<T: DeserializeOwned>(text: &str) -> String {
    decode::<T>(text)
        .err()
        .map_or_else(|| "accepted".to_owned(), |error| error.path().to_owned())
}
