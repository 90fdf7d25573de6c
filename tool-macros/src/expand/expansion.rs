//! The parts that every step of a tool's expansion shares.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};

use super::scope::ItemScope;
use crate::attr::tool::Confirm;
use crate::docs::{Condition, DocContent, DocPart, DocText};
use crate::model::parameter::ModelText;
use crate::model::toolset::Tool;
use crate::names::camel_case;
use crate::tokens::{expanded_at, generated, located, mentions, site};

/// A tool that is being expanded.
pub(crate) struct ToolExpansion<'a> {
    pub(crate) tool: &'a Tool<'a>,
    pub(crate) scope: &'a ItemScope<'a>,
    pub(crate) args: ArgsType<'a>,
}

impl ToolExpansion<'_> {
    /// Expands a part of the tool, at the tool's place.
    pub(crate) fn here<T>(&self, expand: impl FnOnce(&Self) -> T) -> T {
        expanded_at(located(self.tool.ident()), || expand(self))
    }

    /// Puts the body of a generated function where the user's body begins.
    ///
    /// A function that encloses all tokens of its signature is compiled again only if those change.
    /// The compiler sees the places of tokens outside of an item as counted from the start of the
    /// file.
    pub(crate) fn braced(&self, code: TokenStream) -> Group {
        let mut braces = Group::new(Delimiter::Brace, code);
        let body = &self.tool.function.body;
        let place = if let TokenTree::Group(group) = body {
            group.span_open()
        } else {
            body.span()
        };
        braces.set_span(place.resolved_at(site()));
        braces
    }

    /// Returns the conditions of the method, which every generated item repeats.
    pub(crate) fn cfgs(&self) -> TokenStream {
        let cfgs = self.tool.function.cfgs();
        quote_spanned!(site()=> #(#cfgs)*)
    }
}

/// The argument struct of a tool, by name and generics.
pub(crate) struct ArgsType<'a> {
    pub(crate) ident: Ident,
    /// `args = Name` asks for it.
    pub(crate) is_public: bool,
    /// A field borrows from the text of the arguments.
    pub(crate) borrows: bool,
    /// A field mentions the generics of the block.
    pub(crate) generic: bool,
    scope: &'a ItemScope<'a>,
}

/// The name of an argument struct, and of the function whose arguments it holds.
pub(crate) struct TakenName {
    name: String,
    function: String,
}

impl<'a> ArgsType<'a> {
    pub(crate) fn of(tool: &Tool, scope: &'a ItemScope<'a>, ident: Ident) -> Self {
        let borrows = tool
            .arguments()
            .any(|argument| argument.derived.is_empty() && argument.passing.form.borrows_text());
        let generic = tool
            .arguments()
            .any(|argument| scope.is_mentioned_in(&scope.without_self(argument.ty)));
        Self {
            ident,
            is_public: tool.options.args.is_some(),
            borrows,
            generic,
            scope,
        }
    }

    /// The struct's name: `args = Name`, or CamelCase(fn) + `Args`, out of the way of a type that
    /// the block mentions.
    pub(crate) fn name(
        tool: &Tool,
        taken: &mut Vec<TakenName>,
        is_mentioned: impl Fn(&str) -> bool,
    ) -> Ident {
        if let Some(name) = &tool.options.args {
            return name.clone();
        }
        let function = tool.function.plain_name();
        let mut name = format!("{}Args", camel_case(&function));
        if is_mentioned(&name) {
            name.insert_str(0, "__Tool");
        }
        // Methods of one name share it: they are conditional, and at most one of them is there.
        while taken
            .iter()
            .any(|other| other.name == name && other.function != function)
        {
            name.push('_');
        }
        let ident = generated(&name);
        taken.push(TakenName { name, function });
        ident
    }

