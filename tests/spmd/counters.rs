//! What each operation costs in messages. These numbers are part of what the behaviours promise.
//!
//! The counters also see the watch over waiting ranks, which asks after a rank that is late. So what is counted is
//! repeated, and the least is what the operation itself costs; what is accounted to a line of the program is exact.

use aurora_core::ops::Sum;
use aurora_core::{GScalar, GVector, Result, Traffic, World};
use aurora_suite::body::Body;
use aurora_suite::check;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_read_cache_is_one_transfer_to_each),
        Body::of(each_node_receives_each_block_once),
        Body::of(a_part_costs_what_it_shows),
        Body::of(a_scope_of_a_part_is_not_in_the_way_of_another),
        Body::of(an_unchanged_block_is_not_sent_again),
        Body::of(a_streaming_read_cache_sends_the_same),
        Body::of(owner_computes_sends_nothing),
        Body::of(a_remote_element_is_a_question_and_an_answer).from_ranks(2),
        Body::of(a_block_that_moved_away_comes_home),
        Body::of(a_few_released_writes),
        Body::of(an_accumulate_sends_once_to_each),
        Body::of(reading_and_writing_in_one_costs_both),
        Body::of(a_release_alone_is_answered_by_whom_it_writes_to),
        Body::of(what_a_line_costs),
    ]
}

/// Many: whatever takes longer than a moment on a busy machine makes ranks ask each other what they do, which counts as
/// well.
const ROUNDS: u64 = 20;

/// The least that `once` costs in each respect, of some rounds between barriers.
fn least(world: &World, mut once: impl FnMut(u64) -> Result<()>) -> Result<Traffic> {
    let mut best: Option<Traffic> = None;
    for round in 0..ROUNDS {
        world.barrier()?;
        let before = world.traffic();
        once(round)?;
        let cost = world.traffic() - before;
        best = Some(best.map_or(cost, |best| Traffic {
            transfers_out: best.transfers_out.min(cost.transfers_out),
            transfers_in: best.transfers_in.min(cost.transfers_in),
            bytes_out: best.bytes_out.min(cost.bytes_out),
            bytes_in: best.bytes_in.min(cost.bytes_in),
            ..best
        }));
    }
    world.barrier()?;
    Ok(best.unwrap_or_default())
}

/// Messages and bytes on the account of all lines so far.
pub fn accounted(world: &World) -> (u64, u64) {
    let usage = world.usage();
    let messages = usage.iter().map(|line| line.usage.messages).sum();
    (messages, usage.iter().map(|line| line.usage.bytes).sum())
}

/// How many nodes there are; ranks that share no memory count as one each.
fn nodes(world: &World) -> u64 {
    let about = world.about();
    match about.nodes {
        1 if !about.shared => world.size() as u64,
        nodes => nodes as u64,
    }
}

/// Messages by which a rank announces a load: where all share memory they meet there.
fn announcements(world: &World) -> u64 {
    if nodes(world) == 1 { 0 } else { world.size() as u64 - 1 }
}

/// Messages by which a rank tells its node peers of blocks of other nodes that it has received for them, at most.
fn words(world: &World) -> u64 {
    if nodes(world) == 1 { 0 } else { world.about().node_ranks.len() as u64 - 1 }
}

fn a_read_cache_is_one_transfer_to_each(world: &World) -> Result<()> {
    let (others, abroad, words) = (announcements(world), nodes(world) - 1, words(world));
    for len in [10, 1000, 100_001] {
        let mut v = GVector::<u32>::new(world, len)?;
        // To each other node once; what its node peers have before their eyes is not sent.
        let block = 4 * v.local_range().len() as u64;
        let mut exact = Vec::new();
        let cost = least(world, |round| {
            v.owner_computes_mut()?.local_mut().fill(round as u32 + 1);
            let before = accounted(world);
            let all = v.read_cache()?;
            let after = accounted(world);
            check::same(all.as_slice(), 0, |_| round as u32 + 1)?;
            exact.push((after.0 - before.0, after.1 - before.1));
            Ok(())
        })?;
        assert!((others..=others + words).contains(&cost.transfers_out), "{} transfers", cost.transfers_out);
        assert!(cost.bytes_out >= abroad * block);
        assert!(cost.bytes_out <= abroad * block + (others + words) * 300, "{} bytes", cost.bytes_out);
        // No request, no barrier, no answer: in no round.
        let (messages, bytes) = (others..=others + words, abroad * block..=abroad * block + words * 16);
        assert!(exact.iter().all(|cost| messages.contains(&cost.0) && bytes.contains(&cost.1)), "{exact:?}");
    }
    Ok(())
}

