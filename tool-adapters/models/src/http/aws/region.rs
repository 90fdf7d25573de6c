//! The region of a host of AWS.

/// Returns the region in the name of a host: `bedrock-runtime.eu-west-1.amazonaws.com`, with a name of a private endpoint
/// before it, or with `-fips`.
pub(crate) fn region_of_host(host: &str) -> Option<&str> {
    if !host.ends_with(".amazonaws.com") {
        return None;
    }
    let mut labels = host.split('.');
    labels.find(|label| matches!(*label, "bedrock-runtime" | "bedrock-runtime-fips"))?;
    labels.next()
}

#[cfg(test)]
mod tests {
    use super::region_of_host;

    #[test]
    fn the_host_of_a_region_names_it() {
        for host in [
            "bedrock-runtime.eu-west-1.amazonaws.com",
            "bedrock-runtime-fips.eu-west-1.amazonaws.com",
            "vpce-0123.bedrock-runtime.eu-west-1.vpce.amazonaws.com",
        ] {
            assert_eq!(region_of_host(host), Some("eu-west-1"), "{host}");
        }
        for host in ["", "localhost", "bedrock-runtime.eu-west-1.evil.example"] {
            assert_eq!(region_of_host(host), None, "{host}");
        }
    }
}
