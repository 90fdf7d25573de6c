//! The bodies of tools and agents, inside their spans.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type, TypeInfer};

use super::expansion::{ToolExpansion, quoted};
use super::scope::krate_path;
use super::spec;
use crate::attr::agent::AgentOptions;
use crate::input::FunctionItem;
use crate::model::passing::ungrouped_type;
use crate::print::RewrittenBody;
use crate::tokens::{flattened, generated, line, located, regrouped, site};

/// A body, taken apart.
struct Body<'a> {
    sig: &'a Signature,
    /// Inner attributes, which a closure cannot have.
    inner: TokenStream,
    /// The user's code in its braces.
    code: Group,
}

/// Wraps the body of a tool in its span, which dispatch may have opened already.
///
/// Expands to:
///
/// ```text
/// { __private::body::<i64>().__tool_span(__private::function!("::add")).run(move || -> i64 { a + b }) }
/// ```
pub(crate) fn tool<'a>(expansion: &ToolExpansion<'a>) -> RewrittenBody<'a> {
    let krate = &expansion.scope.krate_here();
    let consumed = expansion.tool.agent.as_ref().map(|agent| agent.attr);
    let Some(body) = Body::of(expansion.tool.function) else {
        // rustc refuses a function without a body.
        return RewrittenBody {
            body: expansion.tool.function.body.to_token_stream(),
            consumed,
        };
    };
    let code = match &expansion.tool.agent {
        Some(agent) => body.block(body.in_agent(krate, &agent.options)),
        None => body.code.clone(),
    };
    let function = traced_function(expansion, krate);
    let span = body.span(krate, "__tool_span", &function);
    RewrittenBody {
        body: body.closed(&body.in_span(&span, &code)),
        consumed,
    }
}