/// All that all ranks send for a load: the vector, once to each node but for what is there.
fn each_node_receives_each_block_once(world: &World) -> Result<()> {
    let abroad = nodes(world) - 1;
    let mut v = GVector::<u64>::new(world, 30_011)?;
    let sent = GScalar::new(world, 0, 0u64)?;
    for round in 1..=ROUNDS {
        v.owner_computes_mut()?.local_mut().fill(round);
        let before = accounted(world).1;
        check::same(v.read_cache()?.as_slice(), 0, |_| round)?;
        let after = accounted(world).1;
        sent.fetch_add(after - before)?;
        world.barrier()?;
    }
    let (total, least) = (sent.get()?, ROUNDS * abroad * 8 * v.len() as u64);
    let most = least + ROUNDS * world.size() as u64 * 64;
    assert!((least..=most).contains(&total), "{total} bytes instead of {least}");
    Ok(())
}

/// Of a part only what its owners have of it travels, to those who do not have it before their eyes: to one rank of
/// each node, which forwards it.
fn a_part_costs_what_it_shows(world: &World) -> Result<()> {
    let (others, words, abroad, about) = (announcements(world), words(world), nodes(world) - 1, world.about());
    let alone = about.nodes == 1 && !about.shared;
    let apart = if alone { world.size() - 1 } else { world.size() - about.node_ranks.len() } as u64;
    let (sent, wanted) = (GScalar::new(world, 0, 0u64)?, GScalar::new(world, 0, 0u64)?);
    for len in [100, 100_003] {
        let mut v = GVector::<u32>::new(world, len)?;
        let (part, mine) = (len / 3..len / 2 + 7, v.local_range());
        let own = 4 * (mine.start.max(part.start)..mine.end.min(part.end)).len() as u64;
        for round in 1..=ROUNDS as u32 {
            v.owner_computes_mut()?.local_mut().fill(round);
            let before = accounted(world);
            let seen = v.slice(part.clone()).read_cache()?;
            let after = accounted(world);
            check::same(seen.as_slice(), part.start, |_| round)?;
            drop(seen);
            let (messages, bytes) = (after.0 - before.0, after.1 - before.1);
            // What it receives for its node peers, from each rank of other nodes at most.
            assert!(
                (others..=others + words * apart).contains(&messages) && bytes >= abroad * own,
                "{messages}, {bytes}"
            );
            wanted.fetch_add(apart * own)?;
            sent.fetch_add(bytes)?;
            world.barrier()?;
        }
    }
    check::equal("bytes of all", sent.get()?, wanted.get()?)
}

/// A block is written in its place while others show another part of it: no later load has to fetch it from elsewhere.
fn a_scope_of_a_part_is_not_in_the_way_of_another(world: &World) -> Result<()> {
    let len = 1000 * world.size();
    let mut v = GVector::<u64>::new(world, len)?;
    let shares = nodes(world) == 1;
    for round in 1..=ROUNDS {
        let mine = v.local_range();
        let (left, mut right) = v.split_at_mut(len / 2);
        let seen = left.slice(..).read_cache()?;
        check::same(seen.as_slice(), 0, |_| 0)?;
        // Everybody shows it now, and goes on doing so.
        world.barrier()?;
        right.slice_mut(..).owner_computes_mut()?.local_mut().fill(round);
        world.barrier()?;
        let before = accounted(world);
        let whole = right.slice(..).read_cache()?;
        let after = accounted(world);
        check::same(whole.as_slice(), len / 2, |_| round)?;
        if shares {
            check::equal("messages", after.0 - before.0, 0)?;
        }
        drop((seen, whole));
        check::equal("my part", v.owner_computes()?.local().len(), mine.len())?;
        world.barrier()?;
    }
    Ok(())
}

