//! Bodies inside their spans: of a tool, of an agent, of a tool that is an agent.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type, TypeInfer};

use super::Unit;
use super::site::krate_path;
use crate::attr::agent::AgentOptions;
use crate::input::print::Rewritten;
use crate::input::{Function, flattened};
use crate::model::lend::ungrouped;
use crate::tokens::{line, located, respanned};

/// A function's body, taken apart.
struct Body<'a> {
    sig: &'a Signature,
    /// `#![allow(..)]` and its like, which cannot stand in a closure.
    inner: TokenStream,
    /// What the user wrote, in its braces.
    code: Group,
}

/// The body of a tool, which opens its span unless dispatch has. S2
///
/// Expands to:
///
/// ```text
/// { __private::in_tool(__private::site!("add", "::add"), move || -> i64 { a + b }, __private::ends!()) }
/// ```
pub(crate) fn tool<'a>(unit: &Unit<'a>) -> Rewritten<'a> {
    let krate = &unit.site.krate;
    let consumed = unit.tool.agent.as_ref().map(|agent| agent.attr);
    let Some(body) = Body::of(unit.tool.function) else {
        // Without a body it is rustc's to refuse.
        return Rewritten { body: unit.tool.function.body.to_token_stream(), consumed };
    };
    let code = match &unit.tool.agent {
        Some(agent) => body.block(body.in_agent(krate, &agent.options)),
        None => body.code.clone(),
    };
    let (name, path) = (&unit.tool.name.text, super::spec::path(unit));
    let site = quote_spanned!(Span::mixed_site()=> #krate::__private::site!(#name, #path));
    let ends = quote_spanned!(Span::mixed_site()=> #krate::__private::ends!());
    Rewritten { body: body.closed(&body.wrapped(krate, "in_tool", &site, &code, &ends)), consumed }
}

/// The body of an agent. S11
///
/// Expands to: `{ __private::in_agent("researcher", move || -> u8 { 1 }, __private::finish!()) }`
pub(crate) fn agent(item: &TokenStream, function: &Function, agent: &AgentOptions) -> TokenStream {
    let Some(body) = Body::of(function) else { return item.clone() };
    let rewritten = body.closed(&body.in_agent(&krate_path(agent.krate.as_ref()), agent));
    // Whatever stands before the body is somebody else's, or rustc's.
    let mut trees = flattened(item.clone());
    trees.pop();
    trees.into_iter().chain(rewritten).collect()
}

impl<'a> Body<'a> {
    fn of(function: &'a Function) -> Option<Self> {
        let code = braces_of(&function.body)?;
        let (inner, rest) = without_inner_attributes(code.stream());
        let code = if inner.is_empty() { code } else { regrouped(&code, rest) };
        Some(Self { sig: &function.sig, inner, code })
    }

    fn in_agent(&self, krate: &TokenStream, agent: &AgentOptions) -> TokenStream {
        let name = agent
            .name
            .as_ref()
            .map_or_else(|| self.sig.ident.unraw().to_string().to_token_stream(), ToTokens::to_token_stream);
        let site = Span::mixed_site();
        let ends = match (self.sig.asyncness, self.returned()) {
            (None, Some(Type::ImplTrait(_))) => quote_spanned!(site=> #krate::__private::finish!(future)),
            (None, _) => quote_spanned!(site=> #krate::__private::finish!()),
            (Some(_), _) => quote_spanned!(site=> #krate::__private::ends!()),
        };
        self.wrapped(krate, "in_agent", &name, &self.code, &ends)
    }

    fn returned(&self) -> Option<&Type> {
        match &self.sig.output {
            ReturnType::Type(_, ty) => Some(ungrouped(ty)),
            ReturnType::Default => None,
        }
    }

    /// Code as the argument of one of our functions, so that the closure and the block know what they are to return.
    ///
    /// Expands to: `in_tool(site, move || -> R { .. }, ends)`, or
    /// `in_tool_async(site, async move { returns!(R); .. }, ends).await`
    fn wrapped(
        &self,
        krate: &TokenStream,
        by: &str,
        first: &TokenStream,
        code: &Group,
        ends: &TokenStream,
    ) -> TokenStream {
        let site = Span::mixed_site();
        let returned = self.annotation();
        let called = if self.sig.asyncness.is_none() {
            let (by, arrow) = (super::own(by), returned.map(|ty| quote_spanned!(site=> -> #ty)));
            quote_spanned!(site=> #krate::__private::#by(#first, move || #arrow #code, #ends))
        } else {
            let by = quote::format_ident!("{by}_async", span = site);
            // All of it where the type stands: there rustc says what was expected.
            let place = self.returned().map_or_else(|| located(&self.sig.ident), located);
            let krate = respanned(krate, place);
            let edge = returned.map(|ty| quote_spanned!(place=> #krate::__private::returns!(#ty);));
            // Braces within braces keep their places, for rustc's sake; on one line it would say that none are needed.
            let code = if is_one_line(code) { code.stream() } else { code.to_token_stream() };
            let block = self.block(quote!(#edge #code));
            quote_spanned!(site=> #krate::__private::#by(#first, async move #block, #ends).await)
        };
        match self.returned() {
            Some(Type::Never(_)) => quote_spanned!(site=> match #called {}),
            _ => called,
        }
    }

    /// What a closure can say that it returns; `None` where only its code tells.
    fn annotation(&self) -> Option<TokenStream> {
        match self.returned() {
            Some(Type::ImplTrait(_)) => None,
            Some(Type::Never(_)) => Some(quote_spanned!(Span::mixed_site()=> ::core::convert::Infallible)),
            Some(ty) => Some(named(ty)),
            None => Some(quote_spanned!(Span::mixed_site()=> ())),
        }
    }

    /// Code of ours in the place of the user's.
    fn block(&self, code: TokenStream) -> Group {
        regrouped(&self.code, code)
    }

    fn closed(&self, code: &TokenStream) -> TokenStream {
        let inner = &self.inner;
        self.block(quote!(#inner #code)).into_token_stream()
    }
}

fn regrouped(group: &Group, code: TokenStream) -> Group {
    let mut made = Group::new(group.delimiter(), code);
    made.set_span(group.span());
    made
}

fn is_one_line(group: &Group) -> bool {
    line(group.span_open()) == line(group.span_close())
}

/// The body's braces, out of the invisible group that `$body:block` puts around them.
fn braces_of(body: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = body else { return None };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        _ => group.stream().into_iter().next().and_then(|tree| braces_of(&tree)),
    }
}

/// Takes the inner attributes off.
fn without_inner_attributes(code: TokenStream) -> (TokenStream, TokenStream) {
    let trees = code.into_iter().collect::<Vec<_>>();
    let (mut inner, mut rest) = (TokenStream::new(), trees.as_slice());
    while let [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(group), after @ ..] = rest {
        if hash.as_char() != '#' || bang.as_char() != '!' || group.delimiter() != Delimiter::Bracket {
            break;
        }
        inner.extend(quote!(#hash #bang #group));
        rest = after;
    }
    (inner, rest.iter().cloned().collect())
}

/// The type, with `_` in the place of every `impl Trait` in it: a closure's return type may not hold one.
fn named(ty: &Type) -> TokenStream {
    let mut ty = ty.clone();
    name(&mut ty);
    ty.into_token_stream()
}

fn name(ty: &mut Type) {
    match ty {
        Type::ImplTrait(_) => {
            *ty = Type::Infer(TypeInfer { attrs: Vec::new(), underscore_token: <syn::Token![_]>::default() });
        }
        Type::Array(array) => name(&mut array.elem),
        Type::Group(group) => name(&mut group.elem),
        Type::Paren(paren) => name(&mut paren.elem),
        Type::Reference(reference) => name(&mut reference.elem),
        Type::Slice(slice) => name(&mut slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(name),
        Type::Path(path) => {
            for segment in &mut path.path.segments {
                let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else { continue };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        name(ty);
                    }
                }
            }
        }
        _ => {}
    }
}
