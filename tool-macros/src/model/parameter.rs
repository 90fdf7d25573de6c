//! A parameter that the model provides: its name, description, default and limits.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, Lit, LitStr, PatType, Path, Type};

use super::passing::{ParamPassing, PassingForm};
use super::type_names::TypeNames;
use crate::attr::arg::{ArgOptions, Constraint, DefaultOption, Literal};
use crate::attr::foreign;
use crate::attr::grammar::{is, ungrouped};
use crate::docs::{self, DocText};
use crate::errors::Errors;
use crate::tokens::mentions_self_value;

/// A text that the model reads.
#[derive(Clone)]
pub(crate) enum ModelText {
    Literal(String),
    /// A constant expression, from `description = EXPR`.
    Expr(Box<Expr>),
    /// Docs with a macro or a condition, which only the compiler can join.
    Docs {
        text: DocText,
        separator: &'static str,
    },
}

impl ModelText {
    /// Returns the text of docs, whose parts are joined by `separator`, or `None` if there is
    /// nothing to read.
    pub(crate) fn of_docs(text: &DocText, separator: &'static str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let joined = text.literal(separator).map(Self::Literal);
        Some(joined.unwrap_or_else(|| Self::Docs {
            text: text.clone(),
            separator,
        }))
    }
}

/// A parameter that the model provides.
pub(crate) struct Argument<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) names: TypeNames,
    pub(crate) passing: ParamPassing<'a>,
    /// The name in JSON.
    pub(crate) name: String,
    pub(crate) renamed: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) description: Option<ModelText>,
    pub(crate) default: DefaultValue,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) flatten: Option<Path>,
    /// The function that completes the argument of a prompt or resource.
    pub(crate) complete: Option<Expr>,
    /// The `#[serde]` and `#[schemars]` attributes that are left to the derives.
    pub(crate) derived: Vec<&'a Attribute>,
    /// The path of every `#[arg]` option that was given.
    pub(crate) written: Vec<Path>,
}

/// The value of an absent parameter.
pub(crate) enum DefaultValue {
    /// The parameter is required, unless its type accepts absence (`Option`).
    None,
    /// The `Default` of the type.
    OfType,
    Literal(Expr, Literal),
    Computed(Expr),
    /// An expression over `self`.
    Instance(Expr),
}

impl DefaultValue {
    /// Returns true where the instance decides the default.
    pub(crate) fn is_of_instance(&self) -> bool {
        matches!(self, Self::Instance(_))
    }

    fn of(option: Option<DefaultOption>, passing: ParamPassing) -> Self {
        match option {
            None => Self::None,
            // The `None` of a borrowed type is what an absent parameter is anyway. Its own type would
            // not be known, as it is stored as another one.
            Some(DefaultOption::Value(expr)) if passing.optional && is_none(&expr) => Self::None,
            Some(DefaultOption::OfType) => Self::OfType,
            Some(DefaultOption::Value(expr)) => match Literal::of(&expr) {
                Some(literal) => Self::Literal(expr, literal),
                None if mentions_self_value(&expr) => Self::Instance(expr),
                None => Self::Computed(expr),
            },
        }
    }
}

impl<'a> Argument<'a> {
    /// Returns `None`, and reports it, if the type cannot be that of a parameter.
    pub(crate) fn lower(
        ident: &'a Ident,
        typed: &'a PatType,
        described: Option<&DocText>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let mut options = ArgOptions::default();
        for attr in typed.attrs.iter().filter(|attr| is(attr, "arg")) {
            options.parse(attr, errors);
        }
        let derived = merge_foreign(&mut options, &typed.attrs, errors);
        let passing = errors.take(ParamPassing::of(&typed.ty))?;
        let name = options
            .name
            .as_ref()
            .map_or_else(|| ident.unraw().to_string(), LitStr::value);
        Some(Self {
            ident,
            ty: &typed.ty,
            names: type_names(passing.form),
            passing,
            name,
            renamed: options.name,
            aliases: options.aliases,
            description: description(options.description, &typed.attrs, described),
            default: DefaultValue::of(options.default, passing),
            constraints: options.constraints,
            examples: options.examples,
            flatten: options.flatten,
            complete: options.complete,
            derived,
            written: options.written,
        })
    }

    /// Returns the path of an option that was given in `#[arg]`.
    pub(crate) fn option(&self, name: &str) -> Option<&Path> {
        self.written.iter().find(|path| path.is_ident(name))
    }
}

/// Returns whether the expression is the path `None` or `Option::None`.
fn is_none(expr: &Expr) -> bool {
    let Expr::Path(path) = ungrouped(expr) else {
        return false;
    };
    let mut segments = path.path.segments.iter().rev();
    let is_named_none = segments.next().is_some_and(|last| last.ident == "None");
    let is_of_option = segments
        .next()
        .is_none_or(|parent| parent.ident == "Option");
    is_named_none && is_of_option
}

fn type_names(form: PassingForm) -> TypeNames {
    match form {
        PassingForm::Owned(ty) | PassingForm::Ref(ty) | PassingForm::Slice(ty) => TypeNames::of(ty),
        PassingForm::Str | PassingForm::Cow | PassingForm::StrSlice | PassingForm::StrVec => {
            TypeNames::Plain
        }
    }
}

/// Adds what `#[serde]` and `#[schemars]` say. `#[arg]` wins. Returns the attributes that are left
/// to the derives.
fn merge_foreign<'a>(
    options: &mut ArgOptions,
    attrs: &'a [Attribute],
    errors: &mut Errors,
) -> Vec<&'a Attribute> {
    let foreign = || attrs.iter().filter(|attr| foreign::is_foreign(attr));
    let Some(parsed) = foreign::parse(foreign(), errors) else {
        return foreign().collect();
    };
    options.name = options.name.take().or(parsed.name);
    options.description = options.description.take().or(parsed.description);
    options.default = options.default.take().or(parsed.default);
    options.flatten = options.flatten.take().or(parsed.flatten);
    options.aliases.extend(parsed.aliases);
    Vec::new()
}

/// Returns the description: from the attribute, else from the parameter's docs, else from the
/// function's list.
fn description(
    explicit: Option<Expr>,
    attrs: &[Attribute],
    listed: Option<&DocText>,
) -> Option<ModelText> {
    if let Some(expr) = explicit {
        return Some(model_text(expr));
    }
    let documented = ModelText::of_docs(&docs::read(attrs).description, "\n");
    documented.or_else(|| ModelText::of_docs(listed?, " "))
}

/// Converts an expression, reading a string literal.
pub(super) fn model_text(expr: Expr) -> ModelText {
    match ungrouped(&expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => ModelText::Literal(text.value()),
            _ => ModelText::Expr(Box::new(expr)),
        },
        _ => ModelText::Expr(Box::new(expr)),
    }
}

/// Returns whether the run provides the parameter: it bears `#[context]`, or its type is
/// `RunContext`.
pub(super) fn is_context(typed: &PatType) -> bool {
    typed.attrs.iter().any(|attr| is(attr, "context")) || is_run_context(&typed.ty)
}

fn is_run_context(ty: &Type) -> bool {
    match super::passing::ungrouped_type(ty) {
        Type::Reference(reference) => is_run_context(&reference.elem),
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|segment| segment.ident == "RunContext"),
        _ => false,
    }
}
