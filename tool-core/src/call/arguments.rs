//! The arguments of a call, as they come.

use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The arguments of a call: JSON text, in whatever form the caller holds it.
#[derive(Clone, Debug)]
pub struct Arguments<'a>(pub(crate) Form<'a>);

#[derive(Clone, Debug)]
pub(crate) enum Form<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl Arguments<'_> {
    /// The text, or where it stops being UTF-8.
    pub(crate) fn text(&self) -> Result<&str, usize> {
        match &self.0 {
            Form::Text(text) => Ok(text),
            Form::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|error| error.valid_up_to()),
        }
    }

    /// The same without borrowing.
    pub fn into_owned(self) -> Arguments<'static> {
        Arguments(match self.0 {
            Form::Text(text) => Form::Text(text.into_owned().into()),
            Form::Bytes(bytes) => Form::Bytes(bytes.into_owned().into()),
        })
    }
}

macro_rules! from {
    ($($(#[$doc:meta])* $type:ty, $value:ident => $form:expr;)*) => {
        $($(#[$doc])*
        impl<'a> From<$type> for Arguments<'a> {
            fn from($value: $type) -> Self {
                Self($form)
            }
        })*
    };
}

from! {
    &'a str, text => Form::Text(text.into());
    &'a String, text => Form::Text(text.as_str().into());
    String, text => Form::Text(text.into());
    Cow<'a, str>, text => Form::Text(text);
    &'a [u8], bytes => Form::Bytes(bytes.into());
    &'a Vec<u8>, bytes => Form::Bytes(bytes.as_slice().into());
    Vec<u8>, bytes => Form::Bytes(bytes.into());
    &'a RawValue, raw => Form::Text(raw.get().into());
    &'a Box<RawValue>, raw => Form::Text(raw.get().into());
    Box<RawValue>, raw => Form::Text(String::from(Box::<str>::from(raw)).into());
    Value, value => Form::Text(value.to_string().into());
    &'a Value, value => Form::Text(value.to_string().into());
}
