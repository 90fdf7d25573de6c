//! The limits of `#[arg]`.

use super::{echoes, single};
use std::collections::HashSet;

echoes! {
    #[arg(range(5..=480))] range_u32: u32;
    #[arg(range(-5..10))] range_half_open: i8;
    #[arg(range(..=7))] range_to: i64;
    #[arg(range(1..))] range_from: u64;
    #[arg(range(0.5..=1.5))] range_float: f64;
    #[arg(range(0.0..1.0))] range_float_open: f64;
    #[arg(range(0.1..=0.7))] range_single: f32, single;
    #[arg(range(1..10))] range_float_by_integers: f64;
    #[arg(range(1..=3))] range_option: Option<u8>;
    #[arg(range(1..=3))] range_list: Vec<u8>;
    #[arg(range(-1.0..=1.0))] range_matrix: Vec<Vec<f64>>;
    #[arg(range(0..=100))] range_wide: i128;
    #[arg(range(1..=100))] range_nonzero: std::num::NonZeroU8;
    #[arg(range(9_007_199_254_740_993..))] range_above_floats: u64;
    #[arg(length(2..=4))] length: String;
    #[arg(length(1..))] length_lent: &str;
    #[arg(length(..=3))] length_option: Option<String>;
    #[arg(length(1..=2))] length_list: Vec<String>;
    #[arg(items(1..=3))] items: Vec<u8>;
    #[arg(items(2..))] items_option: Option<Vec<String>>;
    #[arg(items(1..=2), range(1..=9))] items_and_range: Vec<i32>;
    #[arg(items(..=2))] items_set: HashSet<u8>, sorted;
    #[arg(pattern = "^[a-z]{2,5}$")] pattern: String;
    #[arg(pattern = "[0-9]+")] pattern_anywhere: Option<&str>;
    #[arg(pattern = "^\\d{3}$")] pattern_digits: Vec<String>;
    #[arg(pattern = "^(?=a).+$")] pattern_ahead: String;
    #[arg(one_of("asc", "desc"))] one_of: String;
    #[arg(one_of("a", "b"))] one_of_option: Option<&str>;
    #[arg(one_of(1, 2, 5))] one_of_number: u8;
    #[arg(one_of(0.5, 1.0))] one_of_float: f64;
    #[arg(one_of(0.1, 1.0))] one_of_single: f32, single;
    #[arg(one_of(1, 2))] one_of_list: Vec<i32>;
    #[arg(format = "date-time")] format_date_time: String;
    #[arg(format = "date")] format_date: String;
    #[arg(format = "time")] format_time: String;
    #[arg(format = "duration")] format_duration: String;
    #[arg(format = "email")] format_email: String;
    #[arg(format = "hostname")] format_hostname: String;
    #[arg(format = "ipv4")] format_ipv4: String;
    #[arg(format = "ipv6")] format_ipv6: String;
    #[arg(format = "uuid")] format_uuid: String;
    #[arg(format = "email")] format_option: Option<&str>;
    #[arg(format = "uuid")] format_list: Vec<String>;
    #[arg(default = 30, range(5..=480))] default_integer: u32;
    #[arg(default = "none")] default_text: String;
    #[arg(default = "none")] default_lent: &str;
    #[arg(default)] default_of_type: bool;
    #[arg(default = 0.25)] default_float: f64;
    #[arg(default = vec![1, 2])] default_list: Vec<u8>;
    #[arg(name = "value")] named: u8;
}

pub(crate) fn sorted(value: &mut serde_json::Value) {
    if let Some(items) = value
        .get_mut("value")
        .and_then(serde_json::Value::as_array_mut)
    {
        items.sort_by_key(|item| format!("{:09}", item.as_f64().unwrap_or(0.0)));
    }
}
