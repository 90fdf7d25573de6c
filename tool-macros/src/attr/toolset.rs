//! The options of `#[toolset(...)]`.

use proc_macro2::Ident;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, LitBool, LitStr, Path, Result, token};

use super::{Grammar, flag, has_value, value, value_by};
use crate::errors::Errors;

pub(super) const GRAMMAR: Grammar = Grammar {
    shown: "#[toolset]",
    known: &["name", "title", "description", "prefix", "auth", "crate", "discover", "part", "parts"],
    repeatable: &[],
};

#[derive(Default)]
pub(crate) struct ToolsetOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) prefix: Option<Prefix>,
    pub(crate) auth: Option<Expr>,
    pub(crate) krate: Option<Path>,
    pub(crate) discover: Option<LitBool>,
    pub(crate) part: Option<Part>,
    pub(crate) parts: Vec<Ident>,
    /// Every option that was written, with its place.
    pub(crate) written: Vec<Path>,
}

pub(crate) enum Prefix {
    /// The toolset's own name.
    Name,
    Text(LitStr),
}

pub(crate) enum Part {
    Unnamed(Path),
    Named(Ident),
}

impl ToolsetOptions {
    pub(crate) fn parse(attr: &Attribute, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        GRAMMAR.read(attr, &mut Vec::new(), errors, |key, meta| {
            options.written.push(meta.path.clone());
            options.one(key, meta)
        });
        options
    }

    fn one(&mut self, key: &str, meta: &ParseNestedMeta) -> Result<()> {
        match key {
            "name" => self.name = Some(value(meta, "\"...\"")?),
            "title" => self.title = Some(value(meta, "\"...\"")?),
            "description" => self.description = Some(value(meta, "\"...\"")?),
            "prefix" if has_value(meta) => self.prefix = Some(Prefix::Text(value(meta, "\"...\"")?)),
            "prefix" => {
                flag(meta)?;
                self.prefix = Some(Prefix::Name);
            }
            "auth" => self.auth = Some(value(meta, "Auth::api_key()")?),
            "crate" => self.krate = Some(crate_path(meta)?),
            "discover" => self.discover = Some(value(meta, "false")?),
            "part" if has_value(meta) => self.part = Some(Part::Named(value(meta, "name")?)),
            "part" => {
                flag(meta)?;
                self.part = Some(Part::Unnamed(meta.path.clone()));
            }
            _ if !meta.input.peek(token::Paren) => {
                let message = "`parts` needs its names in parentheses\nhelp: write `parts(admin)`";
                return Err(Error::new_spanned(&meta.path, message));
            }
            _ => meta.parse_nested_meta(|part| {
                self.parts.push(part.path.require_ident()?.clone());
                Ok(())
            })?,
        }
        Ok(())
    }
}

/// `crate = path`, where the path may begin with a keyword.
pub(crate) fn crate_path(meta: &ParseNestedMeta) -> Result<Path> {
    value_by(meta, "::path::to::tool_core", Path::parse_mod_style)
}