/// Writes the function as its span knows it: by its path, and by the tool's name if that is another
/// one.
///
/// Expands to: `__private::function!("::Calendar::create_event")`
fn traced_function(expansion: &ToolExpansion, krate: &TokenStream) -> TokenStream {
    let name = &expansion.tool.name.text;
    let path = quoted(&spec::path(expansion));
    let name = (*name != expansion.tool.function.plain_name()).then(|| quoted(name));
    let name = name.into_iter();
    quote_spanned!(site()=> #krate::__private::function!(#path #(, #name)*))
}

/// Wraps the body of an agent in its span.
///
/// Expands to:
/// `{ __private::body::<u8>().__agent_span("researcher").run_async(move |typed| async move { .. }).await }`
pub(crate) fn agent(
    item: &TokenStream,
    function: &FunctionItem,
    agent: &AgentOptions,
) -> TokenStream {
    let Some(body) = Body::of(function) else {
        return item.clone();
    };
    let rewritten = body.closed(&body.in_agent(&krate_path(agent.krate.as_ref()), agent));
    // The tokens before the body stay as they are: they belong to other attributes, or to rustc.
    let mut trees = flattened(item.clone());
    trees.pop();
    trees.into_iter().chain(rewritten).collect()
}

impl<'a> Body<'a> {
    fn of(function: &'a FunctionItem) -> Option<Self> {
        let code = braces_of(&function.body)?;
        let (inner, rest) = without_inner_attributes(code.stream());
        let code = if inner.is_empty() {
            code
        } else {
            regrouped(&code, rest)
        };
        Some(Self {
            sig: &function.sig,
            inner,
            code,
        })
    }

    /// Wraps the code in an agent's span. Code that is not `async` may make a future, which goes on
    /// with the span.
    ///
    /// Expands to: `__private::in_agent("researcher", move || -> u8 { 1 }, __private::finish!())`
    /// where it is not `async`
    fn in_agent(&self, krate: &TokenStream, agent: &AgentOptions) -> TokenStream {
        let name = agent.name.as_ref().map_or_else(
            || self.sig.ident.unraw().to_string().to_token_stream(),
            ToTokens::to_token_stream,
        );
        if self.sig.asyncness.is_some() {
            return self.in_span(&self.span(krate, "__agent_span", &name), &self.code);
        }
        let hidden = matches!(self.returned(), Some(Type::ImplTrait(_))).then(|| quote!(future));
        let span = site();
        let closure = self.closure(&self.code);
        self.called(
            &quote_spanned!(span=> #krate::__private::in_agent(#name, #closure, #krate::__private::finish!(#hidden))),
        )
    }

    fn returned(&self) -> Option<&Type> {
        match &self.sig.output {
            ReturnType::Type(_, ty) => Some(ungrouped_type(ty)),
            ReturnType::Default => None,
        }
    }

    /// Expands to: `__private::body::<i64>().__tool_span("add", id)`, or
    /// `__private::hidden_body().__tool_span("add", id)` if the type cannot be written
    fn span(&self, krate: &TokenStream, open: &str, arguments: &TokenStream) -> TokenStream {
        let open = generated(open);
        let body = if let Some(ty) = self.annotation() {
            quote_spanned!(site()=> body::<#ty>())
        } else {
            quote_spanned!(site()=> hidden_body())
        };
        quote_spanned!(site()=> #krate::__private::#body.#open(#arguments))
    }

    /// Runs the code inside the span.
    ///
    /// Expands to: `span.run(move || -> R { .. })`, or
    /// `span.run_async(move |typed| async move { .. }).await`
    fn in_span(&self, span: &TokenStream, code: &Group) -> TokenStream {
        if self.sig.asyncness.is_none() {
            let closure = self.closure(code);
            return self.called(&quote_spanned!(site()=> #span.run(#closure)));
        }
        let typed = generated("__typed");
        // Inner braces keep the user's places. On one line rustc would call them unnecessary.
        let code = if is_one_line(code) {
            code.stream()
        } else {
            code.to_token_stream()
        };
        let block = match self.annotation() {
            Some(_) => {
                let first = self.first_return(&typed);
                self.block(quote!(#first #code))
            }
            None => self.block(code),
        };
        self.called(
            &quote_spanned!(site()=> #span.run_async(move |#typed| async move #block).await),
        )
    }

    /// Gives an `async` block its type: the first `return` decides it. An `async` closure would
    /// have one, but does not yet convert what it returns to that type.
    ///
    /// Expands to: `if let Some(typed) = typed.value() { return typed; }`
    fn first_return(&self, typed: &Ident) -> TokenStream {
        // At the place of the return type: rustc points there when it says which type it expected.
        let place = self
            .returned()
            .map_or_else(|| located(&self.sig.ident), located);
        let mut typed = typed.clone();
        typed.set_span(place);
        quote_spanned!(place=> if let ::core::option::Option::Some(#typed) = #typed.value() { return #typed; })
    }

    /// Expands to: `move || -> R { .. }`
    fn closure(&self, code: &Group) -> TokenStream {
        let span = site();
        let arrow = self.annotation().map(|ty| quote_spanned!(span=> -> #ty));
        quote_spanned!(span=> move || #arrow #code)
    }

    /// The call as the function's last expression. A function that never returns cannot return the
    /// call's value.
    fn called(&self, call: &TokenStream) -> TokenStream {
        match self.returned() {
            Some(Type::Never(_)) => quote_spanned!(site()=> match #call {}),
            _ => call.clone(),
        }
    }

    /// Returns the type with which a closure is annotated, or `None` for `impl Trait`.
    fn annotation(&self) -> Option<TokenStream> {
        match self.returned() {
            Some(Type::ImplTrait(_)) => None,
            Some(Type::Never(_)) => Some(quote_spanned!(site()=> ::core::convert::Infallible)),
            Some(ty) => Some(without_impl_trait(ty)),
            None => Some(quote_spanned!(site()=> ())),
        }
    }

    /// Puts generated code in the place of the user's.
    fn block(&self, code: TokenStream) -> Group {
        regrouped(&self.code, code)
    }

    fn closed(&self, code: &TokenStream) -> TokenStream {
        let inner = &self.inner;
        self.block(quote!(#inner #code)).into_token_stream()
    }
}

fn is_one_line(group: &Group) -> bool {
    line(group.span_open()) == line(group.span_close())
}

/// Returns the braces of the body, out of the invisible group that `$body:block` puts around them.
fn braces_of(body: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = body else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        _ => group
            .stream()
            .into_iter()
            .next()
            .and_then(|tree| braces_of(&tree)),
    }
}

/// Separates the inner attributes from the code.
fn without_inner_attributes(code: TokenStream) -> (TokenStream, TokenStream) {
    let trees = code.into_iter().collect::<Vec<_>>();
    let mut inner = TokenStream::new();
    let mut rest = trees.as_slice();
    while let [
        TokenTree::Punct(hash),
        TokenTree::Punct(bang),
        TokenTree::Group(group),
        after @ ..,
    ] = rest
    {
        if hash.as_char() != '#' || bang.as_char() != '!' || group.delimiter() != Delimiter::Bracket
        {
            break;
        }
        inner.extend(quote!(#hash #bang #group));
        rest = after;
    }
    (inner, rest.iter().cloned().collect())
}

/// Replaces every `impl Trait` in the type by `_`, as a closure's return type cannot contain one.
fn without_impl_trait(ty: &Type) -> TokenStream {
    let mut ty = ty.clone();
    infer_impl_trait(&mut ty);
    ty.into_token_stream()
}

fn infer_impl_trait(ty: &mut Type) {
    match ty {
        Type::ImplTrait(_) => {
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token: <syn::Token![_]>::default(),
            });
        }
        Type::Array(array) => infer_impl_trait(&mut array.elem),
        Type::Group(group) => infer_impl_trait(&mut group.elem),
        Type::Paren(paren) => infer_impl_trait(&mut paren.elem),
        Type::Reference(reference) => infer_impl_trait(&mut reference.elem),
        Type::Slice(slice) => infer_impl_trait(&mut slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(infer_impl_trait),
        Type::Path(path) => {
            for segment in &mut path.path.segments {
                let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
                    continue;
                };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        infer_impl_trait(ty);
                    }
                }
            }
        }
        _ => {}
    }
}
