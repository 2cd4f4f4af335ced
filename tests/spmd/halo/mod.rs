//! `HaloCache`: the rank's own part and the elements around it, compared with a plain vector.

mod beside;
mod look;
mod random;
mod shape;
mod step;

use aurora_core::{Boundary, Halo, Route, World};
use aurora_suite::{Body, want};
use std::ops::Range;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(random::random_halos),
        Body::of(step::a_step_is_a_message_to_each_neighbour),
        Body::of(step::entries_alone_refresh_too),
        Body::of(step::after_a_refresh_others_are_served_until_the_next_slice),
        Body::of(step::a_halo_is_what_its_owner_had_at_that_step),
        Body::of(step::thousands_of_steps),
        Body::of(shape::rows_and_cells),
        Body::of(beside::two_vectors_take_turns),
        Body::of(beside::two_scopes_of_one_vector),
        Body::of(step::nothing_around),
        Body::of(step::who_owns_nothing_runs_ahead_and_says_nothing).from_ranks(2),
        Body::of(step::more_ranks_than_rows),
        Body::of(step::a_rank_waits_for_its_neighbours_alone).from_ranks(4),
        Body::of(beside::others_read_and_write_between_steps),
        Body::of(beside::among_other_scopes),
        Body::of(shape::threads_share_the_parts),
        Body::of(shape::elements_of_odd_size),
        Body::of(shape::long_edges),
        Body::of(shape::memory_is_kept_and_given_back),
    ]
}

/// The global indices before and behind `own`, in a vector of `len` elements with rows of `cols` elements.
fn around(own: &Range<usize>, len: usize, cols: usize, halo: Halo) -> (Vec<usize>, Vec<usize>) {
    let reach = if own.is_empty() { 0 } else { halo.width * cols };
    match halo.boundary {
        Boundary::Fixed => {
            let (first, last) = (own.start.saturating_sub(reach), (own.end + reach).min(len));
            (if own.is_empty() { 0..0 } else { first..own.start }.collect(), (own.end.min(last)..last).collect())
        }
        Boundary::Periodic => {
            let before = (1..=reach).rev().map(|back| (own.start + len * reach - back) % len);
            (before.collect(), (0..reach).map(|ahead| (own.end + ahead) % len).collect())
        }
    }
}

/// The messages and bytes of HaloCaches so far.
fn accounted(world: &World) -> (u64, u64) {
    let usage = world.usage();
    let lines = || usage.iter().filter(|line| line.action == "HaloCache");
    (lines().map(|line| line.usage.messages).sum(), lines().map(|line| line.usage.bytes).sum())
}

/// The number of neighbours whose edges do not go through shared memory.
fn far_neighbours(world: &World, halo: Halo) -> u64 {
    let (me, p) = (world.rank().index(), world.size());
    let mut beside = match halo.boundary {
        Boundary::Fixed => vec![me.wrapping_sub(1), me + 1],
        Boundary::Periodic => vec![(me + p - 1) % p, (me + 1) % p],
    };
    beside.dedup();
    let about = world.about();
    let is_near = |rank| about.routes.contains(&Route::Shm) && about.node_ranks.iter().any(|peer| *peer == rank);
    let far = |rank: &&usize| **rank < p && **rank != me && !is_near(**rank);
    beside.iter().filter(far).count() as u64
}

/// The number of other ranks that own elements next to a rank's block.
fn neighbours(world: &World, halo: Halo) -> u64 {
    let (me, p) = (world.rank().index(), world.size());
    match halo.boundary {
        Boundary::Fixed => u64::from(me > 0) + u64::from(me + 1 < p),
        Boundary::Periodic => [0, 1, 1][p.min(3) - 1].max(if p > 2 { 2 } else { 0 }),
    }
}
