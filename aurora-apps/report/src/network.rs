//! The bound of the network: the minimum time for the payload of an operation.

use super::series::Key;

/// Returns the bits a second of a network as in its label: `155 Mbit/s, MTU 9000`, `1 Gbit/s`, `155mbit`.
pub fn bits_per_second(network: &str) -> Option<f64> {
    let text = network.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim_start().to_ascii_lowercase();
    let scale = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("tbit", 1e12)];
    let (_, scale) = scale.into_iter().find(|(name, _)| unit.starts_with(name))?;
    Some(number * scale).filter(|rate| *rate > 0.0)
}

/// Returns the minimum number of bytes that the operation of a [`Key`] brings into the busiest of a number of nodes, or
/// `None` if there is no such bound.
pub type Payload = fn(&Key, usize) -> Option<usize>;

/// Returns the seconds that the payload into the busiest node takes at the rate of its link, or `None` if the network
/// or the payload is unknown.
pub fn bound(key: &Key, ranks: usize, payload: Payload) -> Option<f64> {
    let rate = bits_per_second(key.setting.network.as_deref()?)?;
    // Ranks of one machine share its link.
    let per_node = key.setting.per_node.unwrap_or(1);
    let payload = payload(key, ranks.is_multiple_of(per_node).then_some(ranks / per_node)?)?;
    Some(8.0 * payload as f64 / rate).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_from_its_label() {
        for (text, rate) in [
            ("155 Mbit/s, MTU 9000", Some(155e6)),
            ("1 Gbit/s", Some(1e9)),
            ("2.5Gbit/s", Some(2.5e9)),
            ("155mbit", Some(155e6)),
            ("InfiniBand", None),
            ("0 Mbit/s", None),
            ("9000", None),
            ("10 MB/s", None),
        ] {
            assert_eq!(bits_per_second(text), rate, "{text}");
        }
    }
}
