//! The options of `#[toolset(..)]`.

use proc_macro2::Ident;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, LitBool, LitStr, Path, Result, token};

use super::grammar::{TOOLSET, crate_path, flag, has_value, value};
use crate::errors::Errors;

#[derive(Default)]
pub(crate) struct ToolsetOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) prefix: Option<PrefixOption>,
    pub(crate) auth: Option<Expr>,
    pub(crate) krate: Option<Path>,
    pub(crate) discover: Option<LitBool>,
    pub(crate) part: Option<PartOption>,
    pub(crate) parts: Vec<Ident>,
    /// The path of every option that was given.
    pub(crate) written: Vec<Path>,
}

/// `prefix` or `prefix = ".."`.
pub(crate) enum PrefixOption {
    /// The name of the toolset.
    Name,
    Text(LitStr),
}

/// `part` or `part = name`.
pub(crate) enum PartOption {
    Unnamed(Path),
    Named(Ident),
}

impl ToolsetOptions {
    pub(crate) fn parse(attr: &Attribute, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        TOOLSET.read(attr, &mut Vec::new(), errors, |key, meta| {
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
            "prefix" if has_value(meta) => {
                self.prefix = Some(PrefixOption::Text(value(meta, "\"...\"")?));
            }
            "prefix" => {
                flag(meta)?;
                self.prefix = Some(PrefixOption::Name);
            }
            "auth" => self.auth = Some(value(meta, "Auth::ApiKey")?),
            "crate" => self.krate = Some(crate_path(meta)?),
            "discover" => self.discover = Some(value(meta, "false")?),
            "part" if has_value(meta) => self.part = Some(PartOption::Named(value(meta, "name")?)),
            "part" => {
                flag(meta)?;
                self.part = Some(PartOption::Unnamed(meta.path.clone()));
            }
            _ if !meta.input.peek(token::Paren) => {
                let message = "`parts` needs a list in parentheses\nhelp: write `parts(admin)`";
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
