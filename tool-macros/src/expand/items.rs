//! The items of a `#[toolset]` block or of a free `#[tool]` function.
//!
//! The user's item comes first, with spans around the bodies of its tools. One constant holds the
//! generated items.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::Attribute;

use super::expansion::{ArgsType, ToolExpansion, text, tool_mentions};
use super::scope::ItemScope;
use super::{arguments, body, decode, spec, wrapper};
use crate::attr::tool::ItemKind;
use crate::attr::toolset::{PartOption, PrefixOption};
use crate::input::FunctionItem;
use crate::model::toolset::{Tool, Toolset};
use crate::tokens::{compact, generated, line, located, mentions};

/// Expands to: the block, the public argument structs, `const _: () = { .. };`
pub(crate) fn expand_toolset(toolset: &Toolset) -> TokenStream {
    let scope = ItemScope::of_block(toolset.block, toolset.options.krate.as_ref());
    let expansions = expansions(toolset, &scope);
    let items = expansions.iter().map(|expansion| expansion.here(items));
    let public = expansions
        .iter()
        .filter_map(|expansion| expansion.here(arguments::define_public));
    let specs = BlockSpecs::of(&expansions);
    let registered = match &toolset.options.part {
        None => main_block(toolset, &scope, &specs),
        Some(PartOption::Named(name)) => named_part(name, &scope, &specs),
        Some(PartOption::Unnamed(_)) => part(toolset, &scope, &specs),
    };
    let cfgs = cfgs(&toolset.block.parsed.attrs);
    let consumed = consumed(&toolset.tools, &["agent", "prompt", "resource", "tool"]);
    let constant = scope.enclose(&cfgs, &quote!(#consumed #(#items)* #registered));
    let expansion_of = |function: &FunctionItem| {
        expansions
            .iter()
            .find(|expansion| is_traced(expansion.tool, function))
    };
    let block = toolset
        .block
        .rewritten(|function| expansion_of(function).map(|expansion| expansion.here(body::tool)));
    quote!(#block #(#cfgs #public)* #constant)
}

/// Returns true for the function of a tool, whose body gets a span.
fn is_traced(tool: &Tool, function: &FunctionItem) -> bool {
    tool.kind == ItemKind::Tool && std::ptr::eq(tool.function, function)
}

/// The specs of a block.
struct BlockSpecs {
    tools: Vec<TokenStream>,
    /// Expands to: `.prompts(&[..]).resources(&[..])`, without what there is none of.
    others: TokenStream,
}

impl BlockSpecs {
    fn of(expansions: &[ToolExpansion]) -> Self {
        let of_kind = |kind| {
            let of_kind = expansions
                .iter()
                .filter(move |expansion| expansion.tool.kind == kind);
            of_kind
                .map(|expansion| expansion.here(spec::expand))
                .collect::<Vec<_>>()
        };
        let tools = of_kind(ItemKind::Tool);
        let prompts = of_kind(ItemKind::Prompt);
        let resources = of_kind(ItemKind::Resource);
        let span = Span::mixed_site();
        let prompts =
            (!prompts.is_empty()).then(|| quote_spanned!(span=> .prompts(&[#(#prompts),*])));
        let resources =
            (!resources.is_empty()).then(|| quote_spanned!(span=> .resources(&[#(#resources),*])));
        Self {
            tools,
            others: quote!(#prompts #resources),
        }
    }

    /// Expands to: `.tools(&[..]).prompts(&[..])`, without what there is none of.
    fn of_part(&self) -> TokenStream {
        let Self { tools, others } = self;
        let tools = (!tools.is_empty())
            .then(|| quote_spanned!(Span::mixed_site()=> .tools(&[#(#tools),*])));
        quote!(#tools #others)
    }
}

/// Names the attributes of the tools that are not left to rustc, which would report their imports
/// as unused.
///
/// A name that is not imported is that of the struct. Imports look in all namespaces, and
/// attributes have their own.
///
/// Expands to: `const _: () = { struct tool; use tool as _; };`
fn consumed<'a>(
    tools: impl IntoIterator<Item = &'a Tool<'a>>,
    names: &[&str],
) -> Option<TokenStream> {
    let attrs: Vec<&Attribute> = tools
        .into_iter()
        .flat_map(|tool| &tool.function.attrs)
        .collect();
    let first = |name: &&str| {
        attrs
            .iter()
            .find_map(|attr| attr.path().get_ident().filter(|ident| *ident == *name))
    };
    let found: Vec<Ident> = names
        .iter()
        .filter_map(first)
        .map(|ident| Ident::new(&ident.to_string(), located(ident)))
        .collect();
    let span = Span::mixed_site();
    (!found.is_empty())
        .then(|| quote_spanned!(span=> const _: () = { #(struct #found; use #found as _;)* };))
}

fn cfgs(attrs: &[Attribute]) -> TokenStream {
    let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    quote!(#(#cfgs)*)
}

fn expansions<'a>(toolset: &'a Toolset, scope: &'a ItemScope) -> Vec<ToolExpansion<'a>> {
    let mut taken = Vec::new();
    let is_mentioned = |name: &str| {
        let auth = &toolset.options.auth;
        let description = &toolset.options.description;
        mentions(&toolset.block.head, name)
            || mentions(quote!(#auth #description), name)
            || toolset.tools.iter().any(|tool| tool_mentions(tool, name))
    };
    let expand = |tool| {
        let name = ArgsType::name(tool, &mut taken, is_mentioned);
        ToolExpansion {
            tool,
            scope,
            args: ArgsType::of(tool, scope, name),
        }
    };
    toolset.tools.iter().map(expand).collect()
}

/// Expands to:
///
/// ```text
/// impl __tool::MainToolsetBlock for GoogleCalendar {
///     const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("google_calendar").description("..").at(10);
///     const TOOLS: &'static [__tool::ToolSpec<Self>] = &[..];
///     const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
/// }
/// __tool::inventory::submit! { __tool::Registration::toolset::<GoogleCalendar>() }
/// ```
fn main_block(toolset: &Toolset, scope: &ItemScope, specs: &BlockSpecs) -> TokenStream {
    let self_ty = &scope.self_ty;
    let place = located(&scope.self_ty);
    let name = &toolset.name.text;
    let description = toolset.description.as_ref().map(|description| {
        let description = text(description, scope);
        quote_spanned!(place=> .description(#description))
    });
    let BlockSpecs { tools, others } = specs;
    let line = proc_macro2::Literal::u32_unsuffixed(line_of(toolset));
    let options = options(toolset, scope);
    let spec = quote_spanned! {place=>
        __tool::ToolsetSpec::new(#name) #description .at(#line) #options #others
    };
    let spec = with_conditional_lifecycles(toolset, scope, spec);
    let tools = (!tools.is_empty()).then(|| {
        quote_spanned! {place=>
            const TOOLS: &'static [__tool::ToolSpec<Self>] = &[#(#tools),*];
        }
    });
    let clause = scope.where_clause();
    let declared = scope.declared();
    let generics = scope.is_generic().then(|| quote!(<#declared>));
    // A generic type has no single instantiation that discovery could find.
    let is_found = !scope.is_generic();
    let discovery = is_found.then(|| {
        quote_spanned! {place=>
            const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
        }
    });
    let registered = is_found.then(|| {
        quote_spanned! {place=>
            __tool::inventory::submit! { __tool::Registration::toolset::<#self_ty>() }
        }
    });
    quote_spanned! {place=>
        impl #generics __tool::MainToolsetBlock for #self_ty #clause {
            const TOOLSET: __tool::ToolsetSpec<Self> = #spec;
            #tools
            #discovery
        }
        #registered
    }
}

fn line_of(toolset: &Toolset) -> u32 {
    line(toolset.block.parsed.impl_token.span)
}

fn options(toolset: &Toolset, scope: &ItemScope) -> TokenStream {
    let options = &toolset.options;
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let prefix = options.prefix.as_ref().map(|prefix| match prefix {
        PrefixOption::Name => toolset.name.text.to_token_stream(),
        PrefixOption::Text(text) => text.to_token_stream(),
    });
    let prefix = prefix.map(|prefix| quote!(.prefix(#prefix)));
    let auth = options.auth.as_ref().map(|auth| {
        let auth = scope.without_self(auth);
        quote!(.auth(|| #auth))
    });
    let undiscovered = options
        .discover
        .as_ref()
        .filter(|discover| !discover.value)
        .map(|_| quote!(.no_discovery()));
    // An error about a missing part points at its name.
    let parts = options.parts.iter().map(|name| {
        let mut part = part_ident(name);
        part.set_span(located(name));
        part
    });
    let parts = (!options.parts.is_empty()).then(|| quote!(.parts(&[#(Self::#parts),*])));
    let lifecycles = lifecycle_methods(toolset)
        .filter(|method| !method.function.is_conditional())
        .map(|method| method.expand(scope));
    quote!(#title #prefix #auth #undiscovered #parts #(#lifecycles)*)
}

/// A `#[setup]` or `#[close]` method.
struct LifecycleMethod<'a> {
    /// `setup` or `close`.
    name: &'static str,
    function: &'a FunctionItem,
}

fn lifecycle_methods<'a>(toolset: &'a Toolset) -> impl Iterator<Item = LifecycleMethod<'a>> {
    let of = |name, functions: &'a Vec<&'a FunctionItem>| {
        functions
            .iter()
            .map(move |function| LifecycleMethod { name, function })
    };
    of("setup", &toolset.setup).chain(of("close", &toolset.close))
}

impl LifecycleMethod<'_> {
    /// Expands to:
    /// `.setup(|this| __tool::lifecycle(async move { __tool::outcome!(GoogleCalendar::setup(this).await) }))`
    fn expand(&self, scope: &ItemScope) -> TokenStream {
        let method = generated(self.name);
        let this = generated("__this");
        let name = self.function.ident();
        let path = scope.self_path(name.span());
        let awaited = self.function.sig.asyncness.map(|_| quote!(.await));
        let outcome =
            quote_spanned!(located(name)=> __tool::outcome!(#path::#name(#this) #awaited));
        quote_spanned!(located(name)=> .#method(|#this| __tool::lifecycle(async move { #outcome })))
    }
}

/// Adds the `#[setup]` and `#[close]` methods that are not in every build.
///
/// Expands to: `{ let value = spec; #[cfg(unix)] let value = value.setup(..); value }`
fn with_conditional_lifecycles(
    toolset: &Toolset,
    scope: &ItemScope,
    spec: TokenStream,
) -> TokenStream {
    let value = generated("__value");
    let steps = lifecycle_methods(toolset)
        .filter(|method| method.function.is_conditional())
        .map(|method| {
            let cfgs = method.function.cfgs();
            let added = method.expand(scope);
            quote_spanned!(located(method.function.ident())=> #(#cfgs)* let #value = #value #added;)
        });
    let steps = steps.collect::<Vec<_>>();
    if steps.is_empty() {
        return spec;
    }
    quote_spanned!(located(&scope.self_ty)=> { let #value = #spec; #(#steps)* #value })
}

fn part_ident(name: &Ident) -> Ident {
    format_ident!("__tool_part_{name}", span = Span::mixed_site())
}

/// Expands to:
///
/// ```text
/// impl<T> Store<T> {
///     #[doc(hidden)] pub const fn __tool_part_admin() -> &'static __tool::PartSpec<Self> { Self::__TOOL_PART_ADMIN }
///     const __TOOL_PART_ADMIN: &'static __tool::PartSpec<Self> = &__tool::PartSpec::new().tools(&[..]);
/// }
/// ```
fn named_part(name: &Ident, scope: &ItemScope, specs: &BlockSpecs) -> TokenStream {
    let self_ty = &scope.self_ty;
    let function = part_ident(name);
    let specs = specs.of_part();
    let constant = generated(&function.to_string().to_uppercase());
    let generics = scope.declared();
    let clause = scope.where_clause();
    let generics = scope.is_generic().then(|| quote!(<#generics>));
    quote_spanned! {Span::mixed_site()=>
        impl #generics #self_ty #clause {
            #[doc(hidden)]
            pub const fn #function() -> &'static __tool::PartSpec<Self> { Self::#constant }
            const #constant: &'static __tool::PartSpec<Self> = &__tool::PartSpec::new() #specs;
        }
    }
}

/// Expands to:
///
/// ```text
/// static __TOOL_PART: __tool::PartSpec<GoogleCalendar> = __tool::PartSpec::new().at(..).tools(&[..]);
/// __tool::inventory::submit! { __tool::Registration::part(&__TOOL_PART) }
/// ```
fn part(toolset: &Toolset, scope: &ItemScope, specs: &BlockSpecs) -> TokenStream {
    let self_ty = &scope.self_ty;
    let specs = specs.of_part();
    let path = format!("::{}", compact(self_ty));
    let at = spec::source_location(line_of(toolset), &path);
    quote_spanned! {Span::mixed_site()=>
        static __TOOL_PART: __tool::PartSpec<#self_ty> = __tool::PartSpec::new() #at #specs;
        __tool::inventory::submit! { __tool::Registration::part(&__TOOL_PART) }
    }
}

/// Expands to:
///
/// ```text
/// fn add(..) { ::tool_core::__private::body::<i64>().__tool_span(..).run(..) }
/// const _: () = {
///     ..
///     static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(..);
///     __tool::inventory::submit! { __tool::Registration::function(|| __tool::type_id_of(&add), &__TOOL_SPEC) }
/// };
/// ```
pub(crate) fn expand_function(tool: &Tool) -> TokenStream {
    let scope = ItemScope::free(tool.options.krate.as_ref(), tool.function);
    let function = tool.function;
    let name = tool.ident();
    let ident = ArgsType::name(tool, &mut Vec::new(), |name| tool_mentions(tool, name));
    let expansion = ToolExpansion {
        tool,
        scope: &scope,
        args: ArgsType::of(tool, &scope, ident),
    };
    let items = expansion.here(items);
    let public = expansion.here(arguments::define_public);
    let spec = expansion.here(spec::expand);
    let consumed = consumed([tool], &["agent"]);
    let (spec_type, register) = match tool.kind {
        ItemKind::Tool => ("ToolSpec", "function"),
        ItemKind::Prompt => ("PromptSpec", "prompt"),
        ItemKind::Resource => ("ResourceSpec", "resource"),
    };
    let spec_type = generated(spec_type);
    let register = generated(register);
    let items = quote_spanned! {Span::mixed_site()=>
        #consumed
        #items
        static __TOOL_SPEC: __tool::#spec_type<()> = #spec;
        __tool::inventory::submit! {
            __tool::Registration::#register(|| __tool::type_id_of(&#name), &__TOOL_SPEC)
        }
    };
    let constant = scope.enclose(&TokenStream::new(), &items);
    let function = match tool.kind {
        ItemKind::Tool => function.rewritten(&expansion.here(body::tool)),
        ItemKind::Prompt | ItemKind::Resource => function.to_token_stream(),
    };
    quote!(#function #public #constant)
}

/// Expands to: the argument struct, its `ArgumentStruct` impl, the wrapper.
fn items(expansion: &ToolExpansion) -> TokenStream {
    let structs = arguments::define_private(expansion);
    let decode = decode::expand(expansion);
    let wrapper = wrapper::expand(expansion);
    quote_spanned!(Span::mixed_site()=> #structs #decode #wrapper)
}
