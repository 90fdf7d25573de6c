//! The constant description of a tool.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ReturnType, Type};

use super::expansion::{ToolExpansion, text, unsuffixed};
use super::{value, wrapper};
use crate::attr::tool::ItemKind;
use crate::attr::tool::{Confirm, ItemOptions, Modes};
use crate::model::parameter::DefaultValue;
use crate::model::passing::ungrouped_type;
use crate::model::toolset::Parameter;
use crate::names::camel_case;
use crate::tokens::{
    compact, generated, line, located, mentions, site, with_static_lifetimes, without_self_value,
};

/// Expands to:
///
/// ```text
/// __tool::ToolSpec::new("create_event", __tool_create_event)
///     .description("Create a new calendar event.")
///     .parameters::<CreateEventArgs<'_>>()
///     .at(42, __tool::path!("::GoogleCalendar::create_event"))
///     .category(__tool::Category::Action)
/// ```
pub(crate) fn expand(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let name = &expansion.tool.name.text;
    let cfgs = expansion.cfgs();
    let wrapper = wrapper::ident(expansion);
    let description = expansion.tool.description.as_ref().map(|description| {
        let description = text(description, expansion.scope);
        quote_spanned!(span=> .description(#description))
    });
    let parameters = expansion.tool.arguments().next().map(|_| {
        let args = expansion.args.applied(&quote!('_));
        quote_spanned!(span=> .parameters::<#args>())
    });
    let path = path(expansion);
    let location = source_location(line(expansion.tool.ident().span()), &path);
    let options = options(expansion);
    let output = output(expansion);
    let defaults = instance_defaults(expansion);
    let returns = expansion.tool.returns.as_ref().map(|returns| {
        let returns = text(returns, expansion.scope);
        quote_spanned!(span=> .returns(#returns))
    });
    let uses_context = expansion
        .tool
        .parameters
        .iter()
        .any(|slot| matches!(slot, Parameter::Context(_)));
    let uses_context = uses_context.then(|| quote_spanned!(span=> .uses_context()));
    let spec = quote_spanned! {span=>
        __tool::ToolSpec::new(#name, #wrapper)
            #description #parameters #location #options #uses_context #defaults #returns #output
    };
    let spec = match expansion.tool.kind {
        ItemKind::Tool => spec,
        ItemKind::Prompt | ItemKind::Resource => text_method(expansion, &spec),
    };
    quote_spanned!(span=> #cfgs #spec)
}

/// Expands to:
///
/// ```text
/// __tool::ResourceSpec::new("notes://{id}", __tool::ToolSpec::new(..)).mime_type("text/markdown").complete(&[
///     ("id", |__this, __request| __tool::completion(async move { __tool::completed!((Notes::ids)(__this, &__request)) })),
/// ])
/// ```
fn text_method(expansion: &ToolExpansion, method: &TokenStream) -> TokenStream {
    let span = site();
    let tool = expansion.tool;
    let completers = tool.arguments().filter_map(|argument| {
        let name = &argument.name;
        let place = located(argument.complete.as_ref()?);
        let complete = expansion.scope.without_self(argument.complete.as_ref()?);
        let this = generated("__this");
        let request = generated("__request");
        let (receiver, called) = if expansion.scope.is_free() {
            (quote!(_), quote!(&#request))
        } else {
            (quote!(#this), quote!(#this, &#request))
        };
        Some(quote_spanned! {place=>
            (#name, |#receiver, #request| __tool::completion(async move { __tool::completed!((#complete)(#called)) }))
        })
    });
    let completers = completers.collect::<Vec<_>>();
    let complete =
        (!completers.is_empty()).then(|| quote_spanned!(span=> .complete(&[#(#completers),*])));
    if tool.kind == ItemKind::Prompt {
        return quote_spanned!(span=> __tool::PromptSpec::new(#method) #complete);
    }
    let uri = &tool.options.uri;
    let mime = tool
        .options
        .mime
        .as_ref()
        .map(|mime| quote!(.mime_type(#mime)));
    quote_spanned!(span=> __tool::ResourceSpec::new(#uri, #method) #mime #complete)
}

/// Returns the path of the function in its module, by which dispatch and the body recognise the
/// tool.
pub(super) fn path(expansion: &ToolExpansion) -> String {
    let function = expansion.tool.function.plain_name();
    if expansion.scope.is_free() {
        format!("::{function}")
    } else {
        format!("::{}::{function}", compact(&expansion.scope.self_ty))
    }
}

/// Expands to: `.at(42, __tool::path!("::GoogleCalendar"))`
pub(super) fn source_location(line: u32, path: &str) -> TokenStream {
    let line = proc_macro2::Literal::u32_unsuffixed(line);
    quote_spanned!(site()=> .at(#line, __tool::path!(#path)))
}

fn options(expansion: &ToolExpansion) -> TokenStream {
    let options: &ItemOptions = &expansion.tool.options;
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let times = options.times.iter().map(|time| {
        let name = generated(time.name);
        let milliseconds = proc_macro2::Literal::u64_unsuffixed(time.milliseconds);
        quote_spanned!(site()=> .#name(__tool::milliseconds(#milliseconds)))
    });
    let numbers = options.numbers.iter().map(|number| {
        let name = generated(number.name);
        let value = proc_macro2::Literal::u64_unsuffixed(number.value);
        quote!(.#name(#value))
    });
    let flags = options.flags.iter().map(|flag| {
        let name = generated(&flag.name);
        quote!(.#name())
    });
    let choices = choices(options);
    let confirm = confirm(expansion);
    let guide = options.guide.as_ref().map(|guide| {
        quote_spanned!(site()=> .guide(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #guide))))
    });
    let dynamic = options.dynamic.as_ref().map(|visible| {
        let visible = expansion.scope.without_self(visible);
        quote!(.dynamic(#visible))
    });
    quote!(#title #choices #confirm #(#times)* #(#flags)* #(#numbers)* #guide #dynamic)
}

/// Writes the options that are variants of an enum.
fn choices(options: &ItemOptions) -> TokenStream {
    let chosen = [
        ("category", "Category", options.category),
        ("on_duplicate", "OnDuplicate", options.on_duplicate),
        ("duplicate_scope", "DuplicateScope", options.duplicate_scope),
    ];
    let chosen = chosen.into_iter().filter_map(|(method, ty, choice)| {
        let method = generated(method);
        let ty = generated(ty);
        let variant = generated(&camel_case(choice?));
        Some(quote_spanned!(site()=> .#method(__tool::#ty::#variant)))
    });
    let modes = options.modes.map(|modes| {
        let modes = generated(match modes {
            Modes::Both => "BOTH",
            Modes::Voice => "VOICE",
            Modes::Text => "TEXT",
        });
        quote_spanned!(site()=> .modes(__tool::Modes::#modes))
    });
    quote!(#(#chosen)* #modes)
}

/// Expands to: `.confirm(__tool::Confirm::Always)`, and `.instance_confirm(|__this| __this.asks)`
/// where the instance decides.
fn confirm(expansion: &ToolExpansion) -> Option<TokenStream> {
    let span = site();
    let this = generated("__this");
    let when = match expansion.tool.options.confirm.as_ref()? {
        Confirm::Always => quote_spanned!(span=> Always),
        Confirm::Never => quote_spanned!(span=> Never),
        Confirm::When(_) => {
            let name = wrapper::confirm_ident(expansion);
            let generics = expansion.scope.applied();
            let turbofish = expansion.scope.is_generic().then(|| quote!(::<#generics>));
            quote_spanned!(span=> When(#name #turbofish))
        }
        Confirm::Instance(expr) => {
            let asks = without_self_value(expansion.scope.without_self(expr), &this);
            return Some(
                quote_spanned!(span=> .confirm(__tool::Confirm::Always).instance_confirm(|#this| #asks)),
            );
        }
    };
    Some(quote_spanned!(span=> .confirm(__tool::Confirm::#when)))
}

/// Expands to:
/// `.instance_defaults(&[(2, |this| __tool::to_json(&(|| -> u32 { this.minutes })()))])`
fn instance_defaults(expansion: &ToolExpansion) -> Option<TokenStream> {
    let this = generated("__this");
    let each: Vec<TokenStream> = expansion
        .tool
        .arguments()
        .enumerate()
        .filter_map(|(i, argument)| {
            let DefaultValue::Instance(expr) = &argument.default else {
                return None;
            };
            let expr = without_self_value(expansion.scope.without_self(expr), &this);
            let number = unsuffixed(i);
            let value = value::json(expansion, argument, &expr);
            Some(quote_spanned!(site()=> (#number, |#this| #value)))
        })
        .collect();
    (!each.is_empty()).then(|| quote!(.instance_defaults(&[#(#each),*])))
}

/// Expands to:
/// `.output(|generator| __tool::of_type::<Result<Event, CalendarError>>().__schema(generator))`
///
/// A type that cannot be named has no schema.
fn output(expansion: &ToolExpansion) -> Option<TokenStream> {
    let ReturnType::Type(_, ty) = &expansion.tool.function.sig.output else {
        return None;
    };
    if expansion.tool.kind != ItemKind::Tool {
        return None;
    }
    let is_unit = matches!(ungrouped_type(ty), Type::Tuple(tuple) if tuple.elems.is_empty());
    if is_unit || mentions(ty, "impl") || matches!(ungrouped_type(ty), Type::Never(_)) {
        return None;
    }
    let named = with_static_lifetimes(expansion.scope.without_self(ty));
    let place = located(ty);
    let generator = Ident::new("__generator", place);
    Some(quote_spanned! {place=>
        .output(|#generator| __tool::of_type::<#named>().__schema(#generator))
    })
}
