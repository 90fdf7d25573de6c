//! The wrapper: decodes, takes the context, calls the method, answers. One thin function per tool.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::ReturnType;

use super::args::field;
use super::{Unit, own};
use crate::attr::tool::Confirm;
use crate::model::Slot;
use crate::model::lend::Lend;
use crate::model::parameter::{Argument, Default};
use crate::tokens::located;

/// `__tool_create_event`.
pub(crate) fn ident(unit: &Unit) -> Ident {
    format_ident!("__tool_{}", unit.tool.function.plain_name(), span = Span::mixed_site())
}

/// `__tool_confirm_create_event`.
pub(crate) fn confirm_ident(unit: &Unit) -> Ident {
    format_ident!("__tool_confirm_{}", unit.tool.function.plain_name(), span = Span::mixed_site())
}

/// Expands to:
///
/// ```text
/// fn __tool_create_event<'a>(this: &'a GoogleCalendar, call: __tool::Call<'a>) -> __tool::Started<'a> {
///     let args = call.decode::<CreateEventArgs<'a>>()?;
///     Ok(__tool::later(async move { __tool::respond!(call, GoogleCalendar::create_event(this, args.title).await) }))
/// }
/// ```
pub(crate) fn expand(unit: &Unit) -> TokenStream {
    let site = Span::mixed_site();
    let (name, cfgs, call) = (ident(unit), unit.cfgs(), own("call"));
    let (self_ty, generics, clause) = (&unit.site.self_ty, unit.site.declared(), unit.site.where_clause());
    let this = if unit.tool.has_receiver() { own("this").to_token_stream() } else { quote_spanned!(site=> _) };
    let applied = unit.args.applied(&quote!('__a));
    let binding = unit.tool.arguments().next().map(|_| {
        let args = own("args");
        quote_spanned!(site=> let #args =)
    });
    let (contexts, frozen, answer, confirm) = (contexts(unit), frozen(unit), answer(unit), confirm(unit));
    quote_spanned! {site=>
        #cfgs
        fn #name<'__a, #generics>(#this: &'__a #self_ty, #call: __tool::Call<'__a>) -> __tool::Started<'__a> #clause {
            #binding #call.decode::<#applied>()?;
            #contexts
            #frozen
            #answer
        }
        #confirm
    }
}

fn context_ident(position: usize) -> Ident {
    format_ident!("ctx{position}", span = Span::mixed_site())
}

/// Expands to: `let ctx0 = __tool::context::<&RunContext>(call)?;`
fn contexts(unit: &Unit) -> TokenStream {
    let call = own("call");
    let each = unit.tool.slots.iter().enumerate().filter_map(|(position, slot)| match slot {
        Slot::Context(ty) => {
            let (name, place, ty) = (context_ident(position), located(ty), unit.site.without_self(ty));
            Some(quote_spanned!(place=> let #name = __tool::context::<#ty>(#call)?;))
        }
        Slot::Argument(_) => None,
    });
    quote!(#(#each)*)
}

fn frozen_ident(index: usize) -> Ident {
    format_ident!("default{index}", span = Span::mixed_site())
}

/// Expands to: `let default2 = call.or_frozen(args.duration_minutes, 2)?;`
///
/// The default was evaluated when the tool was bound: what is published then is what is used.
fn frozen(unit: &Unit) -> TokenStream {
    let (args, call) = (own("args"), own("call"));
    let each =
        unit.tool.arguments().enumerate().filter(|(_, argument)| matches!(argument.default, Default::Instance(_)));
    let each = each.map(|(index, argument)| {
        let (made, name) = (frozen_ident(index), field(argument));
        quote_spanned!(Span::mixed_site()=> let #made = #call.or_frozen(#args.#name, #index)?;)
    });
    quote!(#(#each)*)
}

/// The call itself, made into an answer by the trait of what it returns.
fn answer(unit: &Unit) -> TokenStream {
    let function = &unit.tool.function.sig;
    let (call, name) = (own("call"), &function.ident);
    let this = unit.tool.has_receiver().then(|| own("this").to_token_stream());
    let passed = unit.tool.slots.iter().enumerate().map(|(position, slot)| match slot {
        Slot::Context(_) => context_ident(position).to_token_stream(),
        Slot::Argument(argument) => {
            let index =
                unit.tool.arguments().position(|other| std::ptr::eq(other, &raw const **argument)).unwrap_or_default();
            pass(index, argument)
        }
    });
    let passed = this.into_iter().chain(passed);
    let path = if unit.site.is_free() {
        name.to_token_stream()
    } else {
        let ty = unit.site.self_path();
        quote!(#ty::#name)
    };
    let returned = match &function.output {
        ReturnType::Type(_, ty) => located(ty),
        ReturnType::Default => located(name),
    };
    let called = quote_spanned!(located(name)=> #path(#(#passed),*));
    if function.asyncness.is_none() {
        return quote_spanned!(returned=> __Ok(__tool::respond!(#call, #called)));
    }
    let future = own("future");
    // Where nothing is lent the method's future is made at once: the arguments then live in it alone, and not a second
    // time in the block around it.
    let lends = unit.tool.arguments().any(|argument| argument.lend.borrows_args());
    let (made, awaited) = if lends {
        (TokenStream::new(), called)
    } else {
        (quote_spanned!(located(name)=> let #future = #called;), future.to_token_stream())
    };
    let answered = quote_spanned!(returned=> __tool::respond!(#call, #awaited.await));
    quote_spanned!(located(name)=> #made __Ok(__tool::later(async move { #answered })))
}

/// The argument, lent in the form that the method takes.
fn pass(index: usize, argument: &Argument) -> TokenStream {
    let site = Span::mixed_site();
    let (args, name) = (own("args"), field(argument));
    let place = if matches!(argument.default, Default::Instance(_)) {
        frozen_ident(index).to_token_stream()
    } else {
        quote_spanned!(site=> #args.#name)
    };
    match argument.lend {
        Lend::Owned(_) => place,
        Lend::Str | Lend::Slice(_) => quote_spanned!(site=> &*#place),
        Lend::Ref(_) => quote_spanned!(site=> &#place),
        Lend::OptionStr | Lend::OptionSlice(_) => quote_spanned!(site=> #place.as_deref()),
        Lend::OptionRef(_) => quote_spanned!(site=> #place.as_ref()),
        Lend::Cow => quote_spanned!(site=> #place.into_cow()),
        Lend::OptionCow => quote_spanned!(site=> #place.map(__tool::Text::into_cow)),
        Lend::StrVec => texts(&place),
        Lend::StrSlice => {
            let texts = texts(&place);
            quote_spanned!(site=> &*#texts)
        }
    }
}

/// Expands to: `args.tags.iter().map(|text| &**text).collect::<Vec<&str>>()`
fn texts(place: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> #place.iter().map(|text| &**text).collect::<__Vec<&str>>())
}

/// Expands to:
///
/// ```text
/// fn __tool_confirm_create_event(text: &str) -> bool {
///     let decide: fn(&CreateEventArgs<'_>) -> bool = needs_approval;
///     __tool::decode_arguments::<CreateEventArgs<'_>>(text).map_or(true, |args| decide(&args))
/// }
/// ```
fn confirm(unit: &Unit) -> Option<TokenStream> {
    let Some(Confirm::When(expr)) = &unit.tool.options.confirm else { return None };
    let (name, cfgs, applied) = (confirm_ident(unit), unit.cfgs(), unit.args.applied(&quote!('_)));
    let (generics, clause, decide) = (unit.site.declared(), unit.site.where_clause(), unit.site.without_self(expr));
    let generics = unit.site.is_generic().then(|| quote!(<#generics>));
    Some(quote_spanned! {Span::mixed_site()=>
        #cfgs
        fn #name #generics(text: &str) -> bool #clause {
            let decide: fn(&#applied) -> bool = #decide;
            __tool::decode_arguments::<#applied>(text).map_or(true, |args| decide(&args))
        }
    })
}
