//! The link model of the simulator takes as long as `aurora-net`'s simulated network, within 5 %. The example
//! `calibrate` has more hosts.

mod bulk;

use bulk::Bulk;

#[test]
fn the_link_model_takes_as_long_as_the_simulated_network() {
    let all_sizes = Bulk::all(&[10, 25, 40, 99, 200, 500], &[2, 4, 8]);
    for bulk in all_sizes.into_iter().chain(Bulk::all(&[10, 25], &[64])) {
        let times = bulk.times();
        assert!((0.95..=1.05).contains(&times.ratio()), "{bulk}: {times:?}");
    }
}
