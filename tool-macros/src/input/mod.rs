//! The grammar: an `impl` block or a function whose bodies stay raw tokens, so that half-typed code still expands.

pub(crate) mod print;

use crate::tokens::borrows;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Attribute, Error, ImplItem, ItemImpl, Result, Signature, Token, Visibility, token};

/// An `impl` block.
pub(crate) struct Block {
    /// Everything before the braces, as written.
    pub(crate) head: TokenStream,
    /// The same, parsed; it has no items.
    pub(crate) parsed: ItemImpl,
    pub(crate) braces: Group,
    pub(crate) members: Vec<Member>,
}

pub(crate) enum Member {
    Function(Box<Function>),
    /// Whatever else an `impl` may hold, and what could not be read.
    Other(TokenStream),
    /// A function that does not parse, and why.
    Broken(TokenStream, Error),
}

/// A function or method.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Ident>,
    pub(crate) sig: Signature,
    /// The braces and what is in them; `;` where there is no body.
    pub(crate) body: TokenTree,
}

impl Function {
    pub(crate) fn ident(&self) -> &Ident {
        &self.sig.ident
    }

    /// The name without `r#`.
    pub(crate) fn plain_name(&self) -> String {
        self.sig.ident.unraw().to_string()
    }

    /// The conditions that everything made for it must bear too.
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

impl Block {
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let mut trees: Vec<TokenTree> = flattened(item);
        let misplaced =
            "`#[toolset]` goes on an `impl` block\nhelp: move it above the `impl` that holds the `#[tool]` methods";
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
        let whole: TokenStream = head.clone().into_iter().chain([TokenTree::Group(empty)]).collect();
        let is_impl = head.clone().into_iter().any(|tree| matches!(&tree, TokenTree::Ident(word) if word == "impl"));
        if !is_impl {
            return Err(Error::new_spanned(head_of(&head.into_iter().collect::<Vec<_>>()), misplaced));
        }
        let parsed = syn::parse2(whole)?;
        let members = members.parse2(braces.stream())?;
        Ok(Self { head, parsed, braces, members })
    }

    /// Whether the type has a lifetime other than `'static`.
    pub(crate) fn borrows(&self) -> bool {
        self.parsed.generics.lifetimes().next().is_some() || borrows(&self.parsed.self_ty)
    }
}

/// An item's tokens between its attributes and its braces: what to blame where the whole is wrong.
pub(crate) fn head_of(mut trees: &[TokenTree]) -> TokenStream {
    while let [TokenTree::Punct(_), TokenTree::Group(_), rest @ ..] = trees {
        trees = rest;
    }
    let is_body = |tree: &&TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    trees.iter().take_while(|tree| !is_body(tree)).cloned().collect()
}

/// The tokens, out of the invisible group that `$item:item` puts around them.
pub(crate) fn flattened(item: TokenStream) -> Vec<TokenTree> {
    let trees: Vec<TokenTree> = item.into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => flattened(group.stream()),
        _ => trees,
    }
}

fn members(input: ParseStream) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    while input.peek(Token![#]) && input.peek2(Token![!]) {
        let inner = Attribute::parse_inner(input)?;
        members.push(Member::Other(quote::quote!(#(#inner)*)));
    }
    while !input.is_empty() {
        members.push(member(input)?);
    }
    Ok(members)
}

fn member(input: ParseStream) -> Result<Member> {
    let ahead = input.fork();
    if is_function(&ahead) {
        let ahead = input.fork();
        match ahead.parse::<Function>() {
            Ok(function) => {
                input.advance_to(&ahead);
                return Ok(Member::Function(Box::new(function)));
            }
            Err(error) => return Ok(Member::Broken(up_to_braces(input)?, error)),
        }
    }
    let (ahead, mut tokens) = (input.fork(), TokenStream::new());
    if ahead.parse::<ImplItem>().is_ok() {
        while input.cursor() != ahead.cursor() {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
        return Ok(Member::Other(tokens));
    }
    // rustc says better than we could what is wrong with it.
    input.parse().map(Member::Other)
}

/// Whether a function comes next, after attributes and qualifiers.
fn is_function(ahead: ParseStream) -> bool {
    if ahead.call(Attribute::parse_outer).is_err() || ahead.parse::<Visibility>().is_err() {
        return false;
    }
    loop {
        if ahead.peek(Token![fn]) {
            return true;
        }
        let qualifier = ahead.peek(Token![const]) || ahead.peek(Token![async]) || ahead.peek(Token![unsafe]);
        let qualifier = qualifier || ahead.peek(Token![extern]) || ahead.peek(syn::LitStr);
        let defaultness = ahead.peek(syn::Ident) && ahead.fork().parse::<Ident>().is_ok_and(|word| word == "default");
        if !(qualifier || defaultness) || ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
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

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let is_default = input.peek(syn::Ident) && input.fork().parse::<Ident>().is_ok_and(|word| word == "default");
        let defaultness = if is_default { Some(input.parse()?) } else { None };
        let sig = input.parse()?;
        if !(input.peek(token::Brace) || input.peek(Token![;]) || input.peek(token::Group)) {
            return Err(input.error("expected the function's body"));
        }
        Ok(Self { attrs, vis, defaultness, sig, body: input.parse()? })
    }
}
