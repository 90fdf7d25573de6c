//! One parameter: its name, its words, its default and its limits.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, Lit, LitStr, PatType, Path, Type};

use super::Text;
use super::lend::Lend;
use crate::attr::arg::{ArgOptions, Constraint, DefaultOption, Literal};
use crate::attr::foreign;
use crate::attr::{is, ungrouped};
use crate::docs;
use crate::errors::Errors;
use crate::tokens::mentions;

/// A parameter that the model fills in.
pub(crate) struct Argument<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) lend: Lend<'a>,
    /// In JSON.
    pub(crate) name: String,
    pub(crate) renamed: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) description: Option<Text>,
    pub(crate) default: Default,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) flatten: Option<Path>,
    /// `#[serde]` and `#[schemars]` attributes that only the derives understand.
    pub(crate) derived: Vec<&'a Attribute>,
    /// Every `#[arg]` option that was written.
    pub(crate) written: Vec<Path>,
}

/// What stands in for an absent parameter.
pub(crate) enum Default {
    /// Nothing, unless the type itself has something (`Option`).
    None,
    OfType,
    Literal(Expr, Literal),
    Computed(Expr),
    /// An expression over `self`.
    Instance(Expr),
}

impl Default {
    fn of(option: Option<DefaultOption>) -> Self {
        match option {
            None => Self::None,
            Some(DefaultOption::OfType) => Self::OfType,
            Some(DefaultOption::Value(expr)) => match Literal::of(&expr) {
                Some(literal) => Self::Literal(expr, literal),
                None if mentions(&expr, "self") => Self::Instance(expr),
                None => Self::Computed(expr),
            },
        }
    }
}

impl<'a> Argument<'a> {
    /// `None` where its type cannot be one; the mistake is in `errors` then.
    pub(crate) fn lower(
        ident: &'a Ident,
        typed: &'a PatType,
        described: Option<&str>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let mut options = ArgOptions::default();
        for attr in typed.attrs.iter().filter(|attr| is(attr, "arg")) {
            options.parse(attr, errors);
        }
        let derived = merge_foreign(&mut options, &typed.attrs, errors);
        let lend = errors.take(Lend::of(&typed.ty))?;
        let name = options.name.as_ref().map_or_else(|| ident.unraw().to_string(), LitStr::value);
        Some(Self {
            ident,
            ty: &typed.ty,
            lend,
            name,
            renamed: options.name,
            aliases: options.aliases,
            description: description(options.description, &typed.attrs, described),
            default: Default::of(options.default),
            constraints: options.constraints,
            examples: options.examples,
            flatten: options.flatten,
            derived,
            written: options.written,
        })
    }

    /// The option as it was written in `#[arg]`.
    pub(crate) fn option(&self, name: &str) -> Option<&Path> {
        self.written.iter().find(|path| path.is_ident(name))
    }
}

/// `#[arg]` wins over `#[serde]`, where both speak.
fn merge_foreign<'a>(options: &mut ArgOptions, attrs: &'a [Attribute], errors: &mut Errors) -> Vec<&'a Attribute> {
    let foreign = || attrs.iter().filter(|attr| foreign::is_foreign(attr));
    let Some(said) = foreign::parse(foreign(), errors) else {
        return foreign().collect();
    };
    options.name = options.name.take().or(said.name);
    options.description = options.description.take().or(said.description);
    options.default = options.default.take().or(said.default);
    options.flatten = options.flatten.take().or(said.flatten);
    options.aliases.extend(said.aliases);
    Vec::new()
}

/// The attribute, else the parameter's own docs, else the function's list.
pub(crate) fn description(explicit: Option<Expr>, attrs: &[Attribute], listed: Option<&str>) -> Option<Text> {
    if let Some(expr) = explicit {
        return Some(made(expr));
    }
    let own = docs::text(attrs);
    let words = if own.is_empty() { listed.unwrap_or_default().to_owned() } else { own };
    (!words.is_empty()).then_some(Text::Words(words))
}

/// A literal is as good as words; anything else stays an expression.
pub(crate) fn made(expr: Expr) -> Text {
    match ungrouped(&expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Text::Words(text.value()),
            _ => Text::Made(Box::new(expr)),
        },
        _ => Text::Made(Box::new(expr)),
    }
}

/// Whether a parameter is injected: it says so, or its type is `RunContext`.
pub(crate) fn is_context(typed: &PatType) -> bool {
    typed.attrs.iter().any(|attr| is(attr, "context")) || is_run_context(&typed.ty)
}

fn is_run_context(ty: &Type) -> bool {
    match super::lend::ungrouped(ty) {
        Type::Reference(reference) => is_run_context(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| segment.ident == "RunContext"),
        _ => false,
    }
}
