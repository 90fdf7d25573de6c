//! The step from syntax to model. A part that does not fit is reported and left out, so that the
//! rest is still checked.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, Meta, Pat, PatType, Path, Type};

use super::parameter::{Argument, ModelText, is_context, model_text};
use super::passing::ungrouped_type;
use super::toolset::{AgentAttribute, Parameter, SpannedName, Tool, Toolset};
use crate::attr::agent::{AgentOptions, is_agent};
use crate::attr::cfg_attr;
use crate::attr::grammar::is;
use crate::attr::tool::ItemKind;
use crate::attr::tool::ItemOptions;
use crate::attr::toolset::ToolsetOptions;
use crate::docs::{self, DocArgument, DocComment};
use crate::errors::Errors;
use crate::input::{FunctionItem, ImplBlock, ImplMember};
use crate::names::snake_case;
use crate::tokens::compact;

pub(crate) fn toolset<'a>(
    block: &'a ImplBlock,
    options: ToolsetOptions,
    errors: &mut Errors,
) -> Toolset<'a> {
    let docs = docs::read(&block.parsed.attrs);
    let name = toolset_name(block, &options);
    let explicit = options.description.clone().map(model_text);
    let described = explicit.or_else(|| ModelText::of_docs(&docs.description, "\n"));
    let mut toolset = Toolset {
        block,
        name,
        description: described,
        options,
        tools: Vec::new(),
        setup: Vec::new(),
        close: Vec::new(),
    };
    for member in &block.members {
        match member {
            ImplMember::FunctionItem(function) => add_function(&mut toolset, function, errors),
            ImplMember::Broken(_, error) => errors.push(error.clone()),
            ImplMember::Other(_) => {}
        }
    }
    toolset
}

fn add_function<'a>(toolset: &mut Toolset<'a>, function: &'a FunctionItem, errors: &mut Errors) {
    let mut item_attrs = Vec::new();
    for attr in &function.attrs {
        item_attrs.extend(
            ItemKind::ALL
                .into_iter()
                .find(|kind| is(attr, kind.name()))
                .map(|kind| (kind, attr)),
        );
        match () {
            () if is(attr, "setup") => {
                takes_no_options(attr, "setup", errors);
                toolset.setup.push(function);
            }
            () if is(attr, "close") => {
                takes_no_options(attr, "close", errors);
                toolset.close.push(function);
            }
            () => {
                let inside = ItemKind::ALL
                    .into_iter()
                    .find(|kind| cfg_attr::adds(&attr.meta, kind.name()));
                if let Some(shown) = inside.map(ItemKind::shown) {
                    let message = format!(
                        "`{shown}` cannot be inside `cfg_attr`\nhelp: write `{shown}`, and `#[cfg(..)]` on the method"
                    );
                    errors.report(attr, message);
                }
            }
        }
    }
    for kind in ItemKind::ALL {
        let mut attrs = item_attrs
            .iter()
            .filter(|(of, _)| *of == kind)
            .map(|(_, attr)| *attr);
        let Some(first) = attrs.next() else { continue };
        if let Some(again) = attrs.next() {
            errors.report(
                again,
                format!(
                    "duplicate `{}` attribute\nhelp: merge the options into one",
                    kind.shown()
                ),
            );
        }
        let options = ItemOptions::parse(kind, first, errors);
        let krate = toolset.options.krate.as_ref();
        toolset
            .tools
            .push(tool(kind, function, options, krate, errors));
    }
}

/// Returns the given name, or the last segment of the type in snake case.
fn toolset_name(block: &ImplBlock, options: &ToolsetOptions) -> SpannedName {
    if let Some(literal) = &options.name {
        return SpannedName {
            text: literal.value(),
            span: literal.span(),
        };
    }
    let last = match ungrouped_type(&block.parsed.self_ty) {
        Type::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    };
    match last {
        Some(ident) => SpannedName {
            text: snake_case(&ident.unraw().to_string()),
            span: ident.span(),
        },
        // `check` refuses a type without a name.
        None => SpannedName {
            text: "toolset".to_owned(),
            span: Span::call_site(),
        },
    }
}

/// `krate` is the path to tool-core, if one is given.
pub(crate) fn tool<'a>(
    kind: ItemKind,
    function: &'a FunctionItem,
    options: ItemOptions,
    krate: Option<&Path>,
    errors: &mut Errors,
) -> Tool<'a> {
    let docs = docs::read(&function.attrs);
    let name = match &options.name {
        Some(literal) => SpannedName {
            text: literal.value(),
            span: literal.span(),
        },
        None => SpannedName {
            text: function.plain_name(),
            span: function.ident().span(),
        },
    };
    let parameters = parameters(function, &docs.arguments, errors);
    Tool {
        kind,
        function,
        name,
        description: description(&options, &docs),
        options,
        returns: ModelText::of_docs(&docs.returns, "\n"),
        described: docs.arguments,
        parameters,
        agent: agent(function, krate, errors),
    }
}

