//! The bound of the wire: how long the payload of an operation takes at the least.

use super::series::{Key, Setting};

/// Bits a second of a network as a label names it: `155 Mbit/s, MTU 9000`, `1 Gbit/s`, `155mbit`.
pub fn bits_per_second(network: &str) -> Option<f64> {
    let text = network.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim_start().to_ascii_lowercase();
    let scale = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("tbit", 1e12)];
    let (_, scale) = scale.into_iter().find(|(name, _)| unit.starts_with(name))?;
    Some(number * scale).filter(|rate| *rate > 0.0)
}

/// Bytes that the operation of a [`Key`] brings into the busiest of so many nodes at the least; none where there is no
/// such bound.
pub type Payload = fn(&Key, usize) -> Option<usize>;

/// Seconds that the payload into the busiest node takes at the rate of its link; none where the network or the payload
/// is not known.
pub fn bound(key: &Key, ranks: usize, payload: Payload) -> Option<f64> {
    let rate = bits_per_second(key.setting.network.as_deref()?)?;
    let payload = payload(key, nodes(&key.setting, ranks)?)?;
    Some(8.0 * payload as f64 / rate).filter(|seconds| *seconds > 0.0)
}

/// Ranks of one machine share its link.
fn nodes(setting: &Setting, ranks: usize) -> Option<usize> {
    let per_node = setting.per_node.unwrap_or(1);
    ranks.is_multiple_of(per_node).then_some(ranks / per_node)
}

#[cfg(test)]
mod tests {
    use super::super::collect::Collection;
    use super::super::fixture::{bench, known, labelled, read};
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

    #[test]
    fn the_bound_is_the_payload_into_one_node() {
        let of = |name: &str, labels: &[(&str, &str)]| {
            let run = bench(name, 4, &[("aurora", 1.0)]);
            let run = labels.iter().fold(run, |run, (key, value)| labelled(run, key, value));
            let all = Collection::of(&read(&[run]));
            bound(all.benches.keys().next().unwrap(), 4, known().payload)
        };
        let network = ("network", "8 Mbit/s");
        assert_eq!(of("read-cache", &[network]), Some(24.0));
        assert_eq!(of("read-cache", &[network, ("nodes", "2")]), Some(16.0));
        assert_eq!(of("read-cache", &[network, ("nodes", "1")]), None);
        assert_eq!(of("barrier", &[network]), None);
        assert_eq!(of("read-cache", &[]), None);
    }
}
