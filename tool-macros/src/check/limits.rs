//! The rules for a parameter's limits, which have to suit its type and its default.

use syn::Type;

use crate::attr::arg::{Constraint, Literal};
use crate::attr::bounds::Number;
use crate::errors::Errors;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::{NUMBERS, argument_of, number_type, ungrouped_type};
use crate::tokens::compact;

/// The kind of a type, by its name. It improves messages only: the trait bounds of the generated
/// code decide.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Number,
    Bool,
    /// A list and the kind of its elements.
    List(Element),
    Unknown,
}

#[derive(Clone, Copy, PartialEq)]
enum Element {
    Text,
    Number,
    Other,
}

fn kind(ty: &Type) -> Kind {
    match ungrouped_type(ty) {
        Type::Reference(reference) => kind(&reference.elem),
        Type::Slice(slice) => Kind::List(element(&slice.elem)),
        Type::Array(array) => Kind::List(element(&array.elem)),
        Type::Path(path) => {
            for list in ["Vec", "VecDeque", "HashSet", "BTreeSet"] {
                if let Some(inner) = argument_of(&path.path, list) {
                    return Kind::List(element(inner));
                }
            }
            if let Some(inner) =
                argument_of(&path.path, "Option").or_else(|| argument_of(&path.path, "Cow"))
            {
                return kind(inner);
            }
            match path
                .path
                .segments
                .last()
                .map(|last| last.ident.to_string())
                .as_deref()
            {
                Some("String" | "str") => Kind::Text,
                Some("bool") => Kind::Bool,
                Some(name) if NUMBERS.contains(&name) => Kind::Number,
                _ => Kind::Unknown,
            }
        }
        _ => Kind::Unknown,
    }
}

fn element(ty: &Type) -> Element {
    match kind(ty) {
        Kind::Text => Element::Text,
        Kind::Number => Element::Number,
        _ => Element::Other,
    }
}

/// Refuses limits that do not suit the type. On a list, `items` limits the list and the others
/// limit its elements.
pub(super) fn fit_the_type(argument: &Argument, errors: &mut Errors) {
    let kind = kind(argument.ty);
    for constraint in &argument.constraints {
        let (needs, fits) = match constraint {
            Constraint::Range(_) => (
                "a number",
                matches!(
                    kind,
                    Kind::Number | Kind::List(Element::Number | Element::Other)
                ),
            ),
            Constraint::Items(_) => ("a list", matches!(kind, Kind::List(_))),
            Constraint::OneOf(values) => {
                one_of_fits(argument.ty, kind, values, errors);
                ("text or a number", kind != Kind::Bool)
            }
            _ => (
                "text",
                matches!(
                    kind,
                    Kind::Text | Kind::List(Element::Text | Element::Other)
                ),
            ),
        };
        if let Constraint::Range(range) = constraint
            && let Some(path) = range
                .constant()
                .filter(|_| number_type(argument.ty).is_none())
        {
            let shown = compact(argument.ty);
            let message = format!(
                "the type of a constant bound is not known for `{shown}`\nhelp: write the number itself"
            );
            errors.report(path, message);
        }
        if !fits && kind != Kind::Unknown {
            let name = constraint.name();
            let shown = compact(argument.ty);
            let message = format!("`{name}` needs {needs}; `{shown}` {}", alternatives(kind));
            errors.report(argument.ty, message);
        }
    }
}

fn alternatives(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => {
            "has `length`, `pattern`, `one_of`\nhelp: `length(..)` limits how long a text is"
        }
        Kind::Number => "has `range`, `one_of`\nhelp: `range(..)` limits how large a number is",
        Kind::List(Element::Text) => {
            "has `items`, and `length`, `pattern`, `one_of` for each element\nhelp: `items(..)` limits how many there are"
        }
        Kind::List(Element::Number) => {
            "has `items`, and `range`, `one_of` for each element\nhelp: `items(..)` limits how many there are"
        }
        Kind::List(Element::Other) => "has `items`\nhelp: `items(..)` limits how many there are",
        Kind::Bool | Kind::Unknown => "takes no limits\nhelp: remove the option",
    }
}

/// Refuses literals in `one_of` that the type cannot have.
fn one_of_fits(ty: &Type, kind: Kind, values: &[syn::Expr], errors: &mut Errors) {
    for value in values {
        let wanted = match (kind, Literal::of(value)) {
            (Kind::Text | Kind::List(Element::Text), Some(Literal::Number(_))) => "text",
            (Kind::Number | Kind::List(Element::Number), Some(Literal::Text(_))) => "a number",
            _ => continue,
        };
        not_valid_for(value, ty, wanted, errors);
    }
}

/// Refuses literals of another kind than the type as default or example.
pub(super) fn admit_the_literals(argument: &Argument, errors: &mut Errors) {
    let kind = kind(argument.ty);
    let default = match &argument.default {
        DefaultValue::Literal(expr, _) => Some(expr),
        _ => None,
    };
    for value in default.into_iter().chain(&argument.examples) {
        let wanted = match (kind, Literal::of(value)) {
            (Kind::Text, Some(Literal::Number(_) | Literal::Bool(_))) => "text in quotes",
            (Kind::Number, Some(Literal::Text(_) | Literal::Bool(_))) => "a number",
            (Kind::Bool, Some(Literal::Text(_) | Literal::Number(_))) => "`true` or `false`",
            (Kind::List(_), Some(_)) => "a list, such as `vec![..]`",
            _ => continue,
        };
        not_valid_for(value, argument.ty, wanted, errors);
    }
}

fn not_valid_for(value: &syn::Expr, ty: &Type, wanted: &str, errors: &mut Errors) {
    let shown = compact(value);
    let ty = compact(ty);
    errors.report(
        value,
        format!("`{shown}` is not a valid `{ty}`\nhelp: write {wanted}"),
    );
}

/// Refuses a default that its own limits refuse.
pub(super) fn admit_the_default(argument: &Argument, errors: &mut Errors) {
    let DefaultValue::Literal(expr, literal) = &argument.default else {
        return;
    };
    let shown = compact(expr);
    for constraint in &argument.constraints {
        match (constraint, literal) {
            (Constraint::Range(range), Literal::Number(number)) if !range.contains(*number) => {
                outside(&shown, &range.written, "", errors);
            }
            (Constraint::Length(size), Literal::Text(text))
                if !size.contains(text.chars().count() as u64) =>
            {
                outside(&shown, &size.written, ", by its length", errors);
            }
            (Constraint::OneOf(values), _) if !values.iter().any(|value| equal(value, literal)) => {
                let all = crate::names::listed(
                    values
                        .iter()
                        .map(compact)
                        .collect::<Vec<_>>()
                        .iter()
                        .map(String::as_str),
                );
                errors.report(
                    expr,
                    format!(
                        "the default `{shown}` is not one of {all}\nhelp: change the default, or add it to `one_of`"
                    ),
                );
            }
            _ => {}
        }
    }
}

fn outside(shown: &str, written: &proc_macro2::TokenStream, how: &str, errors: &mut Errors) {
    let range = compact(written);
    errors.report(
        written,
        format!("the default `{shown}` lies outside `{range}`{how}\nhelp: change the default or the limit"),
    );
}

fn equal(value: &syn::Expr, literal: &Literal) -> bool {
    let same_number =
        |a: Number, b: Number| a.partial_cmp(&b).is_some_and(std::cmp::Ordering::is_eq);
    match (Literal::of(value), literal) {
        (Some(Literal::Number(a)), Literal::Number(b)) => same_number(a, *b),
        (Some(other), literal) => other == *literal,
        (None, _) => false,
    }
}
