//! What the spans of a wrapped callable are called. S3

use super::Spans;
use crate::__private::Registration;
use crate::name::Name;
use std::any::{TypeId, type_name};
use std::borrow::Cow;

/// What is known of a callable's name where it is wrapped.
#[derive(Default)]
pub struct Label {
    name: Option<Name>,
    /// The tool that it is, where that is known from elsewhere than its type. 0 is unknown.
    site: u32,
}

impl Label {
    /// The name that was given.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Some(name.into().into()), site: 0 }
    }

    /// Of a callable that goes into a list, where it is not more than its signature.
    pub fn of<F: 'static>(_: &F) -> Self {
        let Spans { name, site } = Self::default().spans::<F>();
        Self { name: Some(name), site }
    }

    /// S3: the name that was given, the tool's, the function's, the type's.
    pub(super) fn spans<F: 'static>(self) -> Spans {
        let tool = Registration::function_named(TypeId::of::<F>());
        let site = if self.site == 0 { tool.map_or(0, |tool| tool.1) } else { self.site };
        let of_type = || tool.map_or_else(|| name_of(type_name::<F>(), size_of::<F>() == 0), |tool| tool.0.into());
        Spans { name: self.name.unwrap_or_else(|| of_type().into()), site }
    }
}

/// A callable's name, by its type's. A function's item has no size, and is called as the function is.
fn name_of(full: &'static str, is_item: bool) -> Cow<'static, str> {
    let (before, last) = last_segment(full);
    match last.split('<').next() {
        Some(name) if is_item && !last.starts_with('{') && !name.is_empty() => name.into(),
        _ if last.starts_with('{') => of_closure(before),
        _ => shortened(full).into(),
    }
}

/// The path before the last segment, and that: what stands in brackets is not looked at.
fn last_segment(path: &str) -> (&str, &str) {
    let (mut depth, mut after, mut found) = (0_usize, None, None);
    for (at, letter) in path.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if path.get(..at).is_some_and(|before| before.ends_with('-')) => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && after == Some(at) => found = Some(at),
            ':' if depth == 0 => after = Some(at + 1),
            _ => {}
        }
    }
    let parts = found.and_then(|at| path.get(..at.checked_sub(1)?).zip(path.get(at + 1..)));
    parts.unwrap_or(("", path))
}

/// Named after the function that it stands in.
fn of_closure(mut path: &str) -> Cow<'static, str> {
    loop {
        let (before, last) = last_segment(path);
        if !last.starts_with('{') {
            let name = last.split('<').next().unwrap_or(last);
            return format!("{name}::closure").into();
        }
        path = before;
    }
}

/// Without the modules: `Box<dyn Fn(String) -> u32>`.
fn shortened(full: &str) -> String {
    let mut short = String::new();
    let mut path = 0;
    for letter in full.chars() {
        short.push(letter);
        if short.ends_with("::") {
            short.truncate(path);
        } else if !(letter.is_alphanumeric() || letter == '_' || letter == ':') {
            path = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    // S3
    #[test]
    fn a_name_is_the_functions_and_else_the_types() {
        for (full, is_item, expected) in [
            ("shop::tools::search", true, "search"),
            ("shop::tools::search<alloc::string::String>", true, "search"),
            ("<shop::Desk<u8> as shop::Finds>::find", true, "find"),
            ("shop::Desk<fn(a::B) -> c::D>::find", true, "find"),
            ("shop::tools::search::{{closure}}", true, "search::closure"),
            ("shop::tools::search<a::B>::{{closure}}::{{closure}}", false, "search::closure"),
            ("fn(alloc::string::String, &str) -> u32", false, "fn(String, &str) -> u32"),
            ("alloc::boxed::Box<dyn core::ops::function::Fn(u8) -> shop::Fruit>", false, "Box<dyn Fn(u8) -> Fruit>"),
            ("search", true, "search"),
        ] {
            assert_eq!(name_of(full, is_item), expected, "{full}");
        }
    }
}
