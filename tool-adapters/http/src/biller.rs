//! The provider that bills requests to a URL.

/// A function that returns the provider that bills requests to a URL.
///
/// The builtin price table registers one. The packages that send requests cannot import it, because
/// prices are a layer above them.
pub struct BillerLookup(pub fn(url: &str) -> Option<&'static str>);

inventory::collect!(BillerLookup);

/// Returns the provider that bills requests to a URL, if a price table knows the URL.
pub fn biller_of_url(url: &str) -> Option<&'static str> {
    inventory::iter::<BillerLookup>().find_map(|lookup| (lookup.0)(url))
}
