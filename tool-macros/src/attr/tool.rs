//! The options of `#[tool(..)]`.

use proc_macro2::{Ident, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Path, Result, Token, token};

use super::bounds::Number;
use super::grammar::{
    AttributeGrammar, NumberGrammar, PROMPT, RESOURCE, TOOL, TOOL_NUMBERS, TOOL_TIMES, choice,
    crate_path, flag, has_value, invalid_value, ungrouped, value,
};
use crate::errors::Errors;
use crate::tokens::{compact, mentions_self_value};

/// The kind of item that a function becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Tool,
    Prompt,
    Resource,
}

impl ItemKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// Returns the name of the attribute, which is also the noun.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// Returns the attribute as users write it.
    pub(crate) fn shown(self) -> &'static str {
        self.grammar().shown
    }

    fn grammar(self) -> &'static AttributeGrammar {
        match self {
            Self::Tool => &TOOL,
            Self::Prompt => &PROMPT,
            Self::Resource => &RESOURCE,
        }
    }
}

/// The options of a tool, a prompt or a resource, as they are written.
#[derive(Default)]
pub(crate) struct ItemOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) category: Option<&'static str>,
    pub(crate) modes: Option<Modes>,
    pub(crate) confirm: Option<Confirm>,
    pub(crate) times: Vec<TimeOption>,
    /// The options that take no value.
    pub(crate) flags: Vec<FlagOption>,
    pub(crate) on_duplicate: Option<&'static str>,
    pub(crate) duplicate_scope: Option<&'static str>,
    pub(crate) numbers: Vec<NumberOption>,
    pub(crate) guide: Option<LitStr>,
    /// The function that decides which runs see the tool.
    pub(crate) dynamic: Option<Expr>,
    /// The text of every error is the model's.
    pub(crate) shows_errors: bool,
    pub(crate) args: Option<Ident>,
    pub(crate) krate: Option<Path>,
    /// The URI or template of a resource.
    pub(crate) uri: Option<LitStr>,
    /// The MIME type of a resource.
    pub(crate) mime: Option<LitStr>,
}

/// An option without a value.
pub(crate) struct FlagOption {
    pub(crate) name: String,
    pub(crate) written: Path,
}

/// An option whose value is a time.
pub(crate) struct TimeOption {
    pub(crate) name: &'static str,
    pub(crate) milliseconds: u64,
    pub(crate) written: Path,
}

/// An option whose value is a number.
pub(crate) struct NumberOption {
    pub(crate) name: &'static str,
    pub(crate) value: u64,
    pub(crate) written: Path,
}

/// The modes in which a tool is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modes {
    Both,
    Voice,
    Text,
}

/// When a call needs the approval of a person.
pub(crate) enum Confirm {
    Always,
    Never,
    When(Expr),
    /// The instance decides for all calls.
    Instance(Expr),
}

impl ItemOptions {
    pub(crate) fn parse(kind: ItemKind, attr: &Attribute, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        kind.grammar()
            .read(attr, &mut Vec::new(), errors, |key, meta| {
                options.one(key, meta)
            });
        options
    }

    pub(crate) fn flag(&self, name: &str) -> Option<&Path> {
        self.flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| &flag.written)
    }

    pub(crate) fn time(&self, name: &str) -> Option<&TimeOption> {
        self.times.iter().find(|time| time.name == name)
    }

    fn one(&mut self, key: &str, meta: &ParseNestedMeta) -> Result<()> {
        match key {
            "name" => self.name = Some(value(meta, "\"...\"")?),
            "title" => self.title = Some(value(meta, "\"...\"")?),
            "description" => self.description = Some(value(meta, "\"...\"")?),
            "category" => {
                self.category = Some(chosen(meta, key, &["retrieval", "action", "utility"])?);
            }
            "modes" => self.modes = Some(modes(meta)?),
            "confirm" => self.confirm = Some(confirm(meta)?),
            "on_duplicate" => {
                self.on_duplicate = Some(chosen(
                    meta,
                    key,
                    &["allow", "reject", "replace", "confirm"],
                )?);
            }
            "duplicate_scope" => {
                self.duplicate_scope = Some(chosen(meta, key, &["name", "name_and_args"])?);
            }
            "guide" => self.guide = Some(value(meta, "\"guides/kb_search.md\"")?),
            "dynamic" => self.dynamic = Some(dynamic(meta)?),
            "errors" => self.shows_errors = chosen(meta, key, &["show", "mask"])? == "show",
            "args" => self.args = Some(value(meta, "SearchArgs")?),
            "crate" => self.krate = Some(crate_path(meta)?),
            "uri" => self.uri = Some(value(meta, "\"notes://{id}\"")?),
            "mime" => self.mime = Some(value(meta, "\"text/markdown\"")?),
            _ => self.time_number_or_flag(key, meta)?,
        }
        Ok(())
    }

    fn time_number_or_flag(&mut self, key: &str, meta: &ParseNestedMeta) -> Result<()> {
        if let Some(grammar) = TOOL_TIMES.iter().find(|time| time.name == key) {
            self.times.push(TimeOption {
                name: grammar.name,
                milliseconds: milliseconds(grammar.name, &value(meta, grammar.example)?)?,
                written: meta.path.clone(),
            });
            return Ok(());
        }
        if let Some(grammar) = TOOL_NUMBERS.iter().find(|number| number.name == key) {
            self.numbers.push(NumberOption {
                name: grammar.name,
                value: positive(meta, grammar)?,
                written: meta.path.clone(),
            });
            return Ok(());
        }
        flag(meta)?;
        self.flags.push(FlagOption {
            name: key.to_owned(),
            written: meta.path.clone(),
        });
        Ok(())
    }
}

