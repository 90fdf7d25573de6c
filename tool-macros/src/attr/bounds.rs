//! The bounds of `range(..)`, `length(..)` and `items(..)`.

use std::cmp::Ordering;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::meta::ParseNestedMeta;
use syn::{Error, Expr, ExprLit, ExprPath, ExprRange, Lit, RangeLimits, Result, UnOp};

use super::grammar::ungrouped;

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
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                match Self::of(&unary.expr)? {
                    Self::Int(value) => Some(Self::Int(-value)),
                    Self::Float(value) => Some(Self::Float(-value)),
                }
            }
            _ => None,
        }
    }

    fn of_literal(lit: &Lit) -> Option<Self> {
        match lit {
            Lit::Int(int) => int.base10_parse().ok().map(Self::Int),
            Lit::Float(float) => float
                .base10_parse::<f64>()
                .ok()
                .filter(|value| value.is_finite())
                .map(Self::Float),
            _ => None,
        }
    }

    /// Loses digits above 2^53, which is precise enough for a check at compile time.
    #[allow(clippy::cast_precision_loss)]
    fn as_float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// A bound: a number, or the path of a constant.
#[derive(Clone)]
pub(crate) enum Bound<T> {
    Number(T),
    Const(ExprPath),
}

impl<T: Copy> Bound<T> {
    /// Returns the number if it is written in the attribute.
    fn number(bound: Option<&Self>) -> Option<T> {
        match bound? {
            Self::Number(number) => Some(*number),
            Self::Const(_) => None,
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

/// The bounds of `range(5..=480)`.
#[derive(Clone)]
pub(crate) struct Range {
    pub(crate) min: Option<Bound<Number>>,
    pub(crate) max: Option<Bound<Number>>,
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
        refuse_unbounded(
            parsed.min.is_none() && parsed.max.is_none(),
            &parsed.written,
        )?;
        let (min, max) = parsed.numbers();
        refuse_empty(
            min,
            max,
            parsed.exclusive && min.is_some() && min == max,
            &parsed.written,
        )?;
        Ok(parsed)
    }

    pub(crate) fn numbers(&self) -> (Option<Number>, Option<Number>) {
        (
            Bound::number(self.min.as_ref()),
            Bound::number(self.max.as_ref()),
        )
    }

    /// Returns the first bound that is a constant.
    pub(crate) fn constant(&self) -> Option<&ExprPath> {
        [&self.min, &self.max]
            .into_iter()
            .flatten()
            .find_map(|bound| match bound {
                Bound::Number(_) => None,
                Bound::Const(path) => Some(path),
            })
    }

    /// Returns whether the number is within the bounds that are written in the attribute.
    pub(crate) fn contains(&self, number: Number) -> bool {
        let (min, max) = self.numbers();
        let above = min.is_none_or(|min| number >= min);
        above
            && max.is_none_or(|max| {
                if self.exclusive {
                    number < max
                } else {
                    number <= max
                }
            })
    }
}

/// The bounds of `length(1..=80)`, `length(..100)` or `length(8)`. A number is inclusive.
#[derive(Clone)]
pub(crate) struct Size {
    pub(crate) min: Option<Bound<u64>>,
    pub(crate) max: Option<Bound<u64>>,
    /// The upper bound is a constant and is itself refused.
    pub(crate) exclusive: bool,
    pub(crate) written: TokenStream,
}

impl Size {
    pub(crate) fn parse(meta: &ParseNestedMeta) -> Result<Self> {
        let (expr, written) = argument(meta, "1..=80")?;
        let size = match ungrouped(&expr) {
            Expr::Range(range) => {
                let max = match count(range.end.as_deref())? {
                    Some(Bound::Number(max)) if is_half_open(range) => Some(Bound::Number(
                        max.checked_sub(1).ok_or_else(|| empty(&written))?,
                    )),
                    other => other,
                };
                let exclusive = is_half_open(range) && matches!(max, Some(Bound::Const(_)));
                Self {
                    min: count(range.start.as_deref())?,
                    max,
                    exclusive,
                    written,
                }
            }
            single => {
                let exact = count(Some(single))?;
                Self {
                    min: exact.clone(),
                    max: exact,
                    exclusive: false,
                    written,
                }
            }
        };
        refuse_unbounded(size.min.is_none() && size.max.is_none(), &size.written)?;
        let (min, max) = size.numbers();
        refuse_empty(min, max, false, &size.written)?;
        Ok(size)
    }

    pub(crate) fn numbers(&self) -> (Option<u64>, Option<u64>) {
        (
            Bound::number(self.min.as_ref()),
            Bound::number(self.max.as_ref()),
        )
    }

    /// Returns whether the length is within the bounds that are written in the attribute.
    pub(crate) fn contains(&self, length: u64) -> bool {
        let (min, max) = self.numbers();
        min.is_none_or(|min| length >= min) && max.is_none_or(|max| length <= max)
    }
}

/// Refuses bounds that limit nothing.
fn refuse_unbounded(is_unbounded: bool, written: &TokenStream) -> Result<()> {
    if is_unbounded {
        return Err(Error::new_spanned(
            written,
            "this range has no bounds\nhelp: add a lower or an upper bound",
        ));
    }
    Ok(())
}

/// Refuses bounds that no value satisfies.
fn refuse_empty<T: PartialOrd>(
    min: Option<T>,
    max: Option<T>,
    is_empty: bool,
    written: &TokenStream,
) -> Result<()> {
    if is_empty || min.zip(max).is_some_and(|(min, max)| max < min) {
        Err(empty(written))
    } else {
        Ok(())
    }
}

/// Parses the one expression in the parentheses, and returns its tokens too.
fn argument(meta: &ParseNestedMeta, example: &str) -> Result<(Expr, TokenStream)> {
    let key = meta
        .path
        .get_ident()
        .map(ToString::to_string)
        .unwrap_or_default();
    if !meta.input.peek(syn::token::Paren) {
        return Err(Error::new_spanned(
            &meta.path,
            format!("`{key}` needs its bounds in parentheses\nhelp: write `{key}({example})`"),
        ));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let written: TokenStream = content.fork().parse()?;
    let expr = content.parse::<Expr>().and_then(|expr| {
        if content.is_empty() {
            Ok(expr)
        } else {
            Err(content.error(""))
        }
    });
    if let Ok(expr) = expr {
        return Ok((expr, written));
    }
    // syn would report tokens that are left over a second time.
    let _: TokenStream = content.parse()?;
    let place = if written.is_empty() {
        meta.path.to_token_stream()
    } else {
        written
    };
    Err(Error::new_spanned(
        place,
        format!("`{key}` takes one range\nhelp: write `{key}({example})`"),
    ))
}

fn is_half_open(range: &ExprRange) -> bool {
    matches!(range.limits, RangeLimits::HalfOpen(_))
}

fn empty(written: &TokenStream) -> Error {
    Error::new_spanned(
        written,
        "this range is empty, so no value can satisfy it\nhelp: put the lower bound first",
    )
}

fn bound(expr: Option<&Expr>) -> Result<Option<Bound<Number>>> {
    let Some(expr) = expr else { return Ok(None) };
    let bound = Number::of(expr)
        .map(Bound::Number)
        .or_else(|| constant(expr));
    bound.map(Some).ok_or_else(|| {
        Error::new_spanned(
            expr,
            "the bounds of `range` must be numbers or constants\nhelp: write the number itself, or a `const` of the parameter's type",
        )
    })
}

fn count(expr: Option<&Expr>) -> Result<Option<Bound<u64>>> {
    let Some(expr) = expr else { return Ok(None) };
    let count = match Number::of(expr) {
        Some(Number::Int(value)) => u64::try_from(value).ok().map(Bound::Number),
        Some(Number::Float(_)) => None,
        None => constant(expr),
    };
    count.map(Some).ok_or_else(|| {
        Error::new_spanned(expr, "the bounds of a length must be whole numbers that are not negative\nhelp: write `1..=80`, or `8` for exactly 8")
    })
}

fn constant<T>(expr: &Expr) -> Option<Bound<T>> {
    match ungrouped(expr) {
        Expr::Path(path) => Some(Bound::Const(path.clone())),
        _ => None,
    }
}
