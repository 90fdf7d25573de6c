//! The argument struct: what a call's JSON decodes into.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::site::Site;
use super::{Unit, own};
use crate::attr::tool::Confirm;
use crate::model::lend::Lend;
use crate::model::parameter::{Argument, Default};
use crate::model::{Text, Tool};
use crate::names::camel_case;
use crate::tokens::{located, mentions};

pub(crate) struct Args<'a> {
    pub(crate) ident: Ident,
    /// Whether some field borrows from the argument text.
    pub(crate) borrows: bool,
    /// Whether some field's type speaks of the block's generics.
    pub(crate) generic: bool,
    site: &'a Site<'a>,
}

impl<'a> Args<'a> {
    pub(crate) fn of(tool: &Tool, site: &'a Site<'a>, ident: Ident) -> Self {
        let borrows = tool.arguments().any(|argument| argument.derived.is_empty() && argument.lend.borrows_text());
        let generic = tool.arguments().any(|argument| site.is_mentioned_in(&site.without_self(argument.ty)));
        Self { ident, borrows, generic, site }
    }

    /// The struct's name: `args = Name`, or CamelCase(fn) + `Args`, out of the way of a type that the block mentions.
    pub(crate) fn name(tool: &Tool, taken: &mut Vec<String>, is_mentioned: impl Fn(&str) -> bool) -> Ident {
        if let Some(name) = &tool.options.args {
            return name.clone();
        }
        let mut name = format!("{}Args", camel_case(&tool.function.plain_name()));
        if is_mentioned(&name) {
            name.insert_str(0, "__Tool");
        }
        // Conditional methods may share a name: at most one of them is there.
        while taken.contains(&name) && !tool.function.is_conditional() {
            name.push('_');
        }
        taken.push(name.clone());
        own(&name)
    }

