//! The constraints of `#[arg]`, checked on typed fields. The validator reports what they refuse.

use crate::arguments::fields::BorrowedText;
use crate::json::number::exact_float;
use crate::schema::leaf::LeafCheck;
use crate::schema::parameter::{Constraint, Literal, Number, Parameter, Range};
use parking_lot::RwLock;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::num::{NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};
use std::sync::{Arc, LazyLock};

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident, $trait:ident::$method:ident, $message:literal, $note:literal, $pattern:pat => ($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$doc])*
            #[diagnostic::on_unimplemented(message = $message, note = $note)]
            pub trait $trait {
                /// Returns true if the value satisfies the constraint.
                fn $method(&self, $($argument: $type),*) -> bool;
            }

            $(#[$doc])*
            #[inline]
            #[must_use]
            pub fn $name<T: $trait + ?Sized>(value: &T, parameter: &Parameter) -> bool {
                parameter.constraints.iter().all(|limit| match limit {
                    $pattern => value.$method($($argument),*),
                    _ => true,
                })
            }

            impl<T: $trait> $trait for Option<T> {
                #[inline]
                fn $method(&self, $($argument: $type),*) -> bool {
                    self.as_ref().is_none_or(|value| value.$method($($argument),*))
                }
            }

            impl<T: $trait> $trait for Box<T> {
                #[inline]
                fn $method(&self, $($argument: $type),*) -> bool {
                    (**self).$method($($argument),*)
                }
            }
        )*
    };
}

checks! {
    /// Checks `range(..)`.
    in_range, Ranged::within, "`range` needs a number, and `{Self}` is none", "`range` takes integers and floats, and lists of them", Constraint::Range(range) => (range: &Range);
    /// Checks `length(..)`.
    has_length, Long::long, "`length` needs a text, and `{Self}` is none", "`length` takes `String` and `&str`, and lists of them; `items` counts a list", &Constraint::Length(min, max) => (min: Option<u64>, max: Option<u64>);
    /// Checks `items(..)`.
    has_items, Counted::counted, "`items` needs a list, and `{Self}` is none", "`items` takes `Vec<T>`, `&[T]` and the other collections", &Constraint::Items(min, max) => (min: Option<u64>, max: Option<u64>);
    /// Checks `pattern = ".."`.
    matches_pattern, Patterned::matches, "`pattern` needs a text, and `{Self}` is none", "`pattern` takes `String` and `&str`, and lists of them", Constraint::Pattern(pattern) => (pattern: &'static str);
    /// Checks `one_of(..)`.
    is_one_of, Chosen::chosen, "`one_of` needs a text or a number, and `{Self}` is neither", "`one_of` takes `String`, `&str` and numbers, and lists of them", Constraint::OneOf(all) => (all: &[Literal]);
    /// Checks `format = ".."`.
    has_format, Formatted::formatted, "`format` needs a text, and `{Self}` is none", "`format` takes `String` and `&str`, and lists of them", Constraint::Format(format) => (format: &'static str);
}

macro_rules! numbers {
    ($($value:ident: $($type:ty)* => $number:expr;)*) => {
        $($(impl Ranged for $type {
            #[inline]
            fn within(&self, range: &Range) -> bool {
                let $value = self;
                range.holds($number)
            }
        }

        impl Chosen for $type {
            fn chosen(&self, all: &[Literal]) -> bool {
                let $value = self;
                let is = |one: &Literal| matches!(one, Literal::Number(known) if known.compare($number) == Some(Ordering::Equal));
                all.iter().any(is)
            }
        })*)*
    };
}

numbers! {
    value: i8 i16 i32 i64 u8 u16 u32 u64 => Number::Int((*value).into());
    value: i128 => Number::Int(*value);
    // No bound of an attribute is larger than `i128::MAX`.
    value: u128 => Number::Int(i128::try_from(*value).unwrap_or(i128::MAX));
    value: usize isize => Number::Int(*value as i128);
    value: NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroI32 NonZeroI64 => Number::Int(value.get().into());
    value: f64 => Number::Float(*value);
}

// An `f32` has been rounded, perhaps beyond a bound, so the bounds are rounded in the same way, and
// nothing within them is refused here. The validator then checks the number that was sent.
impl Ranged for f32 {
    fn within(&self, range: &Range) -> bool {
        range.min.is_none_or(|min| *self >= min.rounded())
            && range.max.is_none_or(|max| *self <= max.rounded())
    }
}

impl Chosen for f32 {
    fn chosen(&self, all: &[Literal]) -> bool {
        let is = |one: &Literal| matches!(one, Literal::Number(known) if known.rounded().partial_cmp(self) == Some(Ordering::Equal));
        all.iter().any(is)
    }
}

impl Number {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // rounding is the purpose
    fn rounded(self) -> f32 {
        match self {
            Self::Int(value) => value as f64 as f32,
            Self::Float(value) => value as f32,
        }
    }

    #[inline]
    #[allow(clippy::cast_precision_loss)] // a float with a fraction is far below the integers that are rounded here
    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => match exact_float(b) {
                Some(b) => Some(a.cmp(&b)),
                None => (a as f64).partial_cmp(&b),
            },
            (Self::Float(a), Self::Int(b)) => match exact_float(a) {
                Some(a) => Some(a.cmp(&b)),
                None => a.partial_cmp(&(b as f64)),
            },
        }
    }
}