fn an_unchanged_block_is_not_sent_again(world: &World) -> Result<()> {
    let (others, abroad, words) = (announcements(world), nodes(world) - 1, words(world));
    let mut v = GVector::<u64>::from_fn(world, 50_000, |i| i as u64)?;
    drop(v.read_cache()?);
    let cost = least(world, |_| check::same(v.read_cache()?.as_slice(), 0, |i| i as u64))?;
    check::equal("transfers out", cost.transfers_out, others)?;
    assert!(cost.bytes_out <= others * 300, "{} bytes", cost.bytes_out);
    // What one rank changes, only that rank sends.
    let first = v.range_of(0);
    let cost = least(world, |round| {
        if world.is_root() {
            v.put(0, round)?;
        }
        check::same(v.read_cache()?.as_slice(), 0, |i| if i == 0 { round } else { i as u64 })
    })?;
    let block = if world.is_root() { 8 * first.len() as u64 } else { 0 };
    assert!(cost.bytes_out <= abroad * block + (others + words) * 300, "{} bytes", cost.bytes_out);
    assert!((others..=others + words).contains(&cost.transfers_out), "{} transfers", cost.transfers_out);
    Ok(())
}

/// Streamed or not, a load is one transfer to each; besides, each block that a rank receives for its node is told its
/// node peers by itself.
fn a_streaming_read_cache_sends_the_same(world: &World) -> Result<()> {
    let (others, abroad) = (announcements(world), nodes(world) - 1);
    let words = words(world) * (world.size() - world.about().node_ranks.len()) as u64;
    let mut v = GVector::<u32>::new(world, 100_001)?;
    let block = 4 * v.local_range().len() as u64;
    let mut exact = Vec::new();
    let cost = least(world, |round| {
        v.owner_computes_mut()?.local_mut().fill(round as u32 + 1);
        let before = accounted(world);
        let stream = v.read_cache_blocks()?;
        for block in stream.blocks() {
            let (range, elements) = block?;
            check::same(elements, range.start, |_| round as u32 + 1)?;
        }
        let after = accounted(world);
        exact.push((after.0 - before.0, after.1 - before.1));
        Ok(())
    })?;
    assert!((others..=others + words).contains(&cost.transfers_out), "{} transfers", cost.transfers_out);
    assert!(cost.bytes_out <= abroad * block + (others + words) * 300, "{} bytes", cost.bytes_out);
    let (messages, bytes) = (others..=others + words, abroad * block..=abroad * block + words * 16);
    assert!(exact.iter().all(|cost| messages.contains(&cost.0) && bytes.contains(&cost.1)), "{exact:?}");
    Ok(())
}

fn owner_computes_sends_nothing(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 1000)?;
    let before = accounted(world);
    let cost = least(world, |round| {
        v.owner_computes_mut()?.local_mut().fill(round);
        let own = v.owner_computes()?;
        check::same(own.local(), 0, |_| round)?;
        own.finish()
    })?;
    check::equal("transfers out", cost.transfers_out, 0)?;
    check::equal("bytes out", cost.bytes_out, 0)?;
    // All that is accounted are the barriers.
    let lines = world.usage();
    let others = lines.iter().filter(|line| line.object.is_some() && line.action != "barrier");
    check::equal("messages of this object", others.filter(|l| l.action == "OwnerComputes").count(), 0)?;
    assert!(accounted(world).0 >= before.0);
    Ok(())
}

/// What is done to an element.
type Access = fn(&mut GVector<u64>, usize) -> Result<()>;

fn a_remote_element_is_a_question_and_an_answer(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::from_fn(world, 2 * world.size(), |i| i as u64)?;
    let remote = v.len() - 1;
    // Where memory is shared, elements are touched without a word.
    let transfers = if world.about().shared { 0 } else { 1 };
    let access: [Access; 4] = [
        |v, i| check::equal("element", v.at(i)?, i as u64),
        |v, i| check::equal("elements", v.at_many(&[i, i - 1])?[0], i as u64),
        |v, i| v.put(i, i as u64),
        |v, i| v.put_many(&[(i, i as u64), (i - 1, i as u64 - 1)]),
    ];
    for access in access {
        let cost = least(world, |_| match world.is_root() {
            true => access(&mut v, remote),
            // Silent meanwhile, so that what rank 0 receives is its answer.
            false => {
                std::thread::sleep(Duration::from_millis(3));
                Ok(())
            }
        })?;
        if world.is_root() {
            check::equal("questions", cost.transfers_out, transfers)?;
            check::equal("answers", cost.transfers_in, transfers)?;
        }
        // My own elements cost nothing.
        let own = v.local_range().start;
        let cost = least(world, |_| {
            check::equal("mine", v.at(own)?, own as u64)?;
            v.put(own, own as u64)
        })?;
        check::equal("transfers for my own", cost.transfers_out, 0)?;
    }
    Ok(())
}

