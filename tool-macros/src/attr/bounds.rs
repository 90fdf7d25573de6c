//! Bounds of `range(..)`, `length(..)` and `items(..)`, and the literals they are made of.

use std::cmp::Ordering;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::meta::ParseNestedMeta;
use syn::{Error, Expr, ExprLit, ExprRange, Lit, RangeLimits, Result, UnOp};

use super::ungrouped;

/// A number in an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        match ungrouped(expr) {
            Expr::Lit(ExprLit { lit, .. }) => Self::of_literal(lit),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match Self::of(&unary.expr)? {
                Self::Int(value) => Some(Self::Int(-value)),
                Self::Float(value) => Some(Self::Float(-value)),
            },
            _ => None,
        }
    }

    fn of_literal(lit: &Lit) -> Option<Self> {
        match lit {
            Lit::Int(int) => int.base10_parse().ok().map(Self::Int),
            Lit::Float(float) => float.base10_parse::<f64>().ok().filter(|value| value.is_finite()).map(Self::Float),
            _ => None,
        }
    }

    /// Above 2^53 a float no longer tells neighbours apart, which is precise enough for a compile-time check.
    #[allow(clippy::cast_precision_loss)]
    fn as_float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.partial_cmp(b),
            _ => self.as_float().partial_cmp(&other.as_float()),
        }
    }
}

/// `range(5..=480)`.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    pub(crate) exclusive: bool,
    pub(crate) written: TokenStream,
}

impl Range {
    pub(crate) fn parse(meta: &ParseNestedMeta) -> Result<Self> {
        let (expr, written) = argument(meta, "5..=480")?;
        let Expr::Range(range) = ungrouped(&expr) else {
            return Err(Error::new_spanned(
                &expr,
                "`range` takes a range\nhelp: write `range(1..=10)`, `range(0..)` or `range(..=99)`",
            ));
        };
        let parsed = Self {
            min: bound(range.start.as_deref())?,
            max: bound(range.end.as_deref())?,
            exclusive: is_half_open(range) && range.end.is_some(),
            written,
        };
        parsed.refuse_nonsense()?;
        Ok(parsed)
    }

    fn refuse_nonsense(&self) -> Result<()> {
        let (Some(min), Some(max)) = (self.min, self.max) else {
            if self.min.is_none() && self.max.is_none() {
                return Err(Error::new_spanned(
                    &self.written,
                    "this range limits nothing\nhelp: give it a lower or an upper bound",
                ));
            }
            return Ok(());
        };
        if max < min || (self.exclusive && max <= min) {
            return Err(empty(&self.written));
        }
        Ok(())
    }

    pub(crate) fn contains(&self, number: Number) -> bool {
        let above = self.min.is_none_or(|min| number >= min);
        above && self.max.is_none_or(|max| if self.exclusive { number < max } else { number <= max })
    }
}

/// `length(1..=80)`, `length(..100)`, `length(8)`: inclusive, once read.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) written: TokenStream,
}

impl Size {
    pub(crate) fn parse(meta: &ParseNestedMeta) -> Result<Self> {
        let (expr, written) = argument(meta, "1..=80")?;
        let size = match ungrouped(&expr) {
            Expr::Range(range) => {
                let max = count(range.end.as_deref())?;
                let max = if is_half_open(range) { max.map(|max| max.checked_sub(1)) } else { max.map(Some) };
                let max = max.map(|max| max.ok_or_else(|| empty(&written))).transpose()?;
                Self { min: count(range.start.as_deref())?, max, written }
            }
            single => {
                let exact = count(Some(single))?;
                Self { min: exact, max: exact, written }
            }
        };
        if size.min.is_none() && size.max.is_none() {
            return Err(Error::new_spanned(
                &size.written,
                "this range limits nothing\nhelp: give it a lower or an upper bound",
            ));
        }
        if size.min.zip(size.max).is_some_and(|(min, max)| min > max) {
            return Err(empty(&size.written));
        }
        Ok(size)
    }

    pub(crate) fn contains(&self, length: u64) -> bool {
        self.min.is_none_or(|min| length >= min) && self.max.is_none_or(|max| length <= max)
    }
}

/// The one expression in the parentheses, and its tokens as written.
fn argument(meta: &ParseNestedMeta, example: &str) -> Result<(Expr, TokenStream)> {
    let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
    if !meta.input.peek(syn::token::Paren) {
        return Err(Error::new_spanned(
            &meta.path,
            format!("`{key}` needs its bounds in parentheses\nhelp: write `{key}({example})`"),
        ));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let written: TokenStream = content.fork().parse()?;
    let expr =
        content.parse::<Expr>().and_then(|expr| if content.is_empty() { Ok(expr) } else { Err(content.error("")) });
    if let Ok(expr) = expr {
        return Ok((expr, written));
    }
    // Drained, or syn would complain about the rest a second time.
    let _: TokenStream = content.parse()?;
    let place = if written.is_empty() { meta.path.to_token_stream() } else { written };
    Err(Error::new_spanned(place, format!("`{key}` takes one range\nhelp: write `{key}({example})`")))
}

fn is_half_open(range: &ExprRange) -> bool {
    matches!(range.limits, RangeLimits::HalfOpen(_))
}

fn empty(written: &TokenStream) -> Error {
    Error::new_spanned(written, "this range is empty: no value can satisfy it\nhelp: put the lower bound first")
}

fn bound(expr: Option<&Expr>) -> Result<Option<Number>> {
    let Some(expr) = expr else { return Ok(None) };
    let number = Number::of(expr);
    number.map(Some).ok_or_else(|| {
        Error::new_spanned(expr, "the bounds of `range` must be number literals\nhelp: the schema is made at compile time; write the figure itself")
    })
}

fn count(expr: Option<&Expr>) -> Result<Option<u64>> {
    let Some(expr) = expr else { return Ok(None) };
    match Number::of(expr) {
        Some(Number::Int(value)) => u64::try_from(value).ok(),
        _ => None,
    }
    .map(Some)
    .ok_or_else(|| {
        Error::new_spanned(expr, "a length is a whole number, `0` or more\nhelp: write `1..=80`, or `8` for exactly 8")
    })
}
