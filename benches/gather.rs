//! Random reads: the time of one by each rank, without a behaviour, from a list, and by an iterator that runs ahead; and what a scope costs
//! in which nothing is read.

use aurora_core::{GVector, Result, Route, World};
use aurora_suite::random::mix;
use aurora_suite::timing::{ROUTES, between_barriers, in_threads};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

const LEN: usize = 1 << 20;

/// How elements are read, and how many at a time.
type Way = (&'static str, usize, fn(&GVector<u64>, &[usize]) -> Result<()>);

const WAYS: [Way; 4] = [
    ("at", 1 << 8, |v, indices| {
        for index in indices {
            black_box(v.at(*index)?);
        }
        Ok(())
    }),
    ("at_many", 1 << 18, |v, indices| {
        black_box(v.at_many(indices)?);
        Ok(())
    }),
    ("gather/read", 1 << 18, |v, indices| {
        black_box(v.gatherer()?.read(indices)?);
        Ok(())
    }),
    ("gather/iter", 1 << 18, |v, indices| {
        for value in v.gatherer()?.iter(indices.iter().copied()) {
            black_box(value?);
        }
        Ok(())
    }),
];

/// Of all rounds together, the part of one read in each: criterion divides by the rounds and prints ns per read.
fn each_of(reads: usize, route: Route, rounds: impl Fn(&World) -> Result<Duration> + Sync) -> Duration {
    in_threads(2, route, rounds) / reads as u32
}

fn gather(c: &mut Criterion) {
    let mut group = c.benchmark_group("gather");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    for (route_name, route) in ROUTES {
        for (name, reads, read) in WAYS {
            group.bench_function(format!("random/{name}/2ranks/aurora-{route_name}"), |b| {
                b.iter_custom(|times| {
                    each_of(reads, route, |world| {
                        let v = GVector::<u64>::from_fn(world, LEN, |i| i as u64)?;
                        let first = world.rank().index() * reads;
                        let indices: Vec<_> = (first..first + reads).map(|i| mix(i as u64) as usize % LEN).collect();
                        between_barriers(world, times, |_| read(&v, &indices))
                    })
                });
            });
        }
        group.bench_function(format!("nothing/2ranks/aurora-{route_name}"), |b| {
            b.iter_custom(|times| {
                in_threads(2, route, |world| {
                    let v = GVector::<u64>::new(world, LEN)?;
                    between_barriers(world, times, |_| v.gatherer()?.finish())
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, gather);
criterion_main!(benches);
