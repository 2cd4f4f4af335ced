//! k-means: an element and an operation of the program's own. `cargo run -p aurora-spmd --example clusters`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::prelude::*;

const POINTS: usize = 3000;
const K: usize = 3;

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Cluster {
    sum: [f64; 2],
    points: f64,
}

/// How two ranks' parts of a cluster become one. Associative and commutative, up to rounding.
struct Join;
impl Op<Cluster> for Join {
    fn apply(a: Cluster, b: Cluster) -> Cluster {
        Cluster { sum: [a.sum[0] + b.sum[0], a.sum[1] + b.sum[1]], points: a.points + b.points }
    }
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        // Points around (0, 0), (10, 0) and (20, 0).
        let points = GVector::<[f64; 2]>::from_fn(world, POINTS, |i| {
            [10.0 * (i % 3) as f64 + (i % 7) as f64 / 7.0, (i % 11) as f64 / 11.0]
        })?;
        let points = points.owner_computes()?;
        let mut centres = [[1.0, 0.0], [8.0, 0.0], [15.0, 0.0]];
        for _ in 0..10 {
            let mut clusters = GVector::<Cluster>::new(world, K)?; // zeros
            {
                let mut clusters = clusters.accumulate(Join)?; // sums of one's own, merged at the end of the scope
                for [x, y] in points.local() {
                    let distance = |[a, b]: [f64; 2]| (a - x).hypot(b - y);
                    let nearest = (0..K).min_by(|a, b| distance(centres[*a]).total_cmp(&distance(centres[*b])));
                    clusters.update(nearest.unwrap_or(0), Cluster { sum: [*x, *y], points: 1.0 })?;
                }
            }
            for (centre, Cluster { sum, points }) in centres.iter_mut().zip(clusters.read_cache()?.iter()) {
                *centre = sum.map(|sum| sum / points.max(1.0));
            }
        }
        // The mean of 0/7 to 6/7 is 3/7.
        assert!((0..K).all(|k| (centres[k][0] - 10.0 * k as f64 - 3.0 / 7.0).abs() < 0.01), "{centres:?}");
        if world.is_root() {
            println!("centres {centres:.2?}");
        }
        Ok(())
    })
}
