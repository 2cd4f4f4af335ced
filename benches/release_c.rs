//! Buffered writes: the time of one `put` or `update` of each rank, its share of the scope's end included.

use aurora_core::{Add, GVector};
use aurora_core::{Result, Route, World};
use aurora_suite::random::mix;
use aurora_suite::timing::{ROUTES, between_barriers, in_threads};
use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Duration;

const LEN: usize = 1 << 18;
/// Writes of each rank in one scope.
const WRITES: usize = 1 << 16;

/// Of all scopes together, the part of one write in each: criterion divides by the scopes and prints ns per write.
fn each_of(writes: usize, ranks: usize, route: Route, scopes: impl Fn(&World) -> Result<Duration> + Sync) -> Duration {
    in_threads(ranks, route, scopes) / writes as u32
}

fn release_c(c: &mut Criterion) {
    let mut group = c.benchmark_group("release_c");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    let random: Vec<_> = (0..WRITES).map(|i| mix(i as u64) as usize % LEN).collect();
    let scattered = &random;
    for ranks in [2, 4] {
        for (name, route) in ROUTES {
            group.bench_function(format!("put/sequential/{ranks}ranks/aurora-{name}"), |b| {
                b.iter_custom(|times| {
                    each_of(WRITES, ranks, route, |world| {
                        let mut v = GVector::<u64>::new(world, LEN)?;
                        let first = world.rank().index() * 77_777;
                        between_barriers(world, times, |_| {
                            let mut scope = v.release_c()?;
                            for i in 0..WRITES {
                                scope.put((first + i) % LEN, i as u64)?;
                            }
                            scope.finish()
                        })
                    })
                });
            });
            group.bench_function(format!("update/random/{ranks}ranks/aurora-{name}"), |b| {
                b.iter_custom(|times| {
                    each_of(WRITES, ranks, route, |world| {
                        let mut v = GVector::<u64>::new(world, LEN)?;
                        between_barriers(world, times, |_| {
                            let mut scope = v.release_c_with::<Add>()?;
                            for &i in scattered {
                                scope.update(i, 1)?;
                            }
                            scope.finish()
                        })
                    })
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, release_c);
criterion_main!(benches);
