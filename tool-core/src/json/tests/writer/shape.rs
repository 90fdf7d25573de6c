//! Random values of every form that serde knows.

use proptest::prelude::*;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

/// Names are static for serde.
const NAMES: [&str; 7] = [
    "a",
    "some_field",
    "caf\u{e9}",
    "with \"quotes\"",
    "back\\slash",
    "",
    "exactly8",
];

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Bool(bool),
    Signed(i128, u8),
    Unsigned(u128, u8),
    F32(f32),
    F64(f64),
    Char(char),
    Text(String),
    Shown(Vec<String>),
    Bytes(Vec<u8>),
    Unit,
    UnitStruct,
    Nothing,
    Something(Box<Shape>),
    UnitVariant(usize),
    Newtype(Box<Shape>),
    NewtypeVariant(usize, Box<Shape>),
    /// With a known length or without.
    Seq(bool, Vec<Shape>),
    Tuple(Vec<Shape>),
    TupleStruct(Vec<Shape>),
    TupleVariant(usize, Vec<Shape>),
    Map(bool, Vec<(Shape, Shape)>),
    Struct(Vec<(usize, Shape)>),
    StructVariant(usize, Vec<(usize, Shape)>),
    Raw(String),
    Fails(String),
}

fn name(index: usize) -> &'static str {
    NAMES[index % NAMES.len()]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // any number will do
fn integer<S: Serializer>(value: i128, width: u8, serializer: S) -> Result<S::Ok, S::Error> {
    match width % 5 {
        0 => serializer.serialize_i8(value as i8),
        1 => serializer.serialize_i16(value as i16),
        2 => serializer.serialize_i32(value as i32),
        3 => serializer.serialize_i64(value as i64),
        _ => serializer.serialize_i128(value),
    }
}

#[allow(clippy::cast_possible_truncation)] // any number will do
fn natural<S: Serializer>(value: u128, width: u8, serializer: S) -> Result<S::Ok, S::Error> {
    match width % 5 {
        0 => serializer.serialize_u8(value as u8),
        1 => serializer.serialize_u16(value as u16),
        2 => serializer.serialize_u32(value as u32),
        3 => serializer.serialize_u64(value as u64),
        _ => serializer.serialize_u128(value),
    }
}

/// Displays itself part by part.
struct Shown<'a>(&'a [String]);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| f.write_str(part))
    }
}

macro_rules! all {
    ($open:expr, $method:ident, $items:expr) => {{
        let mut open = $open?;
        for item in $items {
            open.$method(item)?;
        }
        open.end()
    }};
}