/// A block that had to make way for a reader is reached directly again once its owner writes to it without one.
fn a_block_that_moved_away_comes_home(world: &World) -> Result<()> {
    if !world.about().shared || world.size() == 1 {
        return Ok(());
    }
    let mut v = GVector::<u64>::new(world, 10 * world.size())?;
    let cache = v.read_cache()?;
    if world.rank() == 1 {
        world.barrier()?;
        check::same(cache.as_slice(), 0, |_| 0)?;
        drop(cache);
    } else {
        drop(cache);
        if world.is_root() {
            v.put(0, 1)?;
        }
        world.barrier()?;
    }
    world.barrier()?;
    if world.is_root() {
        v.owner_computes_mut()?.local_mut()[1] = 2;
    }
    world.barrier()?;
    let cost = least(world, |_| check::equal("elements", &v.at_many(&[0, 1, 2])?[..], &[1, 2, 0][..]))?;
    check::equal("transfers out", cost.transfers_out, 0)
}

/// To each other rank one transfer: the writes together with the word of the end.
fn a_few_released_writes(world: &World) -> Result<()> {
    let (p, others) = (world.size(), world.size() as u64 - 1);
    let mut v = GVector::<u64>::new(world, 3 * p)?;
    let cost = least(world, |round| {
        let mut scope = v.release_c()?;
        for i in (world.rank().index()..3 * p).step_by(p) {
            scope.put(i, round)?;
        }
        scope.finish()
    })?;
    check::equal("transfers out", cost.transfers_out, others)?;
    assert!(cost.bytes_out <= others * 400, "{} bytes", cost.bytes_out);
    check::whole(&v, |_| ROUNDS - 1)
}

/// Nothing before the end, and then to each other rank one transfer: what was touched of its block together with the
/// word of the end.
fn an_accumulate_sends_once_to_each(world: &World) -> Result<()> {
    let (p, others) = (world.size(), world.size() as u64 - 1);
    let mut v = GVector::<u64>::new(world, 3000 * p)?;
    for (in_order, touched) in [(false, 0), (false, 3), (false, 3000), (true, 3)] {
        let mut exact = Vec::new();
        let cost = least(world, |_| {
            let before = accounted(world);
            let mut scope = if in_order { v.accumulate_in_order(Sum)? } else { v.accumulate(Sum)? };
            for round in 0..2 {
                (0..touched * p).try_for_each(|i| scope.update(i, round))?;
            }
            check::equal("messages inside", accounted(world), before)?;
            drop(scope);
            let after = accounted(world);
            exact.push((after.0 - before.0, after.1 - before.1));
            Ok(())
        })?;
        check::equal("transfers out", cost.transfers_out, others)?;
        assert!(exact.iter().all(|cost| cost.0 == others), "{exact:?}");
        // A value for each element of others that was touched, and for each rank where they go.
        let values = 8 * (0..touched * p).filter(|i| !v.local_range().contains(i)).count() as u64;
        assert!((values..=values + others * 400).contains(&cost.bytes_out), "{} bytes", cost.bytes_out);
    }
    Ok(())
}

/// On entry what a ReadCache sends, at the end what a ReleaseC sends, and nothing in between.
fn reading_and_writing_in_one_costs_both(world: &World) -> Result<()> {
    const BLOCK: usize = 1000;
    let (p, me, others) = (world.size(), world.rank().index(), world.size() as u64 - 1);
    let (load, abroad, words) = (announcements(world), nodes(world) - 1, words(world));
    let mut v = GVector::<u64>::new(world, BLOCK * p)?;
    for written in [0, 3] {
        for round in 0..ROUNDS {
            world.barrier()?;
            let before = accounted(world);
            let mut all = v.read_cache_release_c()?;
            let entered = accounted(world);
            // So many elements in each rank's block, which nobody else writes.
            for i in (0..p).flat_map(|owner| (0..written).map(move |k| owner * BLOCK + me * written + k)) {
                all[i] += 1;
            }
            let inside = accounted(world);
            drop(all);
            let ended = accounted(world);
            let messages = entered.0 - before.0;
            assert!((load..=load + words).contains(&messages), "{messages} messages of the entry in round {round}");
            // What nobody has written since the last load is not sent again.
            let pushed = if written > 0 && round > 0 { abroad * 8 * BLOCK as u64 } else { 0 };
            let bytes = entered.1 - before.1;
            if round > 0 {
                assert!((pushed..=pushed + words * 16).contains(&bytes), "{bytes} bytes of the entry in round {round}");
            }
            check::equal("messages inside", inside, entered)?;
            check::equal("messages of the end", ended.0 - inside.0, others)?;
            let values = others * 8 * written as u64;
            let bytes = ended.1 - inside.1;
            assert!((values..=values + others * 100).contains(&bytes), "{bytes} bytes of the end in round {round}");
        }
    }
    check::same(v.read_cache()?.as_slice(), 0, |i| if i % BLOCK < 3 * p { ROUNDS } else { 0 })
}