    /// Writes the type: `CreateEventArgs<'a, T>`.
    pub(crate) fn applied(&self, lifetime: &TokenStream) -> TokenStream {
        let ident = &self.ident;
        let list = self.list(self.borrows.then_some(lifetime), &self.scope.applied());
        quote!(#ident #list)
    }

    /// Writes the generics of the definition: `<'__de, T: Bound>`.
    pub(crate) fn declared(&self) -> TokenStream {
        let de = quote!('__de);
        self.list(self.borrows.then_some(&de), &self.scope.declared())
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

    /// Writes the generics of an impl of a trait, which always declares `'__de`.
    pub(crate) fn impl_generics(&self) -> TokenStream {
        self.list(Some(&quote!('__de)), &self.scope.declared())
    }

    pub(crate) fn where_clause(&self) -> TokenStream {
        if self.generic {
            self.scope.where_clause()
        } else {
            TokenStream::new()
        }
    }
}

/// Returns whether the tool mentions the word outside of its body.
pub(crate) fn tool_mentions(tool: &Tool, word: &str) -> bool {
    let attrs = &tool.function.attrs;
    let sig = &tool.function.sig;
    let description = &tool.options.description;
    let confirm = match &tool.options.confirm {
        Some(Confirm::When(expr) | Confirm::Instance(expr)) => Some(expr),
        _ => None,
    };
    let dynamic = &tool.options.dynamic;
    mentions(quote!(#(#attrs)* #sig #description #confirm #dynamic), word)
}

/// Writes an index without a type suffix.
pub(crate) fn unsuffixed(index: usize) -> Literal {
    let mut literal = Literal::usize_unsuffixed(index);
    literal.set_span(site());
    literal
}

/// Writes a string.
pub(crate) fn quoted(text: &str) -> Literal {
    let mut literal = Literal::string(text);
    literal.set_span(site());
    literal
}

/// Writes a text for the model: a literal, or the user's constant expression.
pub(crate) fn text(text: &ModelText, scope: &ItemScope) -> TokenStream {
    match text {
        ModelText::Literal(text) => quote_spanned!(site()=> #text),
        ModelText::Expr(expr) => scope.without_self(expr),
        ModelText::Docs { text, separator } => joined(text, separator, scope),
    }
}

/// Joins docs in the compiler.
///
/// Expands to:
/// `__tool::joined!("Search the notes.\n", include_str!("search.md"), "\nAt most ten.")`
fn joined(text: &DocText, separator: &str, scope: &ItemScope) -> TokenStream {
    let span = site();
    let mut pieces: Vec<TokenStream> = Vec::new();
    let mut lines = String::new();
    for part in text.parts() {
        if let (DocContent::Line(line), None) = (&part.content, &part.condition) {
            lines.push_str(line);
        } else {
            let before = std::mem::take(&mut lines);
            pieces.extend((!before.is_empty()).then(|| quote_spanned!(span=> #before)));
            pieces.push(piece(part, separator, scope));
        }
        if part.condition.is_none() {
            lines.push_str(separator);
        }
    }
    let after = lines.trim_end();
    pieces.extend((!after.is_empty()).then(|| quote_spanned!(span=> #after)));
    quote_spanned!(span=> __tool::joined!(#(#pieces),*))
}

/// Writes one part. One with a condition takes the separator with it.
///
/// Expands to: `{ #[cfg(unix)] { "On Unix.\n" } #[cfg(not(unix))] { "" } }`
fn piece(part: &DocPart, separator: &str, scope: &ItemScope) -> TokenStream {
    let span = site();
    let written = match &part.content {
        DocContent::Line(line) => line.to_token_stream(),
        DocContent::Macro(expr) => scope.without_self(expr),
        DocContent::OwnSection(expr) => {
            let expr = scope.without_self(expr);
            quote_spanned!(span=> __tool::own_section(#expr))
        }
    };
    let Some(Condition(condition)) = &part.condition else {
        return written;
    };
    quote_spanned! {span=>
        {
            #[cfg(#condition)]
            { __tool::joined_parts!(#written, #separator) }
            #[cfg(not(#condition))]
            { "" }
        }
    }
}