fn chosen(meta: &ParseNestedMeta, key: &str, known: &[&'static str]) -> Result<&'static str> {
    let example = known
        .first()
        .map(|word| format!("\"{word}\""))
        .unwrap_or_default();
    let written: LitStr = value(meta, &example)?;
    let what = if key == "category" {
        key.to_owned()
    } else {
        format!("`{key}` value")
    };
    choice(&what, &written, known)
}

/// Parses `modes("voice", "text")` or `modes = "voice"`.
fn modes(meta: &ParseNestedMeta) -> Result<Modes> {
    let mut found = Vec::new();
    if has_value(meta) {
        found.push(value::<LitStr>(meta, "\"voice\"")?);
    } else {
        found.extend(listed_modes(meta)?);
    }
    let mut voice = false;
    let mut text = false;
    for mode in &found {
        if choice("mode", mode, &["voice", "text"])? == "voice" {
            voice = true;
        } else {
            text = true;
        }
    }
    match (voice, text) {
        (true, true) => Ok(Modes::Both),
        (true, false) => Ok(Modes::Voice),
        (false, true) => Ok(Modes::Text),
        (false, false) => Err(Error::new_spanned(
            &meta.path,
            "`modes` lists no mode\nhelp: write `modes(\"voice\")`, or remove `modes`",
        )),
    }
}

fn listed_modes(meta: &ParseNestedMeta) -> Result<Punctuated<LitStr, Token![,]>> {
    let help = "help: write `modes(\"voice\", \"text\")`";
    if !meta.input.peek(token::Paren) {
        return Err(Error::new_spanned(
            &meta.path,
            format!("`modes` needs a list in parentheses\n{help}"),
        ));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let written: TokenStream = content.parse()?;
    let parsed = Punctuated::parse_terminated.parse2(written.clone());
    parsed.map_err(|_| {
        Error::new_spanned(
            &written,
            format!("invalid list `{}` for `modes`\n{help}", compact(&written)),
        )
    })
}

/// Parses `confirm`, `confirm = true`, `confirm = function` or `confirm = self.setting`.
fn confirm(meta: &ParseNestedMeta) -> Result<Confirm> {
    if !has_value(meta) {
        flag(meta)?;
        return Ok(Confirm::Always);
    }
    let expr: Expr = value(meta, "needs_approval")?;
    match ungrouped(&expr) {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(always),
            ..
        }) if always.value => Ok(Confirm::Always),
        Expr::Lit(ExprLit {
            lit: Lit::Bool(_), ..
        }) => Ok(Confirm::Never),
        Expr::Lit(_) => {
            let message = "`confirm` takes a function of the arguments\nhelp: write `confirm`, or `confirm = function` with `fn function(args: &Args) -> bool`";
            Err(Error::new_spanned(&expr, message))
        }
        _ if mentions_self_value(&expr) => Ok(Confirm::Instance(expr)),
        _ => Ok(Confirm::When(expr)),
    }
}

/// Parses `dynamic = function`.
fn dynamic(meta: &ParseNestedMeta) -> Result<Expr> {
    let expr: Expr = value(meta, "function")?;
    if matches!(ungrouped(&expr), Expr::Lit(_)) || mentions_self_value(&expr) {
        let message = "`dynamic` takes a function of the run context\nhelp: write `dynamic = function` with `fn function(ctx: &RunContext) -> bool`";
        return Err(Error::new_spanned(&expr, message));
    }
    Ok(expr)
}

/// Parses `800ms`, `5s` or `2m`, the value of an option.
pub(crate) fn milliseconds(name: &str, text: &LitStr) -> Result<u64> {
    let written = text.value();
    let digits = written.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match written.get(digits.len()..).map(str::trim) {
        Some("ms") => Some(1),
        Some("s") => Some(1_000),
        Some("m") => Some(60_000),
        _ => None,
    };
    let count = digits.parse::<u64>().ok().filter(|count| *count > 0);
    count.zip(factor).and_then(|(count, factor)| count.checked_mul(factor)).ok_or_else(|| {
        let message = format!(
            "invalid {name} `{written}`\nhelp: write a whole number and a unit: `\"800ms\"`, `\"5s\"` or `\"2m\"`"
        );
        Error::new_spanned(text, message)
    })
}

fn positive(meta: &ParseNestedMeta, grammar: &NumberGrammar) -> Result<u64> {
    let expr: Expr = value(meta, grammar.example)?;
    let refused = || invalid_value(meta, &expr, grammar.example);
    match Number::of(&expr) {
        Some(Number::Int(0)) => Err(Error::new_spanned(&expr, grammar.zero)),
        Some(Number::Int(number)) => u64::try_from(number)
            .ok()
            .filter(|number| *number <= grammar.most)
            .ok_or_else(refused),
        _ => Err(refused()),
    }
}
