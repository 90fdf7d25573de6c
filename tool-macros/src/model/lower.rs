//! From syntax to model. What does not fit is reported and left out, so that the rest is still looked at.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, Meta, Pat, PatType, Path, Type};

use super::lend::ungrouped;
use super::parameter::{Argument, is_context, made};
use super::{Agent, Name, Slot, Text, Tool, Toolset};
use crate::attr::agent::{AgentOptions, is_agent};
use crate::attr::is;
use crate::attr::tool::ToolOptions;
use crate::attr::toolset::ToolsetOptions;
use crate::docs::{self, Described, Docs};
use crate::errors::Errors;
use crate::input::{Block, Function, Member};
use crate::names::snake_case;
use crate::tokens::compact;

pub(crate) fn toolset<'a>(block: &'a Block, options: ToolsetOptions, errors: &mut Errors) -> Toolset<'a> {
    let docs = docs::read(&block.parsed.attrs);
    let name = toolset_name(block, &options);
    let described = options.description.clone().map(made).or(docs.made.map(|expr| Text::Made(Box::new(expr))));
    let mut toolset = Toolset {
        block,
        name,
        description: described.unwrap_or(Text::Words(docs.description)),
        options,
        tools: Vec::new(),
        setup: Vec::new(),
        close: Vec::new(),
    };
    for member in &block.members {
        match member {
            Member::Function(function) => add_function(&mut toolset, function, errors),
            Member::Broken(_, error) => errors.push(error.clone()),
            Member::Other(_) => {}
        }
    }
    toolset
}

fn add_function<'a>(toolset: &mut Toolset<'a>, function: &'a Function, errors: &mut Errors) {
    let mut of_toolset = Vec::new();
    for attr in &function.attrs {
        match () {
            () if is(attr, "tool") => of_toolset.push(attr),
            () if is(attr, "setup") => {
                takes_no_options(attr, "setup", errors);
                toolset.setup.push(function);
            }
            () if is(attr, "close") => {
                takes_no_options(attr, "close", errors);
                toolset.close.push(function);
            }
            () if attr.path().is_ident("cfg_attr") && crate::tokens::mentions(&attr.meta, "tool") => {
                let message =
                    "`#[tool]` cannot stand inside `cfg_attr`\nhelp: write `#[tool]`, and `#[cfg(..)]` on the method";
                errors.report(attr, message);
            }
            () => {}
        }
    }
    if let Some(again) = of_toolset.get(1) {
        errors.report(again, "`#[tool]` is given twice\nhelp: merge the two");
    }
    if let Some(first) = of_toolset.first() {
        let options = ToolOptions::parse(first, errors);
        let krate = toolset.options.krate.as_ref();
        toolset.tools.push(tool(function, options, krate, errors));
    }
}

/// The type's last segment, in snake case, where no name was given.
fn toolset_name(block: &Block, options: &ToolsetOptions) -> Name {
    if let Some(literal) = &options.name {
        return Name { text: literal.value(), span: literal.span() };
    }
    let last = match ungrouped(&block.parsed.self_ty) {
        Type::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    };
    match last {
        Some(ident) => Name { text: snake_case(&ident.unraw().to_string()), span: ident.span() },
        // `check` refuses a type without a name.
        None => Name { text: "toolset".to_owned(), span: Span::call_site() },
    }
}

/// `krate` is the path to tool-core, where one is given.
pub(crate) fn tool<'a>(
    function: &'a Function,
    options: ToolOptions,
    krate: Option<&Path>,
    errors: &mut Errors,
) -> Tool<'a> {
    let mut docs = docs::read(&function.attrs);
    let name = match &options.name {
        Some(literal) => Name { text: literal.value(), span: literal.span() },
        None => Name { text: function.plain_name(), span: function.ident().span() },
    };
    let slots = slots(function, &docs.arguments, errors);
    Tool {
        function,
        name,
        description: description(&options, &mut docs),
        options,
        returns: docs.returns,
        described: docs.arguments,
        slots,
        agent: agent(function, krate, errors),
    }
}

