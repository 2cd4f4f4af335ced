//! One `ReadCache` of a matrix whose blocks have all changed: the load that the main job does twice in each repetition.

use aurora_core::{GVector, MatrixDim};
use aurora_suite::timing::{ROUTES, between_barriers, in_threads};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

fn read_cache(c: &mut Criterion) {
    let mut group = c.benchmark_group("read_cache/704x704");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Bytes(704 * 704 * 4));
    for ranks in [2, 4] {
        for (name, route) in ROUTES {
            group.bench_function(format!("{ranks}ranks/aurora-{name}"), |bencher| {
                bencher.iter_custom(|times| {
                    in_threads(ranks, route, |world| {
                        let mut v = GVector::<i32>::new(world, MatrixDim::new(704, 704))?;
                        drop(v.read_cache()?);
                        between_barriers(world, times, |_| {
                            // The whole block counts as changed.
                            v.owner_computes_mut()?.local_mut();
                            v.read_cache()?.finish()
                        })
                    })
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, read_cache);
criterion_main!(benches);