/// To each owner that it writes to a message for each 64 KiB, and one back; to others nothing, though they do not take
/// part.
fn a_release_alone_is_answered_by_whom_it_writes_to(world: &World) -> Result<()> {
    const BLOCK: usize = 20_000;
    let alone = |world: &World| {
        let usage = world.usage();
        usage.iter().filter(|line| line.action == "ReleaseC alone").map(|line| line.usage.messages).sum::<u64>()
    };
    let mut v = GVector::<u64>::new(world, BLOCK * world.size())?;
    for owners in 1..=world.size() {
        for len in [10, BLOCK] {
            // Elements of 8 bytes, each with its place.
            let batches = (len * (8 + 4)).div_ceil(64 << 10) as u64;
            let (want, mut exact) = ((owners as u64 - 1) * batches, Vec::new());
            let cost = least(world, |round| {
                if !world.is_root() {
                    // Silent meanwhile, so that what rank 0 receives are its answers.
                    std::thread::sleep(Duration::from_millis(3));
                    return Ok(());
                }
                let before = alone(world);
                let mut scope = v.release_alone()?;
                (0..owners).try_for_each(|owner| scope.put_slice(owner * BLOCK, &vec![round + 1; len]))?;
                scope.finish()?;
                exact.push(alone(world) - before);
                Ok(())
            })?;
            if world.is_root() {
                assert!(exact.iter().all(|messages| *messages == want), "{exact:?} messages instead of {want}");
                // And what ranks send that are in the next barrier already, or look for a deadlock, if this took long.
                let all = want..=want + 2 * world.size() as u64;
                assert!(all.contains(&cost.transfers_out), "{} messages instead of {want}", cost.transfers_out);
                assert!(all.contains(&cost.transfers_in), "{} answers instead of {want}", cost.transfers_in);
            }
            check::equal("an element of the last owner", v.at((owners - 1) * BLOCK + len - 1)?, ROUNDS)?;
            world.barrier()?;
        }
    }
    Ok(())
}

fn what_a_line_costs(world: &World) -> Result<()> {
    let others = world.size() as u64 - 1;
    let v = GVector::<u16>::from_fn(world, 100, |i| i as u16)?;
    let mut sum = 0;
    let line = line!() + 2;
    for i in 0..100 {
        sum += v.at(i)?;
    }
    check::equal("sum", sum, 4950)?;
    // What is done on the way to a result is accounted to the line that wants it.
    drop(v.gather_to(world.size() - 1)?);
    for line in world.usage() {
        assert!(line.site.as_ref().is_none_or(|site| site.to_string().contains("tests/")), "{line}");
    }
    let usage = world.usage();
    let at = usage.iter().find(|usage| {
        usage.action == "at"
            && usage.site.as_ref().is_some_and(|site| site.to_string().contains(&format!("counters.rs:{line}:")))
    });
    let remote = 100 - v.local_range().len() as u64;
    let messages = at.map_or(0, |at| at.usage.messages);
    if world.about().nodes < world.size() {
        // Those of other nodes, and of node peers that were not there yet.
        assert!(messages <= remote, "{messages} messages");
        return Ok(());
    }
    check::equal("messages of the line", messages, remote)?;
    assert_eq!(at.is_some(), others > 0);
    if let Some(at) = at {
        assert!(at.object.as_deref().is_some_and(|object| object.contains("GVector<u16> of 100")));
    }
    Ok(())
}