    /// `CreateEventArgs<'a, T>`.
    pub(crate) fn applied(&self, lifetime: &TokenStream) -> TokenStream {
        let (ident, list) = (&self.ident, self.list(self.borrows.then_some(lifetime), &self.site.applied()));
        quote!(#ident #list)
    }

    /// `<'__de, T: Bound>` of the definition.
    fn declared(&self) -> TokenStream {
        let de = quote!('__de);
        self.list(self.borrows.then_some(&de), &self.site.declared())
    }

    fn list(&self, lifetime: Option<&TokenStream>, generics: &TokenStream) -> TokenStream {
        let generics = self.generic.then_some(generics);
        match (lifetime, generics) {
            (None, None) => TokenStream::new(),
            (Some(lifetime), None) => quote!(<#lifetime>),
            (lifetime, generics) => {
                let lifetime = lifetime.into_iter();
                quote!(<#(#lifetime,)* #generics>)
            }
        }
    }

    /// `<'__de, T: Bound>` of an impl for it: a trait's `'__de` is always declared.
    pub(crate) fn impl_generics(&self) -> TokenStream {
        self.list(Some(&quote!('__de)), &self.site.declared())
    }

    pub(crate) fn where_clause(&self) -> TokenStream {
        if self.generic { self.site.where_clause() } else { TokenStream::new() }
    }

    /// The struct where it is nobody's business, and the structs of fields that only the derives can read.
    pub(crate) fn private(&self, unit: &Unit) -> TokenStream {
        let definition = unit.tool.options.args.is_none().then(|| self.definition(unit, &TokenStream::new()));
        let derived = unit.tool.arguments().enumerate().filter(|(_, argument)| !argument.derived.is_empty());
        let derived = derived.map(|(index, argument)| derived_struct(unit, index, argument));
        quote!(#definition #(#derived)*)
    }

    /// The struct beside the user's item, for `args = Name`.
    pub(crate) fn public(&self, unit: &Unit) -> Option<TokenStream> {
        unit.tool.options.args.as_ref()?;
        let (vis, name) = (&unit.tool.function.vis, &unit.tool.name.text);
        let doc = format!("The arguments of the tool `{name}`.");
        let definition = self.definition(unit, &quote!(#vis));
        Some(quote_spanned!(Span::mixed_site()=> #[doc = #doc] #definition))
    }

    /// Expands to: `struct CreateEventArgs<'__de> { title: String, description: Option<__tool::Text<'__de>> }`
    fn definition(&self, unit: &Unit, vis: &TokenStream) -> TokenStream {
        let is_public = unit.tool.options.args.is_some();
        let (ident, generics, clause) = (&self.ident, self.declared(), self.where_clause());
        let fields = unit.tool.arguments().map(|argument| {
            let doc = is_public.then(|| documentation(argument));
            let (name, ty) = (field(argument), field_type(unit, argument, is_public));
            quote_spanned!(Span::mixed_site()=> #doc #vis #name: #ty)
        });
        let types = self.site.type_names();
        let marker = self.generic.then(|| {
            quote_spanned!(Span::mixed_site()=> #[doc(hidden)] #vis __marker: ::core::marker::PhantomData<fn() -> (#types)>,)
        });
        let cfgs = unit.cfgs();
        quote_spanned!(Span::mixed_site()=> #cfgs #vis struct #ident #generics #clause { #(#fields,)* #marker })
    }
}

fn documentation(argument: &Argument) -> TokenStream {
    match &argument.description {
        Some(Text::Words(words)) => quote!(#[doc = #words]),
        Some(Text::Made(expr)) => quote!(#[doc = #expr]),
        None => {
            let words = format!("`{}`", argument.name);
            quote!(#[doc = #words])
        }
    }
}

/// The field's name: the parameter's, at its place, but ours to lints.
pub(crate) fn field(argument: &Argument) -> Ident {
    let mut ident = argument.ident.clone();
    ident.set_span(located(argument.ident));
    ident
}

/// How the types that we add are called: short inside the constant, in full beside the user's item.
struct Vocabulary {
    option: TokenStream,
    vec: TokenStream,
    text: TokenStream,
    place: Span,
}

impl Vocabulary {
    /// At the parameter's type, which is to blame for whatever is wrong with what is made of it.
    fn inside(text: TokenStream, place: Span) -> Self {
        Self { option: quote_spanned!(place=> __Option), vec: quote_spanned!(place=> __Vec), text, place }
    }

    fn outside(site: &Site) -> Self {
        let (krate, span) = (&site.krate, Span::mixed_site());
        Self {
            option: quote_spanned!(span=> ::core::option::Option),
            vec: quote_spanned!(span=> ::std::vec::Vec),
            text: quote_spanned!(span=> #krate::__private::Text<'__de>),
            place: span,
        }
    }
}

/// The type of the field, `Option` around it while the instance still has to give a default.
fn field_type(unit: &Unit, argument: &Argument, is_public: bool) -> TokenStream {
    let site = Span::mixed_site();
    let mut words = if is_public {
        Vocabulary::outside(unit.site)
    } else {
        Vocabulary::inside(quote_spanned!(site=> __tool::Text<'__de>), site)
    };
    if !argument.derived.is_empty() {
        // Decoded by a derive, from entries that were kept: nothing to borrow from.
        words.text = quote_spanned!(site=> ::std::string::String);
    }
    let stored = lent_type(unit.site, argument.lend, &words);
    let option = &words.option;
    match argument.default {
        Default::Instance(_) => quote_spanned!(site=> #option<#stored>),
        _ => stored,
    }
}

/// The type whose schema is published: as stored, and owned.
pub(crate) fn table_type(site: &Site, argument: &Argument) -> TokenStream {
    let place = located(argument.ty);
    lent_type(site, argument.lend, &Vocabulary::inside(quote_spanned!(place=> __String), place))
}

fn lent_type(site: &Site, lend: Lend, words: &Vocabulary) -> TokenStream {
    let ty = lend.stored().map(|ty| site.without_self(ty)).unwrap_or_default();
    let Vocabulary { option, vec, text, place } = words;
    let place = *place;
    match lend {
        Lend::Owned(_) | Lend::Ref(_) => ty,
        Lend::OptionRef(_) => quote_spanned!(place=> #option<#ty>),
        Lend::Slice(_) => quote_spanned!(place=> #vec<#ty>),
        Lend::OptionSlice(_) => quote_spanned!(place=> #option<#vec<#ty>>),
        Lend::Str | Lend::Cow => text.clone(),
        Lend::OptionStr | Lend::OptionCow => quote_spanned!(place=> #option<#text>),
        Lend::StrSlice | Lend::StrVec => quote_spanned!(place=> #vec<#text>),
    }
}

/// The one-field struct of a parameter that only the derives can read.
pub(crate) fn derived_ident(unit: &Unit, index: usize) -> Ident {
    let tool = camel_case(&unit.tool.function.plain_name());
    format_ident!("__Tool{tool}Param{index}", span = Span::mixed_site())
}

/// Expands to: `#[derive(Deserialize, JsonSchema)] struct __ToolSearchParam3 { #[serde(with = "..")] at: Timestamp }`
fn derived_struct(unit: &Unit, index: usize, argument: &Argument) -> TokenStream {
    let krate = unit.site.krate.to_string().replace(' ', "");
    let (serde, schemars) = (format!("{krate}::__private::serde"), format!("{krate}::__private::schemars"));
    let (ident, ty, name) = (derived_ident(unit, index), table_type(unit.site, argument), field(argument));
    let (attrs, cfgs) = (&argument.derived, unit.cfgs());
    let doc = match &argument.description {
        Some(Text::Words(words)) => quote!(#[doc = #words]),
        Some(Text::Made(expr)) => quote!(#[schemars(description = #expr)]),
        None => TokenStream::new(),
    };
    let rename = argument.renamed.as_ref().map(|name| quote!(#[serde(rename = #name)]));
    quote_spanned! {Span::mixed_site()=>
        #cfgs
        #[derive(__tool::serde::Deserialize, __tool::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        struct #ident { #doc #rename #(#attrs)* #name: #ty }
    }
}

/// Whether the word stands anywhere in what the tool says of itself, its body aside.
pub(crate) fn tool_mentions(tool: &Tool, word: &str) -> bool {
    let (attrs, sig, description) = (&tool.function.attrs, &tool.function.sig, &tool.options.description);
    let confirm = match &tool.options.confirm {
        Some(Confirm::When(expr)) => Some(expr),
        _ => None,
    };
    mentions(quote!(#(#attrs)* #sig #description #confirm), word)
}