fn agent<'a>(function: &'a Function, krate: Option<&Path>, errors: &mut Errors) -> Option<Agent<'a>> {
    let mut all = function.attrs.iter().filter(|attr| is_agent(attr, krate));
    let attr = all.next()?;
    all.for_each(|again| errors.report(again, "`#[agent]` is given twice\nhelp: remove one of them"));
    Some(Agent { attr, options: AgentOptions::parse(attr, errors) })
}

fn description(options: &ToolOptions, docs: &mut Docs) -> Option<Text> {
    let explicit = options.description.clone().map(made);
    let words = std::mem::take(&mut docs.description);
    explicit
        .or_else(|| docs.made.take().map(|expr| Text::Made(Box::new(expr))))
        .or((!words.is_empty()).then_some(Text::Words(words)))
}

fn slots<'a>(function: &'a Function, described: &[Described], errors: &mut Errors) -> Vec<Slot<'a>> {
    let mut slots = Vec::new();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => inert_on_self(&receiver.attrs, errors),
            FnArg::Typed(typed) if is_context(typed) => {
                context_options(typed, errors);
                slots.push(Slot::Context(&typed.ty));
            }
            FnArg::Typed(typed) => {
                slots.extend(argument(typed, described, errors).map(|argument| Slot::Argument(Box::new(argument))));
            }
        }
    }
    slots
}

fn argument<'a>(typed: &'a PatType, described: &[Described], errors: &mut Errors) -> Option<Argument<'a>> {
    if let Some(cfg) = typed.attrs.iter().find(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr")) {
        errors
            .report(cfg, "tool parameters cannot be conditional\nhelp: put `#[cfg(..)]` on two versions of the method");
    }
    match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            let name = pat.ident.unraw().to_string();
            let listed = described.iter().find(|item| item.name == name).map(|item| item.text.as_str());
            Argument::lower(&pat.ident, typed, listed, errors)
        }
        Pat::Wild(pat) => {
            errors.report(pat, "tool parameters need a name\nhelp: the model fills them in by it; write `_name` for one that is not used");
            None
        }
        pattern => {
            let (ty, name) = (compact(&typed.ty), parameter_name(&typed.ty));
            errors.report(pattern, format!("tool parameters must be plain identifiers\nhelp: take `{name}: {ty}` and destructure it in the body"));
            None
        }
    }
}

/// A name for a parameter of that type, for the help line.
fn parameter_name(ty: &Type) -> String {
    match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last().map(|last| snake_case(&last.ident.to_string())),
        Type::Reference(reference) => Some(parameter_name(&reference.elem)),
        _ => None,
    }
    .unwrap_or_else(|| "value".to_owned())
}

fn inert_on_self(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| is(attr, "arg") || is(attr, "context")) {
        errors.report(attr, "`self` is not a parameter that the model sees\nhelp: remove the attribute");
    }
}

fn takes_no_options(attr: &Attribute, name: &str, errors: &mut Errors) {
    if !matches!(attr.meta, Meta::Path(_)) {
        errors.report(&attr.meta, format!("`#[{name}]` takes no options\nhelp: write `#[{name}]` alone"));
    }
}

fn context_options(typed: &PatType, errors: &mut Errors) {
    for attr in typed.attrs.iter().filter(|attr| is(attr, "context")) {
        takes_no_options(attr, "context", errors);
    }
    for attr in typed.attrs.iter().filter(|attr| is(attr, "arg")) {
        errors.report(attr, "a context parameter is injected, so `#[arg]` says nothing about it\nhelp: remove `#[arg]`, or `#[context]` if the model is to fill it in");
    }
    for attr in typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
        errors.report(
            attr,
            "tool parameters cannot be conditional\nhelp: put `#[cfg(..)]` on two versions of the method",
        );
    }
}