macro_rules! all_named {
    ($open:expr, $items:expr) => {{
        let mut open = $open?;
        for (key, item) in $items {
            open.serialize_field(name(*key), item)?;
        }
        open.end()
    }};
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => s.serialize_bool(*value),
            Self::Signed(value, width) => integer(*value, *width, s),
            Self::Unsigned(value, width) => natural(*value, *width, s),
            Self::F32(value) => s.serialize_f32(*value),
            Self::F64(value) => s.serialize_f64(*value),
            Self::Char(value) => s.serialize_char(*value),
            Self::Text(value) => s.serialize_str(value),
            Self::Shown(parts) => s.collect_str(&Shown(parts)),
            Self::Bytes(value) => s.serialize_bytes(value),
            Self::Unit => s.serialize_unit(),
            Self::UnitStruct => s.serialize_unit_struct("UnitStruct"),
            Self::Nothing => s.serialize_none(),
            Self::Something(value) => s.serialize_some(value),
            Self::UnitVariant(variant) => s.serialize_unit_variant("Enum", 0, name(*variant)),
            Self::Newtype(value) => s.serialize_newtype_struct("Newtype", value),
            Self::NewtypeVariant(variant, value) => {
                s.serialize_newtype_variant("Enum", 0, name(*variant), value)
            }
            Self::Seq(told, items) => all!(
                s.serialize_seq(told.then_some(items.len())),
                serialize_element,
                items
            ),
            Self::Tuple(items) => all!(s.serialize_tuple(items.len()), serialize_element, items),
            Self::TupleStruct(items) => all!(
                s.serialize_tuple_struct("Tuple", items.len()),
                serialize_field,
                items
            ),
            Self::TupleVariant(variant, items) => {
                all!(
                    s.serialize_tuple_variant("Enum", 0, name(*variant), items.len()),
                    serialize_field,
                    items
                )
            }
            Self::Map(told, entries) => {
                let mut map = s.serialize_map(told.then_some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Self::Struct(fields) => all_named!(s.serialize_struct("Struct", fields.len()), fields),
            Self::StructVariant(variant, fields) => {
                all_named!(
                    s.serialize_struct_variant("Enum", 0, name(*variant), fields.len()),
                    fields
                )
            }
            Self::Raw(text) => {
                let mut raw = s.serialize_struct("$serde_json::private::RawValue", 1)?;
                raw.serialize_field("$serde_json::private::RawValue", text)?;
                raw.end()
            }
            Self::Fails(message) => Err(S::Error::custom(message)),
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    // Each position of a word, with and without characters to be escaped and of several bytes.
    prop_oneof![
        "[ -~]{0,40}",
        "[a-z\"\\\\\u{0}-\u{1f}\u{7f}-\u{ff}\u{1F600}]{0,40}",
        any::<String>()
    ]
}

fn leaf() -> impl Strategy<Value = Shape> {
    prop_oneof![
        any::<bool>().prop_map(Shape::Bool),
        any::<(i128, u8)>().prop_map(|(value, width)| Shape::Signed(value, width)),
        any::<(u128, u8)>().prop_map(|(value, width)| Shape::Unsigned(value, width)),
        any::<u32>().prop_map(|bits| Shape::F32(f32::from_bits(bits))),
        any::<u64>().prop_map(|bits| Shape::F64(f64::from_bits(bits))),
        (-1000..1000).prop_map(|value| Shape::F64(f64::from(value) / 8.0)),
        any::<char>().prop_map(Shape::Char),
        text().prop_map(Shape::Text),
        proptest::collection::vec(text(), 0..4).prop_map(Shape::Shown),
        proptest::collection::vec(any::<u8>(), 0..9).prop_map(Shape::Bytes),
        Just(Shape::Unit),
        Just(Shape::UnitStruct),
        Just(Shape::Nothing),
        any::<usize>().prop_map(Shape::UnitVariant),
        "[\\[\\]{}a-z\"\\\\\u{e9}]{0,20}".prop_map(Shape::Raw),
    ]
}

/// Returns a key: mostly scalars, as other keys fail.
fn key() -> impl Strategy<Value = Shape> {
    prop_oneof![
        9 => text().prop_map(Shape::Text),
        9 => any::<(i128, u8)>().prop_map(|(value, width)| Shape::Signed(value, width)),
        9 => any::<(u128, u8)>().prop_map(|(value, width)| Shape::Unsigned(value, width)),
        3 => any::<bool>().prop_map(Shape::Bool),
        3 => any::<char>().prop_map(Shape::Char),
        3 => any::<usize>().prop_map(Shape::UnitVariant),
        3 => text().prop_map(|value| Shape::Newtype(Shape::Text(value).into())),
        3 => any::<u128>().prop_map(|value| Shape::Something(Shape::Unsigned(value, 3).into())),
        3 => proptest::collection::vec(text(), 0..4).prop_map(Shape::Shown),
        1 => leaf(),
    ]
}

fn nested(inner: impl Strategy<Value = Shape> + Clone + 'static) -> impl Strategy<Value = Shape> {
    let items = proptest::collection::vec(inner.clone(), 0..5);
    let fields = proptest::collection::vec((any::<usize>(), inner.clone()), 0..5);
    prop_oneof![
        inner
            .clone()
            .prop_map(|value| Shape::Something(value.into())),
        inner.clone().prop_map(|value| Shape::Newtype(value.into())),
        (any::<usize>(), inner.clone())
            .prop_map(|(variant, value)| Shape::NewtypeVariant(variant, value.into())),
        (any::<bool>(), items.clone()).prop_map(|(told, items)| Shape::Seq(told, items)),
        items.clone().prop_map(Shape::Tuple),
        items.clone().prop_map(Shape::TupleStruct),
        (any::<usize>(), items).prop_map(|(variant, items)| Shape::TupleVariant(variant, items)),
        (
            any::<bool>(),
            proptest::collection::vec((key(), inner), 0..5)
        )
            .prop_map(|(told, entries)| Shape::Map(told, entries)),
        fields.clone().prop_map(Shape::Struct),
        (any::<usize>(), fields)
            .prop_map(|(variant, fields)| Shape::StructVariant(variant, fields)),
    ]
}

pub(crate) fn shape() -> impl Strategy<Value = Shape> {
    let any = prop_oneof![40 => leaf(), 1 => text().prop_map(Shape::Fails)];
    any.prop_recursive(5, 60, 5, nested)
}
