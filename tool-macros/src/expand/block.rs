//! `#[toolset]`: the user's block, the bodies of its tools inside their spans, then one constant with everything that
//! the tools need.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::Attribute;

use super::args::{Args, tool_mentions};
use super::site::Site;
use super::{Unit, own, spec, traced};
use crate::attr::toolset::{Part, Prefix};
use crate::input::Function;
use crate::model::Toolset;
use crate::tokens::{compact, line, located, mentions};

/// Expands to: the block, the public argument structs, `const _: () = { .. };`
pub(crate) fn expand(toolset: &Toolset) -> TokenStream {
    let site = Site::of_block(toolset.block, toolset.options.krate.as_ref());
    let units = units(toolset, &site);
    let items = units.iter().map(Unit::items);
    let public = units.iter().filter_map(|unit| unit.args.public(unit));
    let specs: Vec<TokenStream> = units.iter().map(spec::expand).collect();
    let registered = match &toolset.options.part {
        None => main_block(toolset, &site, &specs),
        Some(Part::Named(name)) => named_part(name, &site, &specs),
        Some(Part::Unnamed(_)) => part(toolset, &site, &specs),
    };
    let cfgs = cfgs(&toolset.block.parsed.attrs);
    let constant = site.enclose(&cfgs, &quote!(#(#items)* #registered));
    let of = |function: &Function| units.iter().find(|unit| std::ptr::eq(unit.tool.function, function));
    let block = toolset.block.rewritten(|function| of(function).map(traced::tool));
    quote!(#block #(#cfgs #public)* #constant)
}

fn cfgs(attrs: &[Attribute]) -> TokenStream {
    let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    quote!(#(#cfgs)*)
}

fn units<'a>(toolset: &'a Toolset, site: &'a Site) -> Vec<Unit<'a>> {
    let mut taken = Vec::new();
    let is_mentioned = |name: &str| {
        let (auth, description) = (&toolset.options.auth, &toolset.options.description);
        mentions(&toolset.block.head, name)
            || mentions(quote!(#auth #description), name)
            || toolset.tools.iter().any(|tool| tool_mentions(tool, name))
    };
    let unit = |tool| {
        let name = Args::name(tool, &mut taken, is_mentioned);
        Unit { tool, site, args: Args::of(tool, site, name) }
    };
    toolset.tools.iter().map(unit).collect()
}

/// Expands to:
///
/// ```text
/// impl __tool::MainToolsetBlock for GoogleCalendar {
///     const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("google_calendar", "..", &[..]).at(..);
/// }
/// __tool::inventory::submit! { __tool::Registration::toolset::<GoogleCalendar>(|| __tool::discovery!(GoogleCalendar)) }
/// ```
fn main_block(toolset: &Toolset, site: &Site, specs: &[TokenStream]) -> TokenStream {
    let (self_ty, place) = (&site.self_ty, located(&site.self_ty));
    let (name, description) = (&toolset.name.text, spec::toolset_text(&toolset.description, site));
    let (at, options) = (place_of(toolset, site), options(toolset, site));
    let (generics, clause) = (site.declared(), site.where_clause());
    let generics = site.is_generic().then(|| quote!(<#generics>));
    let methods = quote_spanned! {place=>
        impl #generics __tool::MainToolsetBlock for #self_ty #clause {
            const TOOLSET: __tool::ToolsetSpec<Self> =
                __tool::ToolsetSpec::new(#name, #description, &[#(#specs),*]) #at #options;
        }
    };
    // A generic type has no instance that could be found by itself.
    let registered = (!site.is_generic()).then(|| {
        quote_spanned! {place=>
            __tool::inventory::submit! {
                __tool::Registration::toolset::<#self_ty>(|| __tool::discovery!(#self_ty))
            }
        }
    });
    quote!(#methods #registered)
}

fn place_of(toolset: &Toolset, site: &Site) -> TokenStream {
    let line = line(toolset.block.parsed.impl_token.span);
    spec::place(line, &format!("::{}", compact(&site.self_ty)))
}

fn options(toolset: &Toolset, site: &Site) -> TokenStream {
    let options = &toolset.options;
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let prefix = options.prefix.as_ref().map(|prefix| match prefix {
        Prefix::Name => toolset.name.text.to_token_stream(),
        Prefix::Text(text) => text.to_token_stream(),
    });
    let prefix = prefix.map(|prefix| quote!(.prefix(#prefix)));
    let auth = options.auth.as_ref().map(|auth| {
        let auth = site.without_self(auth);
        quote!(.auth(|| #auth))
    });
    let hidden = options.discover.as_ref().filter(|discover| !discover.value).map(|_| quote!(.no_discovery()));
    // Where it is named, to be blamed if there is none.
    let parts = options.parts.iter().map(|name| {
        let mut part = part_ident(name);
        part.set_span(located(name));
        part
    });
    let parts = (!options.parts.is_empty()).then(|| quote!(.parts(&[#(Self::#parts),*])));
    let setup = toolset.setup.first().map(|function| lifecycle("setup", function, site));
    let close = toolset.close.first().map(|function| lifecycle("close", function, site));
    quote!(#title #prefix #auth #hidden #parts #setup #close)
}

/// Expands to: `.setup(|this| __tool::lifecycle(async move { __tool::outcome!(GoogleCalendar::setup(this).await) }))`
fn lifecycle(method: &str, function: &Function, site: &Site) -> TokenStream {
    let (method, this, path, name) = (own(method), own("this"), site.self_path(), function.ident());
    let wait = function.sig.asyncness.map(|_| quote!(.await));
    let outcome = quote_spanned!(located(name)=> __tool::outcome!(#path::#name(#this) #wait));
    quote_spanned!(located(name)=> .#method(|#this| __tool::lifecycle(async move { #outcome })))
}

fn part_ident(name: &proc_macro2::Ident) -> proc_macro2::Ident {
    format_ident!("__tool_part_{name}", span = Span::mixed_site())
}

/// Expands to:
///
/// ```text
/// impl<T> Store<T> {
///     #[doc(hidden)] pub const fn __tool_part_admin() -> &'static [__tool::ToolSpec<Self>] { const { &[..] } }
/// }
/// ```
fn named_part(name: &proc_macro2::Ident, site: &Site, specs: &[TokenStream]) -> TokenStream {
    let (self_ty, function) = (&site.self_ty, part_ident(name));
    let (generics, clause) = (site.declared(), site.where_clause());
    let generics = site.is_generic().then(|| quote!(<#generics>));
    quote_spanned! {Span::mixed_site()=>
        impl #generics #self_ty #clause {
            #[doc(hidden)]
            pub const fn #function() -> &'static [__tool::ToolSpec<Self>] { const { &[#(#specs),*] } }
        }
    }
}

/// Expands to:
///
/// ```text
/// static __TOOL_PART: __tool::PartSpec<GoogleCalendar> = __tool::PartSpec::new(&[..]).at(..);
/// __tool::inventory::submit! { __tool::Registration::part(&__TOOL_PART) }
/// ```
fn part(toolset: &Toolset, site: &Site, specs: &[TokenStream]) -> TokenStream {
    let self_ty = &site.self_ty;
    let at = place_of(toolset, site);
    quote_spanned! {Span::mixed_site()=>
        static __TOOL_PART: __tool::PartSpec<#self_ty> = __tool::PartSpec::new(&[#(#specs),*]) #at;
        __tool::inventory::submit! { __tool::Registration::part(&__TOOL_PART) }
    }
}
