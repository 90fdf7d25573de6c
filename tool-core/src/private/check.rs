//! The limits of `#[arg]`, checked on typed fields. What they refuse is reported by the schema afterwards.

use super::{Constraint, Literal, Number, Parameter, Range, Text};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident, $trait:ident::$method:ident, $message:literal, $note:literal, ($($pattern:tt)*) => ($($argument:expr),*);)*) => {
        $(
            $(#[$doc])*
            #[diagnostic::on_unimplemented(message = $message, note = $note)]
            pub trait $trait {
                /// Whether the value keeps within the limit.
                fn $method(&self, limit: &Constraint) -> bool;
            }

            $(#[$doc])*
            #[inline]
            #[must_use]
            pub fn $name<T: $trait + ?Sized>(value: &T, parameter: &Parameter) -> bool {
                parameter.constraints.iter().all(|limit| !matches!(limit, $($pattern)*) || value.$method(limit))
            }

            impl<T: $trait> $trait for Option<T> {
                #[inline]
                fn $method(&self, limit: &Constraint) -> bool {
                    self.as_ref().is_none_or(|value| value.$method(limit))
                }
            }

            impl<T: $trait> $trait for Box<T> {
                #[inline]
                fn $method(&self, limit: &Constraint) -> bool {
                    (**self).$method(limit)
                }
            }
        )*
    };
}

checks! {
    /// `range(..)`
    in_range, Ranged::within, "`range` needs a number, and `{Self}` is none", "`range` takes integers and floats, and lists of them", (Constraint::Range(_)) => ();
    /// `length(..)`
    has_length, Long::long, "`length` needs a text, and `{Self}` is none", "`length` takes `String` and `&str`, and lists of them; `items` counts a list", (Constraint::Length(..)) => ();
    /// `items(..)`
    has_items, Counted::counted, "`items` needs a list, and `{Self}` is none", "`items` takes `Vec<T>`, `&[T]` and the other collections", (Constraint::Items(..)) => ();
    /// `pattern = ".."`
    matches_pattern, Patterned::matches, "`pattern` needs a text, and `{Self}` is none", "`pattern` takes `String` and `&str`, and lists of them", (Constraint::Pattern(_)) => ();
    /// `one_of(..)`
    is_one_of, Chosen::chosen, "`one_of` needs a text or a number, and `{Self}` is neither", "`one_of` takes `String`, `&str` and numbers, and lists of them", (Constraint::OneOf(_)) => ();
    /// `format = ".."`
    has_format, Formatted::formatted, "`format` needs a text, and `{Self}` is none", "`format` takes `String` and `&str`, and lists of them", (Constraint::Format(_)) => ();
}

macro_rules! numbers {
    ($($type:ty as $wide:ident),*) => {
        $(impl Ranged for $type {
            #[inline]
            fn within(&self, limit: &Constraint) -> bool {
                !matches!(limit, Constraint::Range(range) if !range.holds(Number::$wide((*self).into())))
            }
        }

        impl Chosen for $type {
            fn chosen(&self, limit: &Constraint) -> bool {
                let value = Number::$wide((*self).into());
                !matches!(limit, Constraint::OneOf(all) if !all.iter().any(|one| matches!(one, Literal::Number(n) if n.equals(value))))
            }
        })*
    };
}

numbers!(
    i8 as Int, i16 as Int, i32 as Int, i64 as Int, i128 as Int, u8 as Int, u16 as Int, u32 as Int, u64 as Int,
    std::num::NonZeroU8 as NonZero, std::num::NonZeroU16 as NonZero, std::num::NonZeroU32 as NonZero,
    std::num::NonZeroU64 as NonZero, std::num::NonZeroI32 as NonZero, std::num::NonZeroI64 as NonZero,
    f32 as Float, f64 as Float
);

impl Number {
    /// `NonZeroU8` and the like have no `Into<i128>` of their own.
    #[allow(non_snake_case)] // stands where a variant's name stands in `numbers!`
    #[inline]
    fn NonZero(value: NonZero) -> Self {
        Self::Int(value.0)
    }

    fn equals(self, other: Self) -> bool {
        self.compare(other) == Some(std::cmp::Ordering::Equal)
    }

    #[inline]
    #[allow(clippy::cast_precision_loss)] // a bound that mixes integers and floats is compared as the schema's is
    fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => (a as f64).partial_cmp(&b),
            (Self::Float(a), Self::Int(b)) => a.partial_cmp(&(b as f64)),
        }
    }
}

/// A number that is known not to be zero.
struct NonZero(i128);

