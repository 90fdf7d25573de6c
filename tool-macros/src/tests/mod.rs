//! Expansions against golden files, and the parts of the pipeline by themselves.

mod budget;
mod expansion;
mod messages;
mod options;
mod words;

use proc_macro2::TokenStream;

/// The tokens as rustfmt would have them.
fn pretty(tokens: &TokenStream) -> String {
    let file: syn::File = syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error}\n{tokens}"));
    prettyplease::unparse(&file)
}

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the source is made of tokens")
}

/// The messages of the `compile_error!`s in an expansion.
fn complaints(expanded: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let trees: Vec<_> = expanded.clone().into_iter().collect();
    for window in trees.windows(3) {
        if let [proc_macro2::TokenTree::Ident(name), _, proc_macro2::TokenTree::Group(group)] = window
            && name == "compile_error"
            && let Ok(text) = syn::parse2::<syn::LitStr>(group.stream())
        {
            found.push(text.value());
        }
    }
    found
}
