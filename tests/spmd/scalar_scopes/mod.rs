//! Scoped behaviours of scalars: their visible values, the write that wins, and the number of messages.

mod costs;
mod program;
mod replica;
mod value;

use aurora_core::{Error, ReadMostly, Result};
use aurora_suite::Body;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(value::a_read_cache_shows_what_was_set_before),
        Body::of(value::the_last_write_of_the_highest_rank_wins),
        Body::of(value::partial_values_are_merged_in_the_order_of_ranks),
        Body::of(value::scopes_follow_each_other_without_waiting),
        Body::of(replica::a_replica_follows_what_is_set),
        Body::of(replica::a_replica_never_goes_back),
        Body::of(replica::the_better_bound_is_never_lost),
        Body::of(replica::an_offer_after_a_worse_value_was_set_counts),
        Body::of(replica::offers_of_sums_count_once),
        Body::of(replica::the_scalar_itself_inside_a_read_mostly),
        Body::of(costs::what_scopes_cost),
        Body::of(costs::a_bound_is_told_at_once).from_ranks(2),
        Body::of(costs::an_offer_costs_at_most_one_message_each_way).from_ranks(2),
        Body::of(program::random_programs),
    ]
}

/// Reads a replica until it shows the expected value.
fn until<T, O>(scope: &ReadMostly<'_, T, O>, mut shown: impl FnMut(&T) -> bool) -> Result<T>
where
    T: Serialize + for<'de> Deserialize<'de> + 'static,
{
    let start = Instant::now();
    loop {
        let value = scope.get()?;
        if shown(&value) {
            return Ok(value);
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(Error::user("the replica does not follow"));
        }
        std::thread::yield_now();
    }
}
