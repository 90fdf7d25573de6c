//! The forms of values in the gateway's files: times, sizes, amounts of money, and variables of the environment.

use serde_json::Value;
use std::collections::HashMap;
use std::env;
use std::time::Duration;
use tool_core::trace::Cost;

/// The variables that replace `${NAME}` and `${NAME:-default}` in texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expand {
    /// `None` reads the environment of the process.
    variables: Option<HashMap<String, String>>,
}

impl Expand {
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: Some(variables.collect()) }
    }

    fn get(&self, name: &str) -> Option<String> {
        match &self.variables {
            Some(variables) => variables.get(name).cloned(),
            None => env::var(name).ok(),
        }
    }

    /// Replaces all variables. What they contain is not expanded again. `$$` stands for `$`.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let (mut expanded, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                expanded.push('$');
                rest = after;
                continue;
            }
            let Some(after) = after.strip_prefix('{') else {
                expanded.push('$');
                rest = after;
                continue;
            };
            let Some((variable, after)) = after.split_once('}') else {
                return Err("expected `}` after `${`".to_owned());
            };
            let (name, default) =
                variable.split_once(":-").map_or((variable, None), |(name, default)| (name, Some(default)));
            match (self.get(name).filter(|value| default.is_none() || !value.is_empty()), default) {
                (Some(value), _) => expanded.push_str(&value),
                (None, Some(default)) => expanded.push_str(default),
                (None, None) => {
                    return Err(format!(
                        "the environment variable `{name}` is not set; set it, or write a default as `${{{name}:-default}}`"
                    ));
                }
            }
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

/// Reads a time such as `800ms`, `30s`, `10m`, `2h` or `1d`, or a number of seconds.
pub(crate) fn duration(value: &Value) -> Option<Duration> {
    if let Some(seconds) = value.as_u64() {
        return Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
    }
    let (number, unit) = number_and_unit(value.as_str()?)?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 24 * 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(milliseconds)?)).filter(|time| !time.is_zero())
}

/// Reads an amount of US dollars, down to a billionth.
pub(crate) fn dollars(value: &Value) -> Option<Cost> {
    let billionths = Duration::try_from_secs_f64(value.as_f64()?).ok()?.as_nanos();
    u64::try_from(billionths * 1_000).ok().filter(|amount| *amount > 0).map(Cost::pico)
}

/// Reads a size such as `64KiB` or `4MiB`, or a number of bytes.
pub(crate) fn size(value: &Value) -> Option<usize> {
    let (number, unit) = match value.as_u64() {
        Some(bytes) => (bytes, "B"),
        None => number_and_unit(value.as_str()?)?,
    };
    let bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    usize::try_from(number.checked_mul(bytes)?).ok().filter(|bytes| *bytes > 0)
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_are_replaced_once() {
        let expand = Expand::of([("A", "one"), ("B", "${A}"), ("EMPTY", "")]);
        for (text, expected) in [
            ("${A}-${A}", "one-one"),
            ("${B}", "${A}"),
            ("${C:-two}", "two"),
            ("${EMPTY:-two}", "two"),
            ("${EMPTY}", ""),
            ("$A $$ 5$", "$A $ 5$"),
            ("$${A}", "${A}"),
        ] {
            assert_eq!(expand.expand(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(expand.expand("${C}").is_err_and(|problem| problem.contains("`C` is not set")));
        assert!(expand.expand("${A").is_err());
    }

    #[test]
    fn times_and_sizes_have_units() {
        for (value, expected) in [
            (json!("800ms"), Some(800)),
            (json!("30s"), Some(30_000)),
            (json!("10 m"), Some(600_000)),
            (json!("2h"), Some(7_200_000)),
            (json!(5), Some(5_000)),
            (json!(0), None),
            (json!("0s"), None),
            (json!("30"), None),
            (json!("s"), None),
            (json!("-1s"), None),
            (json!("99999999999999999999s"), None),
            (json!(true), None),
        ] {
            assert_eq!(duration(&value), expected.map(Duration::from_millis), "{value}");
        }
        for (value, expected) in [
            (json!(0.05), Some(Cost::micros(50_000))),
            (json!(2), Some(Cost::micros(2_000_000))),
            (json!(0), None),
            (json!(-1), None),
            (json!(1e9), None),
            (json!("1"), None),
        ] {
            assert_eq!(dollars(&value), expected, "{value}");
        }
        for (value, expected) in [
            (json!("4MiB"), Some(4 << 20)),
            (json!("64 KiB"), Some(64 << 10)),
            (json!(100), Some(100)),
            (json!("4MB"), None),
            (json!(0), None),
        ] {
            assert_eq!(size(&value), expected, "{value}");
        }
    }
}
