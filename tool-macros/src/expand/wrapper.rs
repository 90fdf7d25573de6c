//! The wrapper of a tool: it decodes the arguments, takes the context, calls the method and
//! converts the result.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Expr, ReturnType, Type};

use super::arguments::field;
use super::decode;
use super::expansion::{ToolExpansion, unsuffixed};
use crate::attr::grammar::ungrouped;
use crate::attr::tool::Confirm;
use crate::attr::tool::ItemKind;
use crate::model::parameter::Argument;
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

/// Names the function that decides about approval: `__confirm_tool_create_event`. No wrapper begins
/// so, even that of a method `confirm_create_event`.
pub(crate) fn confirm_ident(expansion: &ToolExpansion) -> Ident {
    format_ident!(
        "__confirm_tool_{}",
        expansion.tool.function.plain_name(),
        span = site()
    )
}

/// Expands to:
///
/// ```text
/// fn __tool_create_event<'a>(this: &'a GoogleCalendar, call: __tool::Invocation<'a>) -> __tool::HandlerResult<'a> {
///     let args: CreateEventArgs = call.arguments()?;
///     let method = GoogleCalendar::create_event(this, args.title);
///     __tool::start(call, method, |value| value.__split().__value().__error())
/// }
/// ```
pub(crate) fn expand(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let name = ident(expansion);
    let cfgs = expansion.cfgs();
    let call = generated("__call");
    let self_ty = &expansion.scope.self_ty;
    let generics = expansion.scope.declared();
    let clause = expansion.scope.where_clause();
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

/// Expands to: `let contexts = (__tool::context::<&RunContext>(call)?,);`
fn contexts(expansion: &ToolExpansion) -> TokenStream {
    let call = generated("__call");
    let types = expansion
        .tool
        .parameters
        .iter()
        .filter_map(|slot| match slot {
            Parameter::Context(ty) => Some(ty),
            Parameter::Argument(_) => None,
        });
    let mut each = types.map(|ty| {
        let place = located(ty);
        let ty = expansion.scope.without_self(ty);
        quote_spanned!(place=> __tool::context::<#ty>(#call)?)
    });
    let Some(first) = each.next() else {
        return TokenStream::new();
    };
    let contexts = generated("__contexts");
    quote_spanned!(site()=> let #contexts = (#first, #(#each),*);)
}

/// Returns whether a return type names a reference or a lifetime, or a `Cow`, which may hide one.
fn may_borrow(output: &ReturnType) -> bool {
    fn has_borrow(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Group(group) => has_borrow(group.stream()),
            TokenTree::Punct(sign) => matches!(sign.as_char(), '&' | '\''),
            TokenTree::Ident(name) => name == "Cow",
            TokenTree::Literal(_) => false,
        })
    }
    matches!(output, ReturnType::Type(_, ty) if has_borrow(ty.to_token_stream()))
}

/// Writes the call of the method.
///
/// Expands to: `GoogleCalendar::create_event(this, contexts.0, args.title)`
fn called(expansion: &ToolExpansion) -> TokenStream {
    let name = &expansion.tool.function.sig.ident;
    let this = expansion
        .tool
        .has_receiver()
        .then(|| generated("__this").to_token_stream());
    let contexts = generated("__contexts");
    let mut context = 0;
    let passed = expansion.tool.parameters.iter().map(|slot| match slot {
        Parameter::Context(_) => {
            let index = unsuffixed(context);
            context += 1;
            quote_spanned!(site()=> #contexts.#index)
        }
        Parameter::Argument(argument) => pass(expansion, argument),
    });
    let passed = this.into_iter().chain(passed);
    let path = if expansion.scope.is_free() {
        name.to_token_stream()
    } else {
        let ty = expansion.scope.self_path(name.span());
        quote!(#ty::#name)
    };
    quote_spanned!(located(name)=> #path(#(#passed),*))
}

/// Writes the call and the conversion of its result, which depends on the traits of the result.
fn answer(expansion: &ToolExpansion) -> TokenStream {
    let function = &expansion.tool.function.sig;
    let called = called(expansion);
    let name = located(&function.ident);
    let returned = match &function.output {
        ReturnType::Type(_, ty) => located(ty),
        ReturnType::Default => name,
    };
    // What never returns has no result to convert.
    let is_never = matches!(&function.output, ReturnType::Type(_, ty) if matches!(ungrouped_type(ty), Type::Never(_)));
    let value = generated("__value");
    if function.asyncness.is_none() {
        return if is_never {
            called
        } else {
            sync_answer(expansion, &called, returned)
        };
    }

    let call = generated("__call");
    let method = generated("__method");
    let borrows = expansion
        .tool
        .arguments()
        .any(|argument| argument.passing.form.borrows_args());
    let is_converted_inside = !is_plain(expansion) || borrows && may_borrow(&function.output);
    if is_converted_inside && !is_never {
        // A result that borrows from what the future owns is converted before the future ends.
        let converted = converted(expansion, returned);
        return quote_spanned! {name=>
            let #method = async move { match #called.await { #value => #converted } };
            __tool::start_converted(#method)
        };
    }
    // If the method borrows what was decoded, the future owns that.
    let future = if borrows {
        quote_spanned!(name=> async move { #called.await })
    } else {
        called
    };
    let start = if is_never {
        quote_spanned!(returned=> __tool::start_endless(#method))
    } else {
        quote_spanned! {returned=>
            __tool::start(#call, #method, |#value| #value.__split().__value().__error())
        }
    };
    quote_spanned!(name=> let #method = #future; #start)
}

/// Writes the call of a sync method, and the conversion of its result.
///
/// Expands to:
/// `__tool::done(call, Calendar::now(this), |value| value.__split().__value().__error())`
fn sync_answer(expansion: &ToolExpansion, called: &TokenStream, place: Span) -> TokenStream {
    let call = generated("__call");
    let value = generated("__value");
    if is_plain(expansion) {
        return quote_spanned! {place=>
            __tool::done(#call, #called, |#value| #value.__split().__value().__error())
        };
    }
    let converted = converted(expansion, place);
    quote_spanned!(place=> match #called { #value => __Ok(#converted) })
}

/// Returns true for a tool whose result is converted by its types alone.
fn is_plain(expansion: &ToolExpansion) -> bool {
    expansion.tool.kind == ItemKind::Tool && !expansion.tool.options.shows_errors
}

/// Writes the conversion of a value into an `Execution`.
///
/// Expands to: `__tool::Conversion::of(&value).__split().__value().__error().answer(value, call)`
fn converted(expansion: &ToolExpansion, place: Span) -> TokenStream {
    let call = generated("__call");
    let value = generated("__value");
    let converted = match expansion.tool.kind {
        ItemKind::Tool => quote_spanned! {place=>
            __tool::Conversion::of(&#value).__split().__value().__error().answer(#value, #call)
        },
        ItemKind::Prompt => {
            quote_spanned!(place=> __tool::respond_text!(prompt_result, #call, #value))
        }
        ItemKind::Resource => {
            quote_spanned!(place=> __tool::respond_text!(resource_result, #call, #value))
        }
    };
    if expansion.tool.options.shows_errors {
        quote_spanned!(place=> { let #value = __tool::shown!(#value); #converted })
    } else {
        converted
    }
}

/// Writes the argument in the form that the method takes.
fn pass(expansion: &ToolExpansion, argument: &Argument) -> TokenStream {
    let span = site();
    let place = if argument.default.is_of_instance() {
        decode::instance_default(expansion, argument)
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
/// fn __confirm_tool_create_event(text: &str) -> __tool::ApprovalNeed {
///     __tool::decode_arguments::<CreateEventArgs<'_>>(text).map_or(__tool::ApprovalNeed::Yes, |args| ..)
/// }
/// ```
fn confirm(expansion: &ToolExpansion) -> Option<TokenStream> {
    let Some(Confirm::When(expr)) = &expansion.tool.options.confirm else {
        return None;
    };
    let name = confirm_ident(expansion);
    let cfgs = expansion.cfgs();
    let applied = expansion.args.applied(&quote!('_));
    let clause = expansion.scope.where_clause();
    let generics = expansion.scope.declared();
    let generics = expansion.scope.is_generic().then(|| quote!(<#generics>));
    let decided = decided(expansion, expr, &applied);
    Some(quote_spanned! {site()=>
        #cfgs
        fn #name #generics(__text: &str) -> __tool::ApprovalNeed #clause {
            __tool::decode_arguments::<#applied>(__text).map_or(__tool::ApprovalNeed::Yes, |__args| #decided)
        }
    })
}

/// Writes the call of the function that decides. A closure takes its types from a function pointer.
/// Anything else is looked at, so that a function of another type has a message.
///
/// Expands to: `{ let decide: fn(&RefundArgs) -> _ = |args| ..; ApprovalNeed::from(decide(&args)) }`
fn decided(expansion: &ToolExpansion, expr: &Expr, applied: &TokenStream) -> TokenStream {
    let decide = expansion.scope.without_self(expr);
    let place = located(expr);
    if matches!(ungrouped(expr), Expr::Closure(_)) {
        return quote_spanned!(site()=> { let __decide: fn(&#applied) -> _ = #decide; __tool::ApprovalNeed::from(__decide(&__args)) });
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
