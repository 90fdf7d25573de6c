//! The wrapper of a tool: it decodes the arguments, takes the context, calls the method and converts the result.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Expr, ReturnType, Type};

use super::arguments::field;
use super::decode;
use super::expansion::ToolExpansion;
use crate::attr::grammar::ungrouped;
use crate::attr::tool::Confirm;
use crate::attr::tool::ItemKind;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::{PassingForm, ungrouped_type};
use crate::model::toolset::Parameter;
use crate::tokens::{generated, located, respanned, site};

/// Names the wrapper: `__tool_create_event`.
pub(crate) fn ident(expansion: &ToolExpansion) -> Ident {
    format_ident!(
        "__tool_{}",
        expansion.tool.function.plain_name(),
        span = site()
    )
}

/// Names the function that decides about approval: `__tool_confirm_create_event`.
pub(crate) fn confirm_ident(expansion: &ToolExpansion) -> Ident {
    format_ident!(
        "__tool_confirm_{}",
        expansion.tool.function.plain_name(),
        span = site()
    )
}

/// Expands to:
///
/// ```text
/// fn __tool_create_event<'a>(this: &'a GoogleCalendar, call: __tool::Invocation<'a>) -> __tool::HandlerResult<'a> {
///     let args: CreateEventArgs = call.arguments()?;
///     Ok(__tool::start(call, GoogleCalendar::create_event(this, args.title), |value, call| ..))
/// }
/// ```
pub(crate) fn expand(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let (name, cfgs, call) = (ident(expansion), expansion.cfgs(), generated("__call"));
    let (self_ty, generics, clause) = (
        &expansion.scope.self_ty,
        expansion.scope.declared(),
        expansion.scope.where_clause(),
    );
    let self_ty = respanned(self_ty, span);
    let this = if expansion.tool.has_receiver() {
        generated("__this").to_token_stream()
    } else {
        quote_spanned!(span=> _)
    };
    let args = generated("__args");
    let applied = expansion.args.applied(&quote!('_));
    let contexts = contexts(expansion);
    let defaults = decode::instance_defaults(expansion);
    let answer = answer(expansion);
    let body = expansion.braced(quote_spanned! {span=>
        let #args: #applied = #call.arguments()?;
        #contexts
        #defaults
        #answer
    });
    let confirm = confirm(expansion);
    quote_spanned! {span=>
        #cfgs
        fn #name<'__a, #generics>(#this: &'__a #self_ty, #call: __tool::Invocation<'__a>) -> __tool::HandlerResult<'__a> #clause
            #body
        #confirm
    }
}

fn context_ident(position: usize) -> Ident {
    format_ident!("__ctx{position}", span = site())
}

/// Expands to: `let ctx0 = __tool::context::<&RunContext>(call)?;`
fn contexts(expansion: &ToolExpansion) -> TokenStream {
    let call = generated("__call");
    let each =
        expansion
            .tool
            .parameters
            .iter()
            .enumerate()
            .filter_map(|(position, slot)| match slot {
                Parameter::Context(ty) => {
                    let (name, place, ty) = (
                        context_ident(position),
                        located(ty),
                        expansion.scope.without_self(ty),
                    );
                    Some(quote_spanned!(place=> let #name = __tool::context::<#ty>(#call)?;))
                }
                Parameter::Argument(_) => None,
            });
    quote!(#(#each)*)
}

/// Returns whether a return type names a reference or a lifetime.
fn may_borrow(output: &ReturnType) -> bool {
    fn has_borrow(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Group(group) => has_borrow(group.stream()),
            TokenTree::Punct(sign) => matches!(sign.as_char(), '&' | '\''),
            _ => false,
        })
    }
    matches!(output, ReturnType::Type(_, ty) if has_borrow(ty.to_token_stream()))
}

/// Writes the call and the conversion of its result, which depends on the traits of the result.
fn answer(expansion: &ToolExpansion) -> TokenStream {
    let function = &expansion.tool.function.sig;
    let (call, name) = (generated("__call"), &function.ident);
    let this = expansion
        .tool
        .has_receiver()
        .then(|| generated("__this").to_token_stream());
    let passed = expansion
        .tool
        .parameters
        .iter()
        .enumerate()
        .map(|(position, slot)| match slot {
            Parameter::Context(_) => context_ident(position).to_token_stream(),
            Parameter::Argument(argument) => {
                let index = expansion
                    .tool
                    .arguments()
                    .position(|other| std::ptr::eq(other, &raw const **argument))
                    .unwrap_or_default();
                pass(index, argument)
            }
        });
    let passed = this.into_iter().chain(passed);
    let path = if expansion.scope.is_free() {
        name.to_token_stream()
    } else {
        let ty = expansion.scope.self_path(name.span());
        quote!(#ty::#name)
    };
    let returned = match &function.output {
        ReturnType::Type(_, ty) => located(ty),
        ReturnType::Default => located(name),
    };
    let called = quote_spanned!(located(name)=> #path(#(#passed),*));
    // What never returns has no result to convert. Before edition 2024 its type would not be inferred.
    let is_never = matches!(&function.output, ReturnType::Type(_, ty) if matches!(ungrouped_type(ty), Type::Never(_)));
    if function.asyncness.is_none() && is_never {
        return called;
    }
    let value = generated("__value");
    let shown = expansion
        .tool
        .options
        .shows_errors
        .then(|| quote_spanned!(returned=> let #value = __tool::shown!(#value);));
    let responded = match expansion.tool.kind {
        ItemKind::Tool => quote_spanned!(returned=> __tool::respond!(#call, #value)),
        ItemKind::Prompt => {
            quote_spanned!(returned=> __tool::respond_text!(prompt_result, #call, #value))
        }
        ItemKind::Resource => {
            quote_spanned!(returned=> __tool::respond_text!(resource_result, #call, #value))
        }
    };
    let converted = if shown.is_some() {
        quote_spanned!(returned=> { #shown #responded })
    } else {
        responded
    };
    if function.asyncness.is_none() {
        // A result may borrow from the arguments of the call, which a `match` keeps.
        return quote_spanned!(returned=> match #called { #value => __Ok(#converted) });
    }
    // If the method borrows what was decoded, the future owns that.
    let borrows = expansion
        .tool
        .arguments()
        .any(|argument| argument.passing.form.borrows_args());
    if borrows && !is_never && may_borrow(&function.output) {
        // A result that borrows from what the future owns is converted before the future ends.
        return quote_spanned! {located(name)=>
            __Ok(__tool::start(#call, async move { match #called.await { #value => #converted } }, |#value, _| #value))
        };
    }
    let future = if is_never {
        quote_spanned!(located(name)=> async move { let #value: ::core::convert::Infallible = #called.await; #value })
    } else if borrows {
        quote_spanned!(located(name)=> async move { #called.await })
    } else {
        called
    };
    let answered = if is_never {
        quote_spanned!(returned=> match #value {})
    } else {
        converted
    };
    quote_spanned!(located(name)=> __Ok(__tool::start(#call, #future, |#value, #call| #answered)))
}

/// Writes the argument in the form that the method takes.
fn pass(index: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let place = if matches!(argument.default, DefaultValue::Instance(_)) {
        decode::slot(index).to_token_stream()
    } else {
        let args = generated("__args");
        let name = field(argument);
        quote_spanned!(span=> #args.#name)
    };
    match (argument.passing.form, argument.passing.optional) {
        (PassingForm::Owned(_), _) => place,
        (PassingForm::Str | PassingForm::Slice(_), false) => quote_spanned!(span=> &*#place),
        (PassingForm::Str | PassingForm::Slice(_), true) => {
            quote_spanned!(span=> #place.as_deref())
        }
        (PassingForm::Ref(_), false) => quote_spanned!(span=> &#place),
        (PassingForm::Ref(_), true) => quote_spanned!(span=> #place.as_ref()),
        (PassingForm::Cow, false) => quote_spanned!(span=> #place.into_cow()),
        (PassingForm::Cow, true) => quote_spanned!(span=> #place.map(__tool::Text::into_cow)),
        (PassingForm::StrVec, _) => texts(&place),
        (PassingForm::StrSlice, _) => {
            let texts = texts(&place);
            quote_spanned!(span=> &*#texts)
        }
    }
}

/// Expands to: `args.tags.iter().map(|text| &**text).collect::<Vec<&str>>()`
fn texts(place: &TokenStream) -> TokenStream {
    quote_spanned!(site()=> #place.iter().map(|__text| &**__text).collect::<__Vec<&str>>())
}

/// Expands to:
///
/// ```text
/// fn __tool_confirm_create_event(text: &str) -> bool {
///     __tool::decode_arguments::<CreateEventArgs<'_>>(text).map_or(true, |args| ..)
/// }
/// ```
fn confirm(expansion: &ToolExpansion) -> Option<TokenStream> {
    let Some(Confirm::When(expr)) = &expansion.tool.options.confirm else {
        return None;
    };
    let (name, cfgs, applied) = (
        confirm_ident(expansion),
        expansion.cfgs(),
        expansion.args.applied(&quote!('_)),
    );
    let clause = expansion.scope.where_clause();
    let generics = expansion.scope.declared();
    let generics = expansion.scope.is_generic().then(|| quote!(<#generics>));
    let decided = decided(expansion, expr, &applied);
    Some(quote_spanned! {site()=>
        #cfgs
        fn #name #generics(__text: &str) -> bool #clause {
            __tool::decode_arguments::<#applied>(__text).map_or(true, |__args| #decided)
        }
    })
}

/// Writes the call of the function that decides. A closure takes its types from a function pointer. Anything else is looked
/// at, so that a function of another type has a message.
///
/// Expands to: `{ let decide: fn(&RefundArgs) -> bool = |args| ..; decide(&args) }`
fn decided(expansion: &ToolExpansion, expr: &Expr, applied: &TokenStream) -> TokenStream {
    let decide = expansion.scope.without_self(expr);
    let place = located(expr);
    if matches!(ungrouped(expr), Expr::Closure(_)) {
        return quote_spanned!(site()=> { let __decide: fn(&#applied) -> bool = #decide; __decide(&__args) });
    }
    let function = Ident::new("__decide", place);
    let args = generated("__args");
    quote_spanned! {place=>
        {
            use __tool::{ConfirmKind as _, NoConfirmKind as _};
            let #function = #decide;
            (&&__tool::confirm_function::<#applied, _>(&#function)).__tool_confirms().confirms::<#applied, _>(#function, &#args)
        }
    }
}
