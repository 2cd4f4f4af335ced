//! Behaviours on parts of a vector.

mod access;
mod load;
mod numbering;
mod own;
mod stream;
mod together;

use aurora_suite::Body;
use std::ops::Range;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(stream::a_part_is_loaded_while_a_stream_comes_in),
        Body::of(stream::a_part_is_written_while_a_stream_comes_in),
        Body::of(stream::late_ranks_see_nothing_of_a_part_that_is_written).from_ranks(2),
        Body::of(access::sums_of_a_part_and_reads_of_it),
        Body::of(access::reads_of_a_part_beside_writes_to_another),
        Body::of(load::a_part_is_loaded),
        Body::of(load::a_loaded_part_stays_as_it_is),
        Body::of(load::writes_before_a_load_are_in_it),
        Body::of(load::a_part_is_loaded_beside_writers_of_another),
        Body::of(own::my_part_of_a_part),
        Body::of(own::both_parts_at_once),
        Body::of(own::what_is_not_lent_is_served).from_ranks(2),
        Body::of(together::two_collective_scopes_at_once),
        Body::of(together::many_scopes_around_each_other),
        Body::of(together::scopes_of_many_parts_end_at_any_time),
        Body::of(together::both_parts_of_an_empty_vector),
        Body::of(together::one_rank_writes_alone_beside_a_scope_of_all),
        Body::of(together::a_load_does_not_wait_for_writes_to_another_part).from_ranks(2),
        Body::of(access::a_part_to_read_and_to_write),
        Body::of(access::rows),
        Body::of(load::a_place_that_others_show),
        Body::of(own::shared_guards_that_overlap),
        Body::of(access::outside_of_a_part),
        Body::of(numbering::indices_of_caches_are_global),
        Body::of(numbering::indices_of_my_part_are_global),
        Body::of(numbering::indices_of_a_halo_are_global),
        Body::of(numbering::indices_of_a_gather_and_of_a_stream_are_global),
    ]
}

/// Ranges of every kind.
fn ranges(len: usize) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0, 0..len, 0..len / 2, len / 2..len, len / 3..len - len / 3, len..len, len / 2..len / 2];
    ranges.extend((0..len.min(3)).map(|i| i..i + 1));
    ranges
}
