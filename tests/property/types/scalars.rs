//! Scalars: numbers of every width, texts in every form, and types with a text format.

#![allow(clippy::option_option)] // to test the type

use super::{echoes, scalars, single};
use serde_json::Value;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU128, NonZeroUsize,
};
use std::path::PathBuf;
use std::time::Duration;
use tool_core::Timestamp;

echoes! {
    i8_: i8;
    i16_: i16;
    i32_: i32;
    i64_: i64;
    i128_: i128;
    isize_: isize;
    u8_: u8;
    u16_: u16;
    u32_: u32;
    u64_: u64;
    u128_: u128;
    usize_: usize;
    nonzero_i8: NonZeroI8;
    nonzero_i16: NonZeroI16;
    nonzero_i32: NonZeroI32;
    nonzero_i64: NonZeroI64;
    nonzero_i128: NonZeroI128;
    nonzero_u8: NonZeroU8;
    nonzero_u16: NonZeroU16;
    nonzero_u32: NonZeroU32;
    nonzero_u64: NonZeroU64;
    nonzero_u128: NonZeroU128;
    nonzero_usize: NonZeroUsize;
    f32_: f32, single;
    f64_: f64;
    bool_: bool;
    char_: char;
    string: String;
    boxed_str: Box<str>;
    boxed: Box<u16>;
    text: &str;
    option_text: Option<&str>;
    cow: Cow<'_, str>;
    path: PathBuf;
    timestamp: Timestamp, instants;
    option_timestamp: Option<Timestamp>, instants;
    duration: Duration, carried;
    option_duration: Option<Duration>, carried;
    ip: IpAddr, addresses;
    ipv4: Ipv4Addr;
    ipv6: Ipv6Addr, addresses;
    anything: Value;
    option_anything: Option<Value>;
    option_u8: Option<u8>;
    option_i64: Option<i64>;
    option_f64: Option<f64>;
    option_bool: Option<bool>;
    option_string: Option<String>;
    option_char: Option<char>;
    option_option: Option<Option<u8>>;
    option_option_text: Option<Option<String>>;
    option_boxed: Option<Box<u8>>;
}

/// Normalises an instant.
fn instants(value: &mut Value) {
    scalars(value, &|value| {
        if let Some(instant) = value
            .as_str()
            .and_then(|text| text.parse::<Timestamp>().ok())
        {
            *value = Value::from(instant.to_string());
        }
    });
}

/// Carries nanoseconds that make a second.
fn carried(value: &mut Value) {
    let Some(value) = value.get_mut("value") else {
        return;
    };
    let part = |name: &str| {
        let number = value.get(name)?;
        let whole = number.as_u64().map(u128::from);
        whole.or_else(|| format!("{:.0}", number.as_f64()?.abs()).parse().ok())
    };
    if let (Some(seconds), Some(nanoseconds)) = (part("secs"), part("nanos")) {
        *value = (seconds * 1_000_000_000 + nanoseconds).to_string().into();
    }
}

/// Normalises an address.
fn addresses(value: &mut Value) {
    scalars(value, &|value| {
        if let Some(address) = value.as_str().and_then(|text| text.parse::<IpAddr>().ok()) {
            *value = Value::from(address.to_string());
        }
    });
}
