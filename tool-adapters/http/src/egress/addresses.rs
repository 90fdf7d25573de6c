//! The addresses that are not public: IANA's registries of special addresses, multicast, and all
//! that is not assigned.
//! <https://www.iana.org/assignments/iana-ipv4-special-registry> and `iana-ipv6-special-registry`

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The special ranges of IPv4, with the words of an error.
const V4: [(Ipv4Net, &str); 20] = [
    (v4([0, 0, 0, 0], 8), "an unspecified address"),
    (v4([10, 0, 0, 0], 8), "a private address"),
    (v4([100, 64, 0, 0], 10), "an address of a carrier's network"),
    (v4([127, 0, 0, 0], 8), "a loopback address"),
    // The platform service of Azure, with the credentials of the machine, has a public address.
    (
        v4([168, 63, 129, 16], 32),
        "the address of a cloud's metadata",
    ),
    (v4([169, 254, 0, 0], 16), "a link-local address"),
    (v4([172, 16, 0, 0], 12), "a private address"),
    (v4([192, 0, 0, 0], 24), "an address of protocols"),
    (v4([192, 0, 2, 0], 24), "a documentation address"),
    (v4([192, 31, 196, 0], 24), "an anycast sink"),
    (v4([192, 52, 193, 0], 24), "a multicast tunnel"),
    (v4([192, 88, 99, 0], 24), "a 6to4 relay"),
    (v4([192, 168, 0, 0], 16), "a private address"),
    (v4([192, 175, 48, 0], 24), "an anycast sink"),
    (v4([198, 18, 0, 0], 15), "a benchmarking address"),
    (v4([198, 51, 100, 0], 24), "a documentation address"),
    (v4([203, 0, 113, 0], 24), "a documentation address"),
    (v4([224, 0, 0, 0], 4), "a multicast address"),
    (v4([255, 255, 255, 255], 32), "the broadcast address"),
    (v4([240, 0, 0, 0], 4), "a reserved address"),
];

/// The addresses of IPv6 behind which NAT64 puts those of IPv4.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);

/// The part of IPv6 that IANA assigns to networks of the internet.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);

/// The special ranges of IPv6. Those outside [`GLOBAL_UNICAST`] have a name of their own for the
/// error only.
const V6: [(Ipv6Net, &str); 16] = [
    (
        Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128),
        "an unspecified address",
    ),
    (
        Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128),
        "a loopback address",
    ),
    (
        Ipv6Net::new_assert(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), 96),
        "an IPv4 address in the form of IPv6",
    ),
    (v6([0, 0, 0], 96), "an IPv4 address in the form of IPv6"),
    (NAT64, "an address of NAT64"),
    (v6([0x64, 0xff9b, 1], 48), "an address of NAT64"),
    // Teredo, benchmarking, anycast, ORCHID and other protocols.
    (v6([0x2001, 0, 0], 23), "an address of protocols"),
    (v6([0x2001, 0xdb8, 0], 32), "a documentation address"),
    (v6([0x2002, 0, 0], 16), "an address of 6to4"),
    (v6([0x2620, 0x4f, 0x8000], 48), "an anycast sink"),
    (v6([0x3fff, 0, 0], 20), "a documentation address"),
    (v6([0x5f00, 0, 0], 16), "a segment of a route"),
    (v6([0xfc00, 0, 0], 7), "a private address"),
    (v6([0xfe80, 0, 0], 10), "a link-local address"),
    (v6([0xfec0, 0, 0], 10), "a site-local address"),
    (v6([0xff00, 0, 0], 8), "a multicast address"),
];

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b, c]: [u16; 3], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

/// Returns the kind of an address that is not public, such as `a private address`.
pub(crate) fn special_range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => V4
            .iter()
            .find(|(range, _)| range.contains(&address))
            .map(|(_, kind)| *kind),
        IpAddr::V6(address) => {
            let special = V6
                .iter()
                .find(|(range, _)| range.contains(&address))
                .map(|(_, kind)| *kind);
            special
                .or((!GLOBAL_UNICAST.contains(&address))
                    .then_some("an address outside the internet"))
        }
    }
}

/// Returns the address of IPv4 that NAT64 connects to.
pub(crate) fn behind_nat64(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V6(address) if NAT64.contains(&address) => {
            let [.., a, b, c, d] = address.octets();
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

/// Parses a network such as `10.20.0.0/16`, or a single address.
pub(crate) fn parse_network(text: &str) -> Option<IpNet> {
    text.parse()
        .ok()
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Returns a host in the form that URLs give it, without the dot at the end.
pub fn normalised_host(host: &str) -> Option<String> {
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    if host.contains(['/', '\\', '@', '?', '#']) || (host.contains(':') && !host.starts_with('[')) {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let name = url.host_str()?.trim_end_matches('.');
    (url.port().is_none() && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of both registries in November 2026, the multicast and the site-local range,
    /// IPv4-compatible addresses, and the metadata services of clouds.
    const SPECIAL: [&str; 62] = [
        "0.0.0.0/8",
        "0.0.0.0/32",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "100.100.100.200/32",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "169.254.169.254/32",
        "169.254.170.2/32",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.0.0/29",
        "192.0.0.8/32",
        "192.0.0.9/32",
        "192.0.0.10/32",
        "192.0.0.170/32",
        "192.0.0.171/32",
        "192.0.0.192/32",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.88.99.2/32",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "::1/128",
        "::/96",
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001::/32",
        "2001:1::1/128",
        "2001:1::2/128",
        "2001:1::3/128",
        "2001:2::/48",
        "2001:3::/32",
        "2001:4:112::/48",
        "2001:10::/28",
        "2001:20::/28",
        "2001:30::/28",
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fd00:ec2::254/128",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    ];

    fn first_and_last(range: &str) -> (IpAddr, IpAddr) {
        let range = range.parse::<IpNet>().expect("a range");
        (range.network(), range.broadcast())
    }

    fn step(address: IpAddr, by: i8) -> IpAddr {
        match address {
            IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(
                address.to_bits().wrapping_add_signed(i32::from(by)),
            )),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(
                address.to_bits().wrapping_add_signed(i128::from(by)),
            )),
        }
    }

    #[test]
    fn refuses_both_edges_of_every_special_range() {
        for range in SPECIAL {
            let (first, last) = first_and_last(range);
            assert!(
                special_range(first).is_some() && special_range(last).is_some(),
                "{range}"
            );
        }
    }

    #[test]
    fn allows_the_neighbours_of_special_ranges() {
        let mut checked = 0;
        for range in SPECIAL {
            let (first, last) = first_and_last(range);
            for neighbour in [step(first, -1), step(last, 1)] {
                let inside = SPECIAL.iter().any(|range| {
                    range
                        .parse::<IpNet>()
                        .expect("a range")
                        .contains(&neighbour)
                });
                let assigned = match neighbour {
                    IpAddr::V4(_) => true,
                    IpAddr::V6(address) => address.segments()[0] >> 13 == 1,
                };
                if assigned && !inside {
                    assert_eq!(special_range(neighbour), None, "{neighbour} beside {range}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 40, "{checked}");
    }

    #[test]
    fn refuses_ipv6_that_is_not_assigned() {
        for first in (0..=u16::MAX).filter(|first| first >> 13 != 1) {
            let address = Ipv6Addr::new(first, 0x4700, 0, 0, 0, 0, 0, 0x1111);
            assert!(special_range(address.into()).is_some(), "{address}");
        }
    }

    #[test]
    fn allows_public_addresses() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.215.14",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert_eq!(
                special_range(address.parse().expect("an address")),
                None,
                "{address}"
            );
        }
    }
}
