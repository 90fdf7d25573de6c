//! `#[serde(..)]` and `#[schemars(..)]` on a parameter.
//!
//! The macro handles the common items itself and leaves the others to the two derives.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, ExprPath, LitStr, Path, Result, Token};

use super::arg::{ArgOptions, DefaultOption};
use super::grammar::is;
use crate::errors::Errors;
use crate::names::suggestion;

/// The items that serde takes on a field. The macro refuses others itself: an error of the derive
/// would name a generated struct.
const SERDE: &[&str] = &[
    "rename",
    "alias",
    "default",
    "flatten",
    "with",
    "deserialize_with",
    "serialize_with",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "borrow",
    "bound",
    "getter",
];

pub(crate) fn is_foreign(attr: &Attribute) -> bool {
    is(attr, "serde") || is(attr, "schemars")
}

/// Reads the attributes of a parameter. Returns `None` if one item is left to the derives: then
/// they read all of them.
pub(crate) fn parse<'a>(
    attrs: impl Iterator<Item = &'a Attribute>,
    errors: &mut Errors,
) -> Option<ArgOptions> {
    let mut options = ArgOptions::default();
    let mut understood = true;
    for attr in attrs {
        let parsed = attr.parse_nested_meta(|meta| {
            understood &= if is(attr, "serde") {
                serde(&mut options, &meta)?
            } else {
                schemars(&mut options, &meta)?
            };
            if !understood {
                skip(&meta)?;
            }
            Ok(())
        });
        errors.take(parsed);
    }
    understood.then_some(options)
}

fn serde(options: &mut ArgOptions, meta: &ParseNestedMeta) -> Result<bool> {
    if meta.path.is_ident("rename") && meta.input.peek(Token![=]) {
        options.name = Some(meta.value()?.parse()?);
    } else if meta.path.is_ident("alias") {
        options.aliases.push(meta.value()?.parse()?);
    } else if meta.path.is_ident("default") {
        options.default = Some(if meta.input.peek(Token![=]) {
            called(&meta.value()?.parse()?)?
        } else {
            DefaultOption::OfType
        });
    } else if meta.path.is_ident("flatten") {
        options.flatten = Some(meta.path.clone());
    } else {
        let key = meta
            .path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        if !SERDE.contains(&key.as_str()) {
            let help = suggestion(&key, SERDE);
            return Err(Error::new_spanned(
                &meta.path,
                format!("unknown `#[serde]` option `{key}`\n{help}"),
            ));
        }
        return Ok(false);
    }
    Ok(true)
}

fn schemars(options: &mut ArgOptions, meta: &ParseNestedMeta) -> Result<bool> {
    if meta.path.is_ident("rename") {
        options.name = Some(meta.value()?.parse()?);
    } else if meta.path.is_ident("description") {
        options.description = Some(meta.value()?.parse()?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Reads `default = "path"` as a call of the path.
fn called(text: &LitStr) -> Result<DefaultOption> {
    let path: Path = text.parse().map_err(|_| {
        Error::new_spanned(
            text,
            "`default` takes the path of a function\nhelp: write `default = \"path::to::function\"`",
        )
    })?;
    let func = Box::new(Expr::Path(ExprPath {
        attrs: Vec::new(),
        qself: None,
        path,
    }));
    let call = syn::ExprCall {
        attrs: Vec::new(),
        func,
        paren_token: syn::token::Paren::default(),
        args: syn::punctuated::Punctuated::new(),
    };
    Ok(DefaultOption::Value(Expr::Call(call)))
}

fn skip(meta: &ParseNestedMeta) -> Result<()> {
    while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
        meta.input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}
