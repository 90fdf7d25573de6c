//! The constant description of a tool: its entry in the table.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{ReturnType, Type};

use super::{Unit, index, own, value, wrapper};
use crate::attr::tool::{Confirm, Modes, ToolOptions};
use crate::model::lend::ungrouped;
use crate::model::parameter::Default;
use crate::model::{Slot, Text};
use crate::names::camel_case;
use crate::tokens::{compact, line, located, mentions, with_static_lifetimes, without_self_value};

/// Expands to:
///
/// ```text
/// __tool::ToolSpec::new("create_event", "Create a new calendar event.", __tool_create_event, <CreateEventArgs as __tool::ArgumentStruct>::PARAMETERS)
///     .at(file!(), 42, concat!(module_path!(), "::GoogleCalendar::create_event"))
///     .category(__tool::Category::Action)
/// ```
pub(crate) fn expand(unit: &Unit) -> TokenStream {
    let site = Span::mixed_site();
    let (name, cfgs, wrapper) = (&unit.tool.name.text, unit.cfgs(), wrapper::ident(unit));
    let description = unit.tool.description.as_ref().map(|text| super::text(text, unit.site)).unwrap_or_default();
    let (args, path) = (unit.args.applied(&quote!('_)), path(unit));
    let place = place(line(unit.tool.ident().span()), &path);
    let (options, output) = (options(unit), output(unit));
    let (defaults, returns) = (instance_defaults(unit), &unit.tool.returns);
    let returns = (!returns.is_empty()).then(|| quote_spanned!(site=> .returns(#returns)));
    let uses_context = unit.tool.slots.iter().any(|slot| matches!(slot, Slot::Context(_)));
    let uses_context = uses_context.then(|| quote_spanned!(site=> .uses_context()));
    quote_spanned! {site=>
        #cfgs
        __tool::ToolSpec::new(#name, #description, #wrapper, <#args as __tool::ArgumentStruct>::PARAMETERS)
            #place #options #uses_context #defaults #returns #output
    }
}

/// Under the module: by it dispatch and the body know one tool.
pub(super) fn path(unit: &Unit) -> String {
    let function = unit.tool.function.plain_name();
    if unit.site.is_free() { format!("::{function}") } else { format!("::{}::{function}", compact(&unit.site.self_ty)) }
}

/// Expands to: `.at(file!(), 42, concat!(module_path!(), "::GoogleCalendar"))`
pub(crate) fn place(line: u32, path: &str) -> TokenStream {
    let line = proc_macro2::Literal::u32_unsuffixed(line);
    quote_spanned!(Span::mixed_site()=> .at(file!(), #line, concat!(module_path!(), #path)))
}

fn options(unit: &Unit) -> TokenStream {
    let options: &ToolOptions = &unit.tool.options;
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let timeout = options.timeout_ms.map(proc_macro2::Literal::u64_unsuffixed).map(|ms| quote!(.timeout_ms(#ms)));
    let max_output = options.max_output.map(|most| {
        let most = index(most);
        quote!(.max_output(#most))
    });
    let max_calls = options.max_calls.map(proc_macro2::Literal::u32_unsuffixed).map(|most| quote!(.max_calls(#most)));
    let flags = options.flags.iter().map(|flag| {
        let name = own(&flag.name);
        quote!(.#name())
    });
    let (choices, confirm) = (choices(options), confirm(unit));
    let guide = options.guide.as_ref().map(|guide| {
        quote_spanned!(Span::mixed_site()=> .guide(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", #guide))))
    });
    quote!(#title #choices #confirm #timeout #(#flags)* #max_output #max_calls #guide)
}

/// The options that are variants of an enum.
fn choices(options: &ToolOptions) -> TokenStream {
    let chosen = [
        ("category", "Category", options.category),
        ("on_duplicate", "OnDuplicate", options.on_duplicate),
        ("duplicate_scope", "DuplicateScope", options.duplicate_scope),
    ];
    let chosen = chosen.into_iter().filter_map(|(method, ty, choice)| {
        let (method, ty, variant) = (own(method), own(ty), own(&camel_case(choice?)));
        Some(quote_spanned!(Span::mixed_site()=> .#method(__tool::#ty::#variant)))
    });
    let modes = options.modes.map(|modes| {
        let modes = own(match modes {
            Modes::Both => "BOTH",
            Modes::Voice => "VOICE",
            Modes::Text => "TEXT",
        });
        quote_spanned!(Span::mixed_site()=> .modes(__tool::Modes::#modes))
    });
    quote!(#(#chosen)* #modes)
}

fn confirm(unit: &Unit) -> Option<TokenStream> {
    let site = Span::mixed_site();
    let when = match unit.tool.options.confirm.as_ref()? {
        Confirm::Always => quote_spanned!(site=> Always),
        Confirm::Never => quote_spanned!(site=> Never),
        Confirm::When(_) => {
            let (name, generics) = (wrapper::confirm_ident(unit), unit.site.applied());
            let turbofish = unit.site.is_generic().then(|| quote!(::<#generics>));
            quote_spanned!(site=> When(#name #turbofish))
        }
    };
    Some(quote_spanned!(site=> .confirm(__tool::Confirm::#when)))
}

/// Expands to: `.instance_defaults(&[(2, |this| __tool::default_json::<u32>(&(this.minutes)))])`
fn instance_defaults(unit: &Unit) -> Option<TokenStream> {
    let this = own("this");
    let each: Vec<TokenStream> = unit
        .tool
        .arguments()
        .enumerate()
        .filter_map(|(i, argument)| {
            let Default::Instance(expr) = &argument.default else { return None };
            let expr = without_self_value(unit.site.without_self(expr), &this);
            let (number, value) = (index(i), value::json(unit, argument, &expr));
            Some(quote_spanned!(Span::mixed_site()=> (#number, |#this| #value)))
        })
        .collect();
    (!each.is_empty()).then(|| quote!(.instance_defaults(&[#(#each),*])))
}

/// Expands to: `.output(|g| __tool::output!(g, Result<Event, CalendarError>))`; a type that cannot be named has no schema.
fn output(unit: &Unit) -> Option<TokenStream> {
    let ReturnType::Type(_, ty) = &unit.tool.function.sig.output else { return None };
    let is_unit = matches!(ungrouped(ty), Type::Tuple(tuple) if tuple.elems.is_empty());
    if is_unit || mentions(ty, "impl") || matches!(ungrouped(ty), Type::Never(_)) {
        return None;
    }
    let named = with_static_lifetimes(unit.site.without_self(ty));
    let generator = own("g");
    Some(quote_spanned!(located(ty)=> .output(|#generator| __tool::output!(#generator, #named))))
}

/// A description for the toolset.
pub(crate) fn toolset_text(text: &Text, site: &super::site::Site) -> TokenStream {
    match text {
        Text::Words(words) => words.to_token_stream(),
        Text::Made(_) => super::text(text, site),
    }
}
