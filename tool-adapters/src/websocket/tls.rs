//! TLS, with the certificates that the system trusts.

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, Error};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// The crypto provider is said outright, as rustls panics where it has to guess among several, or among none. It is the
/// program's own, where it has installed one, and else the one that reqwest takes.
pub(super) fn client_config() -> Result<Arc<ClientConfig>, Error> {
    let own = || Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(own);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_configuration_can_be_made_without_a_provider_that_the_program_has_installed() {
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
        let config = super::client_config().expect("a configuration");
        assert!(!config.crypto_provider().cipher_suites.is_empty());
    }
}
