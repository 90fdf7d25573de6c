//! The user's items: `impl` blocks and functions. Bodies stay raw tokens, so that half-typed code
//! still expands.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Attribute, Error, ImplItem, ItemImpl, Result, Signature, Token, Visibility, token};

use crate::tokens::{borrows, flattened, head_of};

/// An `impl` block.
pub(crate) struct ImplBlock {
    /// The tokens before the braces.
    pub(crate) head: TokenStream,
    /// The block, parsed without its items.
    pub(crate) parsed: ItemImpl,
    pub(crate) braces: Group,
    pub(crate) members: Vec<ImplMember>,
}

/// An item of an `impl` block.
pub(crate) enum ImplMember {
    FunctionItem(Box<FunctionItem>),
    /// An item of another kind, or tokens that could not be parsed.
    Other(TokenStream),
    /// A function that does not parse, and the error.
    Broken(TokenStream, Error),
}

impl ImplBlock {
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let mut trees: Vec<TokenTree> = flattened(item);
        let misplaced = "`#[toolset]` can only be applied to `impl` blocks\nhelp: move it above the `impl` with the `#[tool]` methods";
        let braces = match trees.pop() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group,
            Some(other) => {
                trees.push(other);
                return Err(Error::new_spanned(head_of(&trees), misplaced));
            }
            None => return Err(Error::new(proc_macro2::Span::call_site(), misplaced)),
        };
        let head: TokenStream = trees.into_iter().collect();
        let empty = Group::new(Delimiter::Brace, TokenStream::new());
        let whole: TokenStream = head
            .clone()
            .into_iter()
            .chain([TokenTree::Group(empty)])
            .collect();
        let is_impl = head
            .clone()
            .into_iter()
            .any(|tree| matches!(&tree, TokenTree::Ident(word) if word == "impl"));
        if !is_impl {
            return Err(Error::new_spanned(
                head_of(&head.into_iter().collect::<Vec<_>>()),
                misplaced,
            ));
        }
        let parsed = syn::parse2(whole)?;
        let members = members.parse2(braces.stream())?;
        Ok(Self {
            head,
            parsed,
            braces,
            members,
        })
    }

    /// Returns whether the type has a lifetime other than `'static`.
    pub(crate) fn borrows(&self) -> bool {
        self.parsed.generics.lifetimes().next().is_some() || borrows(&self.parsed.self_ty)
    }
}

fn members(input: ParseStream) -> Result<Vec<ImplMember>> {
    let mut members = Vec::new();
    while input.peek(Token![#]) && input.peek2(Token![!]) {
        let inner = Attribute::parse_inner(input)?;
        members.push(ImplMember::Other(quote::quote!(#(#inner)*)));
    }
    while !input.is_empty() {
        members.push(member(input)?);
    }
    Ok(members)
}

fn member(input: ParseStream) -> Result<ImplMember> {
    let ahead = input.fork();
    if is_function(&ahead) {
        let ahead = input.fork();
        match ahead.parse::<FunctionItem>() {
            Ok(function) => {
                input.advance_to(&ahead);
                return Ok(ImplMember::FunctionItem(Box::new(function)));
            }
            Err(error) => return Ok(ImplMember::Broken(up_to_braces(input)?, error)),
        }
    }
    let ahead = input.fork();
    let mut tokens = TokenStream::new();
    if ahead.parse::<ImplItem>().is_ok() {
        while input.cursor() != ahead.cursor() {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
        return Ok(ImplMember::Other(tokens));
    }
    // rustc reports the mistake better than the macro could.
    input.parse().map(ImplMember::Other)
}

fn up_to_braces(input: ParseStream) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let tree: TokenTree = input.parse()?;
        let ends = matches!(&tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            || matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == ';');
        tokens.extend([tree]);
        if ends {
            break;
        }
    }
    Ok(tokens)
}

/// A function or method.
pub(crate) struct FunctionItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Ident>,
    pub(crate) sig: Signature,
    /// The body in its braces, or `;`.
    pub(crate) body: TokenTree,
}

impl FunctionItem {
    pub(crate) fn ident(&self) -> &Ident {
        &self.sig.ident
    }

    /// Returns the name without `r#`.
    pub(crate) fn plain_name(&self) -> String {
        self.sig.ident.unraw().to_string()
    }

    /// Returns the conditions that everything generated for the function repeats.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }

    pub(crate) fn is_conditional(&self) -> bool {
        self.cfgs().next().is_some()
    }

    pub(crate) fn has_body(&self) -> bool {
        matches!(self.body, TokenTree::Group(_))
    }
}

/// Returns whether a function comes next, after attributes and qualifiers.
fn is_function(ahead: ParseStream) -> bool {
    if ahead.call(Attribute::parse_outer).is_err() || ahead.parse::<Visibility>().is_err() {
        return false;
    }
    loop {
        if ahead.peek(Token![fn]) {
            return true;
        }
        let qualifier =
            ahead.peek(Token![const]) || ahead.peek(Token![async]) || ahead.peek(Token![unsafe]);
        let qualifier = qualifier || ahead.peek(Token![extern]) || ahead.peek(syn::LitStr);
        let defaultness = ahead.peek(syn::Ident)
            && ahead
                .fork()
                .parse::<Ident>()
                .is_ok_and(|word| word == "default");
        if !(qualifier || defaultness) || ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
}

impl Parse for FunctionItem {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let is_default = input.peek(syn::Ident)
            && input
                .fork()
                .parse::<Ident>()
                .is_ok_and(|word| word == "default");
        let defaultness = if is_default {
            Some(input.parse()?)
        } else {
            None
        };
        let sig = input.parse()?;
        if !(input.peek(token::Brace) || input.peek(Token![;]) || input.peek(token::Group)) {
            return Err(input.error("expected the function's body"));
        }
        Ok(Self {
            attrs,
            vis,
            defaultness,
            sig,
            body: input.parse()?,
        })
    }
}