fn agent<'a>(
    function: &'a FunctionItem,
    krate: Option<&Path>,
    errors: &mut Errors,
) -> Option<AgentAttribute<'a>> {
    let mut all = function.attrs.iter().filter(|attr| is_agent(attr, krate));
    let attr = all.next()?;
    all.for_each(|again| {
        errors.report(
            again,
            "duplicate `#[agent]` attribute\nhelp: remove one of them",
        );
    });
    Some(AgentAttribute {
        attr,
        options: AgentOptions::parse(attr, errors),
    })
}

fn description(options: &ItemOptions, docs: &DocComment) -> Option<ModelText> {
    let explicit = options.description.clone().map(model_text);
    explicit.or_else(|| ModelText::of_docs(&docs.description, "\n"))
}

fn parameters<'a>(
    function: &'a FunctionItem,
    described: &[DocArgument],
    errors: &mut Errors,
) -> Vec<Parameter<'a>> {
    let mut parameters = Vec::new();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => refuse_on_self(&receiver.attrs, errors),
            FnArg::Typed(typed) if is_context(typed) => {
                refuse_cfg(&typed.attrs, errors);
                context_options(typed, errors);
                parameters.push(Parameter::Context(&typed.ty));
            }
            FnArg::Typed(typed) => {
                refuse_cfg(&typed.attrs, errors);
                parameters.extend(
                    argument(typed, described, errors)
                        .map(|argument| Parameter::Argument(Box::new(argument))),
                );
            }
        }
    }
    parameters
}

fn argument<'a>(
    typed: &'a PatType,
    described: &[DocArgument],
    errors: &mut Errors,
) -> Option<Argument<'a>> {
    match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            let name = pat.ident.unraw().to_string();
            let listed = described
                .iter()
                .find(|item| item.name == name)
                .map(|item| &item.text);
            Argument::lower(&pat.ident, typed, listed, errors)
        }
        Pat::Wild(pat) => {
            errors.report(pat, "tool parameters need a name, by which the model provides them\nhelp: write `_name` for a parameter that is not used");
            None
        }
        pattern => {
            let ty = compact(&typed.ty);
            let name = parameter_name(&typed.ty);
            errors.report(pattern, format!("tool parameters must be plain identifiers\nhelp: take `{name}: {ty}` and destructure it in the body"));
            None
        }
    }
}

/// Suggests a name for a parameter of this type.
fn parameter_name(ty: &Type) -> String {
    match ungrouped_type(ty) {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|last| snake_case(&last.ident.to_string())),
        Type::Reference(reference) => Some(parameter_name(&reference.elem)),
        _ => None,
    }
    .unwrap_or_else(|| "value".to_owned())
}

fn refuse_cfg(attrs: &[Attribute], errors: &mut Errors) {
    let message = "tool parameters cannot have `#[cfg(..)]`\nhelp: write two versions of the function, each with `#[cfg(..)]`";
    let decides = |attr: &&Attribute| {
        attr.path().is_ident("cfg")
            || attr.path().is_ident("cfg_attr") && !docs::is_conditional_doc(attr)
    };
    if let Some(cfg) = attrs.iter().find(decides) {
        errors.report(cfg, message);
    }
}

fn refuse_on_self(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs
        .iter()
        .filter(|attr| is(attr, "arg") || is(attr, "context"))
    {
        errors.report(
            attr,
            "`self` is not a tool parameter\nhelp: remove the attribute",
        );
    }
}

fn takes_no_options(attr: &Attribute, name: &str, errors: &mut Errors) {
    if !matches!(attr.meta, Meta::Path(_)) {
        errors.report(
            &attr.meta,
            format!("`#[{name}]` takes no options\nhelp: write `#[{name}]` alone"),
        );
    }
}

fn context_options(typed: &PatType, errors: &mut Errors) {
    for attr in typed.attrs.iter().filter(|attr| is(attr, "context")) {
        takes_no_options(attr, "context", errors);
    }
    for attr in typed.attrs.iter().filter(|attr| is(attr, "arg")) {
        errors.report(attr, "a context parameter takes no `#[arg]`, because the run provides it\nhelp: remove `#[arg]`, or remove `#[context]` if the model provides it");
    }
}
