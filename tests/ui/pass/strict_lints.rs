//! Generated code passes strict lints.
#![deny(
    missing_docs,
    unreachable_pub,
    unused,
    unused_qualifications,
    unsafe_code,
    warnings,
    nonstandard_style
)]
#![deny(
    missing_debug_implementations,
    missing_copy_implementations,
    trivial_casts,
    trivial_numeric_casts
)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    single_use_lifetimes,
    unused_lifetimes
)]
#![deny(
    unused_results,
    unused_import_braces,
    let_underscore_drop,
    redundant_lifetimes,
    variant_size_differences
)]
#![deny(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::unwrap_used,
    clippy::indexing_slicing
)]
// A tool cannot be a `const fn`.
#![allow(clippy::missing_const_for_fn)]

use std::fmt;
use tool_core::serde::Serialize;
use tool_core::{RunContext, ToolContext, ToolError, agent, tool, toolset, wrap_all, wrap_tool};

/// A forecast.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(crate = "tool_core::serde")]
pub struct Forecast {
    /// True if it rains.
    pub rain: bool,
}

/// The errors.
#[derive(Debug, Clone, Copy, ToolError)]
pub enum Failure {
    /// There is no such city.
    #[tool_error(kind = "conflict", retryable)]
    Unknown,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such city")
    }
}

/// The weather.
#[derive(Debug, Default, Clone, Copy)]
pub struct Weather {
    /// The range of a forecast.
    pub days: u32,
}

/// The weather of a city.
#[toolset(prefix)]
impl Weather {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// Never.
    #[setup]
    pub async fn open(&self) -> Result<(), Failure> {
        std::future::ready(Ok(())).await
    }

    /// Get the forecast.
    ///
    /// # Errors
    ///
    /// There is no such city.
    #[tool(category = "retrieval", timeout = "5s", args = ForecastArgs)]
    pub async fn forecast(
        &self,
        ctx: &RunContext,
        /// The place
        #[arg(length(1..=80), example = "Berlin")]
        city: &str,
        /// The number of days
        #[arg(default = self.days, range(1..=14))]
        days: u32,
        /// Which figures
        figures: Option<&[String]>,
    ) -> Result<Forecast, Failure> {
        std::future::ready(()).await;
        if ctx.user_data::<u8>().is_some() || figures.is_some() {
            return Err(Failure::Unknown);
        }
        Ok(Forecast {
            rain: city.len() > days as usize,
        })
    }
}

/// Add two numbers.
#[must_use]
#[tool(confirm = is_large, args = AddArgs)]
pub fn add(a: i64, #[arg(default)] b: i64) -> i64 {
    a + b
}

/// Add two numbers, with time to think.
#[tool]
#[rustfmt::skip] // braces on one line are another matter to rustc
pub async fn add_later(a: i64) -> i64 { std::future::ready(a).await }

/// Say nothing.
#[tool]
pub async fn silence() {
    std::future::ready(()).await;
}

/// Stop.
///
/// # Panics
///
/// Always.
#[tool]
pub fn stop() {
    panic!("stopped");
}

/// Plans.
///
/// # Errors
///
/// It is no number.
#[agent("planner")]
pub async fn plan(
    mut text: String,
) -> Result<Box<dyn fmt::Display + Send>, Box<dyn std::error::Error + Send + Sync>> {
    text.push('1');
    let number: i64 = text.parse()?;
    if number > 9 {
        return Ok(Box::new(number));
    }
    Ok(Box::new(add_later(number).await))
}

/// Plans at once.
#[agent]
pub fn plan_now(steps: &[u8]) -> impl Iterator<Item = &u8> + '_ {
    steps.iter()
}

/// Plans for later.
#[agent]
pub fn plan_later(number: u8) -> impl Future<Output = u8> {
    let next = number + 1;
    async move { next }
}

/// Never comes back.
#[agent]
pub fn leave() -> ! {
    std::process::exit(0)
}

/// Never comes back, later.
#[agent]
pub async fn leave_later() -> ! {
    std::future::pending::<()>().await;
    std::process::exit(0)
}

fn wrapped() -> i64 {
    let (twice, add) = wrap_all!(|n: i64| n * 2, add);
    let list = wrap_all!([is_odd, is_even]);
    let half = wrap_tool!(|n: i64| n / 2, "half");
    let (nothing, later) = wrap_all!(|| (), async || ());
    nothing();
    drop(later());
    half(twice(add(1, 2))) + i64::from(list.iter().any(|wrapped| wrapped(3)))
}

const fn is_odd(n: i64) -> bool {
    n % 2 == 1
}

const fn is_even(n: i64) -> bool {
    n % 2 == 0
}

fn is_large(args: &AddArgs) -> bool {
    args.a > 9
}

#[test]
fn strict_lints_accept_generated_code() {
    let tools = ToolContext::builder().with(Weather { days: 3 }).build();
    assert!(tools.is_ok());
    assert_eq!(wrapped(), 4);
}
