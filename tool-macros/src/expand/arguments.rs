//! The definition of the argument struct, into which the JSON of a call decodes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::Expr;

use super::expansion::{ToolExpansion, text};
use super::scope::ItemScope;
use crate::attr::grammar::ungrouped;
use crate::docs::{Condition, DocContent, DocPart};
use crate::model::parameter::{Argument, DefaultValue, ModelText};
use crate::model::passing::{ParamPassing, PassingForm};
use crate::model::type_names::TypeNames;
use crate::tokens::{located, site};

/// Defines the private argument struct, and the structs of parameters that are left to the derives.
pub(super) fn define_private(expansion: &ToolExpansion) -> TokenStream {
    let definition = (!expansion.args.is_public).then(|| define(expansion, &TokenStream::new()));
    let derived = expansion
        .tool
        .arguments()
        .enumerate()
        .filter(|(_, argument)| !argument.derived.is_empty());
    let derived = derived.map(|(index, argument)| derived_struct(expansion, index, argument));
    quote!(#definition #(#derived)*)
}

/// Defines the argument struct beside the user's item, for `args = Name`.
pub(super) fn define_public(expansion: &ToolExpansion) -> Option<TokenStream> {
    if !expansion.args.is_public {
        return None;
    }
    let vis = &expansion.tool.function.vis;
    let name = &expansion.tool.name.text;
    let doc = format!("The arguments of the tool `{name}`.");
    let definition = define(expansion, &quote!(#vis));
    Some(quote_spanned!(site()=> #[doc = #doc] #definition))
}

/// Expands to:
/// `struct CreateEventArgs<'__de> { title: String, description: Option<__tool::Text<'__de>> }`
fn define(expansion: &ToolExpansion, vis: &TokenStream) -> TokenStream {
    let args = &expansion.args;
    let is_public = args.is_public;
    let ident = &args.ident;
    let generics = args.declared();
    let clause = args.where_clause();
    let fields = expansion.tool.arguments().map(|argument| {
        let doc = is_public.then(|| documentation(argument));
        let name = field(argument);
        let ty = field_type(expansion, argument, is_public);
        quote_spanned!(site()=> #doc #vis #name: #ty)
    });
    let types = expansion.scope.type_names();
    let marker = args
        .generic
        .then(|| quote_spanned!(site()=> #[doc(hidden)] #vis __marker: ::core::marker::PhantomData<fn() -> (#types)>,));
    let cfgs = expansion.cfgs();
    quote_spanned!(site()=> #cfgs #vis struct #ident #generics #clause { #(#fields,)* #marker })
}

/// Writes the docs of a public field.
fn documentation(argument: &Argument) -> TokenStream {
    match &argument.description {
        Some(ModelText::Literal(words)) => quote!(#[doc = #words]),
        // rustc takes literals and macros only.
        Some(ModelText::Expr(expr)) if matches!(ungrouped(expr), Expr::Macro(_)) => {
            quote!(#[doc = #expr])
        }
        Some(ModelText::Docs { text, .. }) => text.parts().iter().map(doc_attribute).collect(),
        Some(ModelText::Expr(_)) | None => {
            let text = format!("`{}`", argument.name);
            quote!(#[doc = #text])
        }
    }
}

/// Writes a part of the docs of a public field.
fn doc_attribute(part: &DocPart) -> TokenStream {
    let value = match &part.content {
        DocContent::Line(line) => line.to_token_stream(),
        DocContent::Macro(expr) | DocContent::OwnSection(expr) => expr.to_token_stream(),
    };
    match &part.condition {
        None => quote!(#[doc = #value]),
        Some(Condition(condition)) => quote!(#[cfg_attr(#condition, doc = #value)]),
    }
}

/// Returns the name of the field, at the place of the parameter. Lints treat it as generated.
pub(crate) fn field(argument: &Argument) -> Ident {
    let place = located(argument.ident);
    if argument.ident == "gen" {
        // The user's edition may not reserve it, and that of generated code does.
        return Ident::new_raw("gen", place);
    }
    let mut ident = argument.ident.clone();
    ident.set_span(place);
    ident
}

/// The paths of the types that the macro adds: short inside the constant, in full beside the user's
/// item.
struct TypePaths {
    option: TokenStream,
    vec: TokenStream,
    text: TokenStream,
    place: Span,
}

impl TypePaths {
    /// The place is the parameter's type, under which rustc reports errors.
    fn inside(text: TokenStream, place: Span) -> Self {
        Self {
            option: quote_spanned!(place=> __Option),
            vec: quote_spanned!(place=> __Vec),
            text,
            place,
        }
    }

    fn outside(scope: &ItemScope) -> Self {
        let krate = &scope.krate;
        let span = site();
        Self {
            option: quote_spanned!(span=> ::core::option::Option),
            vec: quote_spanned!(span=> ::std::vec::Vec),
            text: quote_spanned!(span=> #krate::__private::Text<'__de>),
            place: span,
        }
    }
}

/// Returns the type of the field. It is optional if the instance provides the default.
fn field_type(expansion: &ToolExpansion, argument: &Argument, is_public: bool) -> TokenStream {
    let span = site();
    let mut paths = if is_public {
        TypePaths::outside(expansion.scope)
    } else {
        let place = located(argument.ty);
        TypePaths::inside(quote_spanned!(place=> __tool::Text<'__de>), place)
    };
    if !argument.derived.is_empty() {
        // A derive decodes it from entries that are kept, which it cannot borrow.
        paths.text = quote_spanned!(span=> ::std::string::String);
    }
    let stored = stored_type(expansion.scope, argument.passing, &paths);
    let option = &paths.option;
    match argument.default {
        DefaultValue::Instance(_) => quote_spanned!(span=> #option<#stored>),
        _ => stored,
    }
}

/// Returns the type whose schema is published, which is the stored type without borrows.
pub(crate) fn table_type(scope: &ItemScope, argument: &Argument) -> TokenStream {
    let place = located(argument.ty);
    stored_type(
        scope,
        argument.passing,
        &TypePaths::inside(quote_spanned!(place=> __String), place),
    )
}

/// Writes the trait through which generated code reaches the type of a parameter, unless the type
/// is well known. All errors about the type are then equal, and the compiler prints one of them.
///
/// Expands to: `<City as __tool::ToolParameter>`, or
/// `<Uuid as __tool::ForeignParameter<__tool::schemars_features::uuid1>>`
pub(crate) fn parameter_trait(scope: &ItemScope, argument: &Argument) -> Option<TokenStream> {
    if argument.names == TypeNames::Plain && argument.flatten.is_none() {
        return None;
    }
    let ty = table_type(scope, argument);
    let place = located(argument.ty);
    let TypeNames::Foreign(feature) = argument.names else {
        return Some(quote_spanned!(place=> <#ty as __tool::ToolParameter>));
    };
    let feature = Ident::new(feature, site());
    Some(
        quote_spanned!(place=> <#ty as __tool::ForeignParameter<__tool::schemars_features::#feature>>),
    )
}

fn stored_type(scope: &ItemScope, passing: ParamPassing, paths: &TypePaths) -> TokenStream {
    let TypePaths {
        option,
        vec,
        text,
        place,
    } = paths;
    let place = *place;
    let stored = match passing.form {
        PassingForm::Owned(ty) | PassingForm::Ref(ty) => scope.without_self(ty),
        PassingForm::Slice(ty) => {
            let ty = scope.without_self(ty);
            quote_spanned!(place=> #vec<#ty>)
        }
        PassingForm::Str | PassingForm::Cow => text.clone(),
        PassingForm::StrSlice | PassingForm::StrVec => quote_spanned!(place=> #vec<#text>),
    };
    if passing.optional {
        quote_spanned!(place=> #option<#stored>)
    } else {
        stored
    }
}

/// Returns the name of the struct with one field for a parameter that is left to the derives.
pub(crate) fn derived_ident(expansion: &ToolExpansion, index: usize) -> Ident {
    // Two methods may have one name in camel case, but not one argument struct.
    let args = &expansion.args.ident;
    format_ident!("__{args}Param{index}", span = site())
}

/// Expands to:
/// `#[derive(Deserialize, JsonSchema)] struct __SearchArgsParam3 { #[serde(with = "..")] at: Timestamp }`
fn derived_struct(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let ident = derived_ident(expansion, index);
    let ty = table_type(expansion.scope, argument);
    let name = field(argument);
    let attrs = &argument.derived;
    let cfgs = expansion.cfgs();
    let doc = match &argument.description {
        Some(ModelText::Literal(words)) => quote!(#[doc = #words]),
        Some(described) => {
            let described = text(described, expansion.scope);
            quote!(#[schemars(description = #described)])
        }
        None => TokenStream::new(),
    };
    let rename = argument
        .renamed
        .as_ref()
        .map(|name| quote!(#[serde(rename = #name)]));
    quote_spanned! {site()=>
        #cfgs
        #[derive(__tool::serde::Deserialize, __tool::schemars::JsonSchema)]
        #[serde(crate = "__tool::serde")]
        #[schemars(crate = "__tool::schemars")]
        struct #ident { #doc #rename #(#attrs)* #name: #ty }
    }
}
