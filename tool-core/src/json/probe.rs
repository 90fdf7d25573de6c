//! A probe: a text by which the requests of types for values are compared with what their schemas
//! publish.
//!
//! Decoding alone enforces a schema only if each type reads what its schema says. A derived type
//! does, unless it knows further names (`#[serde(alias)]`, `#[serde(other)]`) or a field has a
//! function of its own (`deserialize_with`); a type with its own `Deserialize` may read anything.
//! No schema shows that, but each type must ask the decoder for every value. So each tool decodes
//! one text before its first call, and the decoder reports the requests here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request of a type for a value: the method of `Deserializer` that it calls, with the names that
/// it knows.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Any,
    Bool,
    Bytes,
    /// A float, with the format by which schemars publishes its type.
    Float(&'static str),
    Ignored,
    /// An integer, with the format by which schemars publishes its type.
    Integer(&'static str),
    List,
    Map,
    Null,
    /// A value that may be `null`. A second request for the same value follows if it is not.
    Option,
    Struct(&'a [&'a str]),
    Text,
    Tuple(usize),
    Variant(&'a [&'a str]),
}

/// The values that a schema publishes for one place.
#[derive(Debug, PartialEq)]
pub(crate) enum PublishedKind {
    Anything,
    Boolean,
    /// Integers of a format, or of any size.
    Integer(Option<String>),
    List,
    /// An object whose keys are free and whose values have one schema.
    Map,
    Null,
    /// Numbers of a format, or any.
    Number(Option<String>),
    /// An object of which nothing else is said.
    Object,
    /// An object with these properties.
    Struct(Vec<String>),
    Text,
    Tuple(usize),
    /// One of these texts.
    Variants(Vec<String>),
}

impl PublishedKind {
    /// Returns true if a type that makes the request accepts no value of another kind than the
    /// published ones.
    fn allows(&self, request: &Request<'_>) -> bool {
        match (self, request) {
            (Self::Anything, _)
            | (Self::Boolean, Request::Bool)
            | (Self::Integer(None) | Self::Number(None), Request::Integer(_))
            | (Self::List, Request::List | Request::Tuple(_))
            | (Self::Map, Request::Map)
            | (Self::Null, Request::Null)
            | (Self::Number(None), Request::Float(_))
            | (Self::Object, Request::Map | Request::Struct(_))
            | (Self::Text, Request::Text) => true,
            (Self::Integer(Some(known)), Request::Integer(format))
            | (Self::Number(Some(known)), Request::Float(format)) => {
                // The sizes of `isize` and `usize` are published as 64 bits.
                known == format
                    || (matches!(&**known, "int" | "uint")
                        && format.strip_suffix("64") == Some(known))
            }
            (Self::Struct(known), Request::Struct(names))
            | (Self::Variants(known), Request::Variant(names)) => {
                known.len() == names.len()
                    && names
                        .iter()
                        .all(|name| known.iter().any(|known| known == name))
            }
            (Self::Tuple(known), Request::Tuple(len)) => known == len,
            _ => false,
        }
    }
}

/// A place in the text of a probe.
#[derive(Debug)]
pub(crate) struct ProbedPlace {
    pub(crate) published: PublishedKind,
    pub(crate) nullable: bool,
}

/// The texts that a tool's types must decode and refuse, and the result of the comparison.
#[derive(Debug)]
pub(crate) struct SchemaProbe {
    /// A text with every property that the schema publishes.
    text: String,
    /// The same text with one fault each: a variant that does not exist, a missing or an unknown
    /// property.
    faulty: Vec<String>,
    /// The places by their addresses, as a flattened value is decoded by another decoder over a
    /// part of the text. Flattened parameters have no place in the text and are under their
    /// numbers.
    places: HashMap<usize, ProbedPlace>,
    differs: AtomicBool,
}

impl SchemaProbe {
    /// Makes a probe. The places in the text are given by their offsets.
    pub(crate) fn new(
        text: String,
        places: impl IntoIterator<Item = (usize, ProbedPlace)>,
        flattened: impl IntoIterator<Item = ProbedPlace>,
        faulty: Vec<String>,
    ) -> Self {
        let places = places
            .into_iter()
            .map(|(at, place)| (address(&text, at), place));
        let places = places.chain(flattened.into_iter().enumerate()).collect();
        Self {
            text,
            faulty,
            places,
            differs: AtomicBool::new(false),
        }
    }

    /// Compares a request with what is published at its address.
    #[cold]
    pub(crate) fn observe(&self, address: usize, request: Request<'_>) {
        let Some(place) = self.places.get(&address) else {
            return;
        };
        let is_option = matches!(request, Request::Option);
        if !(is_option && place.nullable || place.published.allows(&request)) {
            self.differs.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the types behind `decodes` enforce the schema: they decode the text by
    /// requests for what is published, and refuse every faulty text.
    pub(crate) fn proves(&self, decodes: impl Fn(&str) -> bool) -> bool {
        decodes(&self.text)
            && !self.differs.load(Ordering::Relaxed)
            && !self.faulty.iter().any(|text| decodes(text))
    }
}

/// Returns the address of an offset, which identifies a place also for decoders of a part of the
/// text.
pub(crate) fn address(text: &str, at: usize) -> usize {
    text.as_ptr().addr() + at
}
