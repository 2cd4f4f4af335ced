//! Synchronous access to one remote element: one message there and one back, served by a rank that is idle otherwise.

use aurora_core::{GVector, Result};
use aurora_suite::timing::{ROUTES, between_barriers, in_threads};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

/// What is done to the element.
type Access = fn(&mut GVector<u64>, usize) -> Result<()>;

const ACCESSES: [(&str, Access); 2] = [
    ("at", |v, i| {
        black_box(v.at(i)?);
        Ok(())
    }),
    ("put", |v, i| v.put(i, black_box(7))),
];

fn access(c: &mut Criterion) {
    for (what, access) in ACCESSES {
        for (place, rank) in [("remote", 1), ("own", 0)] {
            let mut group = c.benchmark_group(format!("{what}/{place}"));
            group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
            for (name, route) in ROUTES {
                group.bench_function(format!("2ranks/aurora-{name}"), |bencher| {
                    bencher.iter_custom(|times| {
                        in_threads(2, route, |world| {
                            let mut v = GVector::<u64>::new(world, 1024)?;
                            let first = v.range_of(rank).start;
                            let times = if world.is_root() { times } else { 0 };
                            between_barriers(world, times, |i| access(&mut v, first + i as usize % 512))
                        })
                    });
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, access);
criterion_main!(benches);
