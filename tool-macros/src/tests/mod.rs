//! Expansions and error messages against golden files, and the parsing of options.

mod budget;
mod expansion;
mod messages;
mod options;

use proc_macro2::TokenStream;

/// Formats the tokens.
fn pretty(tokens: &TokenStream) -> String {
    let file: syn::File =
        syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error}\n{tokens}"));
    prettyplease::unparse(&file)
}

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the source is made of tokens")
}

/// Returns the messages of the `compile_error!`s in an expansion.
pub(crate) fn errors_in(expanded: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let trees: Vec<_> = expanded.clone().into_iter().collect();
    for window in trees.windows(3) {
        if let [
            proc_macro2::TokenTree::Ident(name),
            _,
            proc_macro2::TokenTree::Group(group),
        ] = window
            && name == "compile_error"
            && let Ok(text) = syn::parse2::<syn::LitStr>(group.stream())
        {
            found.push(text.value());
        }
    }
    found
}