impl Range {
    #[inline]
    fn holds(&self, value: Number) -> bool {
        let low = self.min.is_none_or(|min| {
            matches!(
                value.compare(min),
                Some(Ordering::Greater | Ordering::Equal)
            )
        });
        let high = self.max.is_none_or(|max| match value.compare(max) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => !self.exclusive,
            _ => false,
        });
        low && high
    }
}

#[inline]
fn counts(count: usize, min: Option<u64>, max: Option<u64>) -> bool {
    let count = count as u64;
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

macro_rules! texts {
    ($($(<$lifetime:lifetime>)? $type:ty),*) => {
        $(impl Long for $type {
            fn long(&self, min: Option<u64>, max: Option<u64>) -> bool {
                counts(self.chars().count(), min, max)
            }
        }

        impl Chosen for $type {
            fn chosen(&self, all: &[Literal]) -> bool {
                let text: &str = self;
                all.iter().any(|one| matches!(one, Literal::Str(known) if *known == text))
            }
        }

        impl Patterned for $type {
            fn matches(&self, pattern: &'static str) -> bool {
                holds("pattern", pattern, self)
            }
        }

        impl Formatted for $type {
            fn formatted(&self, format: &'static str) -> bool {
                holds("format", format, self)
            }
        })*
    };
}

texts!(
    String,
    str,
    &str,
    BorrowedText<'_>,
    Cow<'_, str>,
    Box<str>,
    Arc<str>
);

macro_rules! lists {
    ($($type:ty, [$($generics:tt)*];)*) => {
        $(
            lists!(@each $type, [$($generics)*], Ranged::within(range: &Range));
            lists!(@each $type, [$($generics)*], Long::long(min: Option<u64>, max: Option<u64>));
            lists!(@each $type, [$($generics)*], Patterned::matches(pattern: &'static str));
            lists!(@each $type, [$($generics)*], Chosen::chosen(all: &[Literal]));
            lists!(@each $type, [$($generics)*], Formatted::formatted(format: &'static str));

            impl<T, $($generics)*> Counted for $type {
                fn counted(&self, min: Option<u64>, max: Option<u64>) -> bool {
                    counts(self.len(), min, max)
                }
            }
        )*
    };
    (@each $type:ty, [$($generics:tt)*], $trait:ident::$method:ident($($argument:ident: $argument_type:ty),*)) => {
        impl<T: $trait, $($generics)*> $trait for $type {
            fn $method(&self, $($argument: $argument_type),*) -> bool {
                self.iter().all(|value| value.$method($($argument),*))
            }
        }
    };
}

lists! {
    Vec<T>, [];
    [T; N], [const N: usize];
    VecDeque<T>, [];
    BTreeSet<T>, [];
    HashSet<T, S>, [S];
}

/// Returns true if a text satisfies one keyword.
fn holds(keyword: &'static str, argument: &'static str, text: &str) -> bool {
    type Cache = RwLock<HashMap<(&'static str, &'static str), Option<Arc<LeafCheck>>>>;
    static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);

    let key = (keyword, argument);
    let known = CACHE.read().get(&key).cloned();
    let check = known.unwrap_or_else(|| {
        let made = LeafCheck::new(keyword, &argument.into()).ok().map(Arc::new);
        CACHE.write().entry(key).or_insert(made).clone()
    });
    // No text satisfies a pattern that does not compile. It was reported when the tool was made.
    check.is_some_and(|check| check.accepts_text(text))
}
