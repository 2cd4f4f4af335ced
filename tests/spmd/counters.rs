//! The number of messages of each operation. The behaviours guarantee these numbers.
//!
//! The counters also count the messages of the deadlock detection, which queries late ranks. So each operation is
//! repeated, and the minimum is its own cost. The numbers that are assigned to a line of the program are exact.

use aurora_core::ops::Sum;
use aurora_core::{GScalar, GVector, Result, Traffic, World};
use aurora_suite::{Body, check};
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

/// Many rounds: on a busy machine, an operation that takes longer makes the ranks query each other, and these messages
/// are counted too.
const ROUNDS: u64 = 20;

/// The minimum of each counter for `once`, of several rounds between barriers.
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

/// The messages and bytes of all lines of the program so far.
pub fn accounted(world: &World) -> (u64, u64) {
    let usage = world.usage();
    let messages = usage.iter().map(|line| line.usage.messages).sum();
    (messages, usage.iter().map(|line| line.usage.bytes).sum())
}

/// The number of nodes; each rank that shares no memory counts as a node.
fn nodes(world: &World) -> u64 {
    let about = world.about();
    match about.nodes {
        1 if !about.shared => world.size() as u64,
        nodes => nodes as u64,
    }
}

/// The messages by which a rank announces a load: none if all ranks share memory.
fn announcements(world: &World) -> u64 {
    if nodes(world) == 1 { 0 } else { world.size() as u64 - 1 }
}

/// The maximum number of messages by which a rank reports received blocks of other nodes to its node-local ranks.
fn words(world: &World) -> u64 {
    if nodes(world) == 1 { 0 } else { world.about().node_ranks.len() as u64 - 1 }
}

fn a_read_cache_is_one_transfer_to_each(world: &World) -> Result<()> {
    let (others, abroad, words) = (announcements(world), nodes(world) - 1, words(world));
    for len in [10, 1000, 100_001] {
        let mut v = GVector::<u32>::new(world, len)?;
        // Once to each other node, and not to node-local ranks, which see the block in shared memory.
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
        // In no round is there a request, a barrier or an answer.
        let (messages, bytes) = (others..=others + words, abroad * block..=abroad * block + words * 16);
        assert!(exact.iter().all(|cost| messages.contains(&cost.0) && bytes.contains(&cost.1)), "{exact:?}");
    }
    Ok(())
}

/// The bytes that all ranks send for a load: each block goes once to each other node.
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

/// Only the shown part of a block is sent, only to ranks that do not see it in shared memory, and to one rank of each
/// node, which forwards it.
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
            // At most one message for each block of another node's rank that it receives for its node-local ranks.
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

/// A block is written in its place while other ranks show another part of it. Later loads then find it there.
fn a_scope_of_a_part_is_not_in_the_way_of_another(world: &World) -> Result<()> {
    let len = 1000 * world.size();
    let mut v = GVector::<u64>::new(world, len)?;
    let shares = nodes(world) == 1;
    for round in 1..=ROUNDS {
        let mine = v.local_range();
        let (left, mut right) = v.split_at_mut(len / 2);
        let seen = left.slice(..).read_cache()?;
        check::same(seen.as_slice(), 0, |_| 0)?;
        // All ranks show it from here on.
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
    // Only the rank that changes its block sends the block.
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

/// A streaming load also sends one transfer to each rank. In addition, a rank reports each block that it receives for
/// its node to the node-local ranks separately.
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
    // Only the barriers have messages.
    let lines = world.usage();
    let others = lines.iter().filter(|line| line.object.is_some() && line.action != "barrier");
    check::equal("messages of this object", others.filter(|l| l.action == "OwnerComputes").count(), 0)?;
    assert!(accounted(world).0 >= before.0);
    Ok(())
}

/// An access to an element.
type Access = fn(&mut GVector<u64>, usize) -> Result<()>;

fn a_remote_element_is_a_question_and_an_answer(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::from_fn(world, 2 * world.size(), |i| i as u64)?;
    let remote = v.len() - 1;
    // Where memory is shared, accesses send no messages.
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
            // The other ranks are silent meanwhile, so that rank 0 receives only its answer.
            false => {
                std::thread::sleep(Duration::from_millis(3));
                Ok(())
            }
        })?;
        if world.is_root() {
            check::equal("questions", cost.transfers_out, transfers)?;
            check::equal("answers", cost.transfers_in, transfers)?;
        }
        // Accesses to own elements send nothing.
        let own = v.local_range().start;
        let cost = least(world, |_| {
            check::equal("mine", v.at(own)?, own as u64)?;
            v.put(own, own as u64)
        })?;
        check::equal("transfers for my own", cost.transfers_out, 0)?;
    }
    Ok(())
}

/// A block that moved away from a reader can be accessed directly again after its owner writes to it without a reader.
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

/// One transfer to each other rank: the writes together with the end of the scope.
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

/// Nothing before the end of the scope, and then one transfer to each other rank: the touched elements of its block
/// together with the end of the scope.
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
        // A value for each touched element of other ranks, and for each rank the places of the values. Owners on the
        // same node take many values from the copy itself.
        let values = 8 * (0..touched * p).filter(|i| !v.local_range().contains(i)).count() as u64;
        let sent = match nodes(world) {
            nodes if nodes == p as u64 || touched <= 3 => values..=values + others * 400,
            1 => 0..=others * 400,
            _ => 8 * touched as u64..=values + others * 400,
        };
        assert!(sent.contains(&cost.bytes_out), "{} bytes, not {sent:?}", cost.bytes_out);
    }
    Ok(())
}

/// The messages of a ReadCache at the start, of a ReleaseC at the end, and nothing in between.
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
            // This number of elements in each rank's block, which no other rank writes.
            for i in (0..p).flat_map(|owner| (0..written).map(move |k| owner * BLOCK + me * written + k)) {
                all[i] += 1;
            }
            let inside = accounted(world);
            drop(all);
            let ended = accounted(world);
            let messages = entered.0 - before.0;
            assert!((load..=load + words).contains(&messages), "{messages} messages of the entry in round {round}");
            // Blocks without writes since the last load are not sent again.
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

/// A message for each 64 KiB to each owner of written elements, and one back; nothing to other ranks, although the
/// scope is not collective.
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
                    // The other ranks are silent meanwhile, so that rank 0 receives only its answers.
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
                // Plus the messages of ranks that are already in the next barrier or look for a deadlock after a long
                // time.
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
    // Internal calls are assigned to the line of the program that made the outer call.
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
        // The elements of other nodes, and of node-local ranks that were not ready yet.
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