macro_rules! non_zero {
    ($($type:ident),*) => {
        $(impl From<std::num::$type> for NonZero {
            fn from(value: std::num::$type) -> Self {
                Self(value.get().into())
            }
        })*
    };
}

non_zero!(NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroI32, NonZeroI64);

macro_rules! sizes {
    ($($type:ty),*) => {
        $(impl Ranged for $type {
            #[inline]
            fn within(&self, limit: &Constraint) -> bool {
                i64::try_from(*self).is_ok_and(|value| value.within(limit))
            }
        }

        impl Chosen for $type {
            fn chosen(&self, limit: &Constraint) -> bool {
                i64::try_from(*self).is_ok_and(|value| value.chosen(limit))
            }
        })*
    };
}

sizes!(usize, isize);

impl Range {
    #[inline]
    fn holds(&self, value: Number) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let low = self.min.is_none_or(|min| matches!(value.compare(min), Some(Greater | Equal)));
        let high = self.max.is_none_or(|max| match value.compare(max) {
            Some(Less) => true,
            Some(Equal) => !self.exclusive,
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
            fn long(&self, limit: &Constraint) -> bool {
                !matches!(limit, Constraint::Length(min, max) if !counts(self.chars().count(), *min, *max))
            }
        }

        impl Chosen for $type {
            fn chosen(&self, limit: &Constraint) -> bool {
                let text: &str = self;
                !matches!(limit, Constraint::OneOf(all) if !all.contains_text(text))
            }
        }

        impl Patterned for $type {
            fn matches(&self, limit: &Constraint) -> bool {
                let text: &str = self;
                !matches!(limit, Constraint::Pattern(pattern) if !holds("pattern", pattern, text))
            }
        }

        impl Formatted for $type {
            fn formatted(&self, limit: &Constraint) -> bool {
                let text: &str = self;
                !matches!(limit, Constraint::Format(format) if !holds("format", format, text))
            }
        })*
    };
}

texts!(String, str, &str, Text<'_>, std::borrow::Cow<'_, str>, Box<str>, std::sync::Arc<str>);

trait ContainsText {
    fn contains_text(&self, text: &str) -> bool;
}

impl ContainsText for [Literal] {
    fn contains_text(&self, text: &str) -> bool {
        self.iter().any(|one| matches!(one, Literal::Str(known) if *known == text))
    }
}

macro_rules! lists {
    ($($type:ident<T $(, $more:ident)?>),*) => {
        $(
            lists!(@each $type<T $(, $more)?>, Ranged::within, Long::long, Patterned::matches, Chosen::chosen, Formatted::formatted);
            impl<T $(, $more)?> Counted for $type<T $(, $more)?> {
                fn counted(&self, limit: &Constraint) -> bool {
                    !matches!(limit, Constraint::Items(min, max) if !counts(self.len(), *min, *max))
                }
            }
        )*
    };
    (@each $type:ident<T $(, $more:ident)?>, $($trait:ident::$method:ident),*) => {
        lists!(@one $type<T $(, $more)?>; $($trait::$method),*);
    };
    (@one $type:ident<T>; $($trait:ident::$method:ident),*) => {
        $(impl<T: $trait> $trait for $type<T> {
            fn $method(&self, limit: &Constraint) -> bool {
                self.iter().all(|value| value.$method(limit))
            }
        })*
    };
    (@one $type:ident<T, S>; $($trait:ident::$method:ident),*) => {
        $(impl<T: $trait, S> $trait for $type<T, S> {
            fn $method(&self, limit: &Constraint) -> bool {
                self.iter().all(|value| value.$method(limit))
            }
        })*
    };
}

use std::collections::{BTreeSet, HashSet, VecDeque};
lists!(Vec<T>, VecDeque<T>, BTreeSet<T>, HashSet<T, S>);

/// Whether a text satisfies one keyword, by the rules of the validator that holds the schema too.
fn holds(keyword: &'static str, argument: &'static str, text: &str) -> bool {
    type Cache = RwLock<HashMap<(&'static str, &'static str), Option<Arc<Validator>>>>;
    static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);

    let key = (keyword, argument);
    let known = CACHE.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    let validator = known.unwrap_or_else(|| {
        let schema = json!({ keyword: argument });
        let made = jsonschema::options().should_validate_formats(true).build(&schema).ok().map(Arc::new);
        CACHE.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(made).clone()
    });
    // A pattern that does not compile was reported when the tool was bound; nothing satisfies it.
    validator.is_some_and(|validator| validator.is_valid(&Value::from(text)))
}
