//! Scoped behaviours of scalars: what each shows, which write wins, and what it costs in messages.

use aurora_core::{Add, Error, GScalar, Max, Min, Op, ReadMostly, Result, World};
use aurora_suite::body::Body;
use aurora_suite::check;
use aurora_suite::random::Random;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_read_cache_shows_what_was_set_before),
        Body::of(the_last_write_of_the_highest_rank_wins),
        Body::of(partial_values_are_merged_in_the_order_of_ranks),
        Body::of(scopes_follow_each_other_without_waiting),
        Body::of(a_replica_follows_what_is_set),
        Body::of(a_replica_never_goes_back),
        Body::of(the_better_bound_is_never_lost),
        Body::of(offers_of_sums_count_once),
        Body::of(the_scalar_itself_inside_a_read_mostly),
        Body::of(what_scopes_cost),
        Body::of(a_bound_is_told_at_once).from_ranks(2),
        Body::of(many_offers_are_few_messages).from_ranks(2),
        Body::of(random_programs),
    ]
}

/// Looks at a replica until it shows what it must.
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

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Settings {
    title: String,
    weights: Vec<f64>,
}

fn a_read_cache_shows_what_was_set_before(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 0u64)?;
        let settings = GScalar::new(world, home, Settings::default())?;
        for round in 0..6 {
            let writer = (home + round) % p;
            let want = Settings { title: format!("by {writer}"), weights: vec![0.5; round * 1000] };
            if me == writer {
                number.set(round as u64 + 1)?;
                settings.set(want.clone())?;
            }
            let (shown, text) = (number.read_cache()?, settings.read_cache()?);
            if me == (writer + 1) % p {
                // What is shown stays, whatever is set.
                number.set(77)?;
            }
            check::equal("number", *shown, round as u64 + 1)?;
            check::equal("title", &text.title[..], &want.title)?;
            check::equal("settings", &*text, &want)?;
            shown.finish()?;
            text.finish()?;
            world.barrier()?;
            check::equal("set beside it", number.get()?, 77)?;
            // The next round must not begin before all have looked.
            world.barrier()?;
        }
    }
    Ok(())
}

fn the_last_write_of_the_highest_rank_wins(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let mut number = GScalar::new(world, home, 5i64)?;
        for round in 0..4 {
            let mut scope = number.release_c()?;
            if me <= round {
                scope.set(-1)?;
                scope.set((100 * round + me) as i64)?;
            }
            if me % 2 == 0 {
                scope.finish()?;
            } else {
                drop(scope);
            }
            let want = (100 * round + round.min(p - 1)) as i64;
            check::equal("number", number.get()?, want)?;
        }
        let before = number.get()?;
        drop(number.release_c()?);
        check::equal("nobody has set it", number.get()?, before)?;
        let mut text = GScalar::new(world, home, String::new())?;
        text.release_c()?.set("x".repeat(me * 5000))?;
        check::equal("text", text.read_cache()?.len(), (p - 1) * 5000)?;
    }
    Ok(())
}

/// Joins texts: the order matters.
struct Join;

impl Op<String> for Join {
    fn apply(current: String, operand: String) -> String {
        current + &operand
    }
}

fn partial_values_are_merged_in_the_order_of_ranks(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let mut sum = GScalar::new(world, home, 1000u64)?;
        let mut total = sum.accumulate::<Add>()?;
        (0..100).for_each(|i| total.update(i + me as u64));
        check::equal("partial", total.partial().copied(), Some(4950 + 100 * me as u64))?;
        total.finish()?;
        check::equal("sum", sum.get()?, 1000 + (0..p as u64).map(|r| 4950 + 100 * r).sum::<u64>())?;

        let mut highest = GScalar::new(world, home, -5i32)?;
        if me == p - 1 {
            highest.accumulate::<Max>()?.update(-3);
        } else {
            // Nothing to add.
            drop(highest.accumulate::<Max>()?);
        }
        check::equal("highest", highest.get()?, -3)?;

        // Sums of floats depend on the order: it is that of the ranks.
        let part = |rank: usize| 1.0 / (3.0 + rank as f64) + 1e10 * rank as f64;
        let mut float = GScalar::new(world, home, 0.1f64)?;
        for _ in 0..5 {
            float.accumulate::<Add>()?.update(part(me));
        }
        let once = |value| (0..p).map(part).fold(value, |sum: f64, part| sum + part);
        let want = (0..5).fold(0.1, |value, _| once(value));
        check::equal("float", float.get()?.to_bits(), f64::to_bits(want))?;

        let mut text = GScalar::new(world, home, String::from(">"))?;
        let mut mine = text.accumulate::<Join>()?;
        mine.update(format!("{me}"));
        mine.update("+".into());
        drop(mine);
        let want = (0..p).map(|rank| format!("{rank}+")).collect::<String>();
        check::equal("text", text.get()?, format!(">{want}"))?;
    }
    Ok(())
}

fn scopes_follow_each_other_without_waiting(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let mut sum = GScalar::new(world, world.size() - 1, 0u64)?;
    // More than a rank may be ahead of the others.
    for round in 0..30 {
        if me == 0 && round % 7 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        sum.accumulate::<Add>()?.update(round + me);
    }
    let want = (0..30).map(|round| p * round + p * (p - 1) / 2).sum::<u64>();
    check::equal("sum", *sum.read_cache()?, want)?;
    check::equal("sum", sum.get()?, want)
}

fn a_replica_follows_what_is_set(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 0u32)?;
        let wide = GScalar::new(world, home, 0u128)?;
        let text = GScalar::new(world, home, String::from("start"))?;
        let flag = GScalar::new(world, home, false)?;
        let (number_seen, wide_seen) = (number.read_mostly()?, wide.read_mostly()?);
        let (text_seen, flag_seen) = (text.read_mostly()?, flag.read_mostly()?);
        check::equal("text", text_seen.get()?, "start".into())?;
        // Nobody sets anything before all have looked.
        world.barrier()?;
        for writer in 0..p {
            let (low, high) = (writer as u32 + 1, (writer as u128 + 1) << 90);
            let long = format!("{writer}").repeat(300);
            if me == writer {
                check::equal("old", number_seen.swap(low)?, writer as u32)?;
                check::equal("own", number_seen.get()?, low)?;
                wide_seen.set(high)?;
                text_seen.set(long.clone())?;
                flag_seen.set(writer % 2 == 0)?;
            }
            until(&number_seen, |seen| *seen == low)?;
            until(&wide_seen, |seen| *seen == high)?;
            until(&text_seen, |seen| *seen == long)?;
            until(&flag_seen, |seen| *seen == (writer % 2 == 0))?;
            world.barrier()?;
        }
        number_seen.finish()?;
        drop((wide_seen, text_seen, flag_seen));
        check::equal("number", number.get()?, p as u32)?;
        check::equal("wide", wide.get()?, (p as u128) << 90)?;
    }
    Ok(())
}

fn a_replica_never_goes_back(world: &World) -> Result<()> {
    const EACH: u64 = 150;
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    for home in 0..world.size() {
        let count = GScalar::new(world, home, 0u64)?;
        let scope = count.read_mostly()?;
        let mut last = 0;
        for step in 0..EACH {
            let mine = if (step + me) % 3 == 0 { scope.fetch_add(1)? + 1 } else { scope.fetch_max(0)? };
            let seen = scope.get()?;
            assert!(seen >= last && seen >= mine, "{seen} after {last}, with {mine} of its own");
            last = seen;
        }
        let want = (0..p).map(|rank| (0..EACH).filter(|step| (step + rank) % 3 == 0).count() as u64).sum();
        until(&scope, |seen| {
            assert!(*seen >= last);
            last = *seen;
            *seen == want
        })?;
        scope.finish()?;
        check::equal("count", count.get()?, want)?;
    }
    Ok(())
}

fn the_better_bound_is_never_lost(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let bound = GScalar::new(world, home, u64::MAX)?;
        for round in 0..20u64 {
            let floor = 1000 * (100 - round);
            let scope = bound.read_mostly_with::<Min>()?;
            // All at once; a different rank has the best one each time.
            for step in (0..8).rev() {
                let mine = floor + 10 * step + (me as u64 + round) % p as u64;
                let before = scope.get()?;
                if step % 3 == 0 {
                    assert!(scope.fetch_min(mine)? <= before, "the home has no worse one");
                } else {
                    scope.offer(mine)?;
                }
                assert!(scope.get()? <= mine.min(before), "its own is seen at once");
            }
            if round % 2 == 0 {
                until(&scope, |seen| *seen == floor)?;
                scope.finish()?;
            } else {
                drop(scope);
            }
            check::equal("bound", bound.get()?, floor)?;
            world.barrier()?;
        }
    }
    Ok(())
}

/// Offers need not be bounds.
fn offers_of_sums_count_once(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    for home in 0..world.size() {
        let sum = GScalar::new(world, home, 0u64)?;
        let scope = sum.read_mostly_with::<Add>()?;
        let mut mine = 0;
        for step in 0..100 {
            scope.offer(step + me)?;
            mine += step + me;
            assert!(scope.get()? >= mine);
            if step % 40 == 39 {
                // Behind what was offered.
                assert!(scope.fetch_add(0)? >= mine);
            }
        }
        let want = p * 4950 + 100 * p * (p - 1) / 2;
        until(&scope, |seen| *seen == want)?;
        drop(scope);
        check::equal("sum", sum.get()?, want)?;
    }
    Ok(())
}

fn the_scalar_itself_inside_a_read_mostly(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 1u64)?;
        let before = number.read_cache()?;
        let scope = number.read_mostly()?;
        number.fetch_add(1)?;
        assert!(number.get()? >= 2);
        let all = 1 + p as u64;
        until(&scope, |seen| *seen == all)?;
        check::equal("asked", number.get()?, all)?;
        world.barrier()?;
        if me == (home + 1) % p {
            number.set(0)?;
        }
        until(&scope, |seen| *seen == 0)?;
        scope.finish()?;
        check::equal("a snapshot", *before, 1)?;
        check::equal("number", number.get()?, 0)?;
    }
    Ok(())
}

/// Messages on the account of lines that did this.
fn accounted(world: &World, action: &str) -> u64 {
    world.usage().iter().filter(|line| line.action == action).map(|line| line.usage.messages).sum()
}

fn what_scopes_cost(world: &World) -> Result<()> {
    let others = world.size() as u64 - 1;
    for home in 0..world.size() {
        let at_home = world.rank() == home;
        let mut number = GScalar::new(world, home, 7u64)?;
        let mut cost = |action, once: &mut dyn FnMut(&mut GScalar<u64>) -> Result<()>, each: u64| {
            let before = accounted(world, action);
            once(&mut number)?;
            let want = if at_home { each * others } else { each };
            check::equal(action, accounted(world, action) - before, want)
        };
        // One from each rank to the home, one from the home to each.
        cost("ReadCache", &mut |number| number.read_cache()?.finish(), 1)?;
        cost(
            "ReleaseC",
            &mut |number| {
                let mut scope = number.release_c()?;
                (0..1000).try_for_each(|i| scope.set(i))?;
                scope.finish()
            },
            1,
        )?;
        cost(
            "Accumulate",
            &mut |number| {
                let mut scope = number.accumulate::<Add>()?;
                (0..1000).for_each(|i| scope.update(i));
                scope.finish()
            },
            1,
        )?;
        // On entry and at the end; what is read costs nothing.
        cost(
            "ReadMostly",
            &mut |number| {
                let scope = number.read_mostly()?;
                let first = scope.get()?;
                for _ in 0..100_000 {
                    check::equal("number", scope.get()?, first)?;
                }
                scope.finish()
            },
            2,
        )?;
    }
    Ok(())
}

/// Who asks gets an answer, and every other rank one message in the same moment: nobody asks for it, there is no further hop.
fn a_bound_is_told_at_once(world: &World) -> Result<()> {
    const ROUNDS: u64 = 10;
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let writer = (home + 1) % p;
        let bound = GScalar::new(world, home, 1000u64)?;
        let before = [accounted(world, "ReadMostly"), accounted(world, "fetch_min")];
        let scope = bound.read_mostly()?;
        for round in 1..=ROUNDS {
            if me == writer {
                check::equal("old", scope.fetch_min(1000 - round)?, 1001 - round)?;
            }
            check::equal("bound", until(&scope, |seen| *seen <= 1000 - round)?, 1000 - round)?;
            world.barrier()?;
        }
        scope.finish()?;
        let after = [accounted(world, "ReadMostly"), accounted(world, "fetch_min")];
        let (others, asked) = (p as u64 - 1, if me == writer { ROUNDS } else { 0 });
        // Of ten values that have come, two words to the home that they have.
        let seen = if me == writer || me == home { 0 } else { ROUNDS / 4 };
        let want = if me == home { 2 * others + ROUNDS * (others - 1) } else { 2 + seen };
        check::equal("asked", after[1] - before[1], asked)?;
        // The first value counts as one that has come, too.
        let found = after[0] - before[0];
        assert!((want..=want + u64::from(me != home)).contains(&found), "{found} messages instead of {want}");
    }
    Ok(())
}

/// What comes faster than it can be sent is sent as one, and nothing is lost by it.
fn many_offers_are_few_messages(world: &World) -> Result<()> {
    const OFFERS: u64 = 20_000;
    let (p, me) = (world.size(), world.rank().index());
    let home = p - 1;
    let bound = GScalar::new(world, home, u64::MAX)?;
    let before = accounted(world, "ReadMostly");
    let scope = bound.read_mostly_with::<Min>()?;
    if me == 0 {
        (0..OFFERS).try_for_each(|i| scope.offer(2 * OFFERS - i))?;
        // Those that are no better go nowhere.
        let better = accounted(world, "ReadMostly");
        (0..OFFERS).try_for_each(|i| scope.offer(2 * OFFERS - i))?;
        assert!(
            accounted(world, "ReadMostly") - better <= 4,
            "only what was still to be sent, and words that values have come"
        );
    }
    until(&scope, |seen| *seen == OFFERS + 1)?;
    scope.finish()?;
    let sent = accounted(world, "ReadMostly") - before;
    let most = if me == home { p as u64 * OFFERS / 2 } else { OFFERS };
    assert!(sent < most, "{sent} messages for {OFFERS} offers");
    check::equal("bound", bound.get()?, OFFERS + 1)
}

const PROGRAMS: u64 = 10;
const STEPS: usize = 40;

/// Any scope after any other, ranks at different speeds, against a plain number.
fn random_programs(world: &World) -> Result<()> {
    for seed in 0..PROGRAMS {
        Program::new(world, seed)?.run().map_err(|error| match error {
            Error::User { message, site, source } => {
                Error::User { message: format!("program {seed}: {message}"), site, source }
            }
            error => error,
        })?;
    }
    Ok(())
}

struct Program<'w> {
    world: &'w World,
    /// The same on all ranks.
    shared: Random,
    /// This rank's own.
    speed: Random,
    scalar: GScalar<u64>,
    model: u64,
}

impl<'w> Program<'w> {
    fn new(world: &'w World, seed: u64) -> Result<Self> {
        let mut shared = Random::new(seed);
        let home = shared.below(world.size());
        let speed = Random::new(seed * 100 + world.rank().index() as u64);
        Ok(Program { world, shared, speed, scalar: GScalar::new(world, home, 0)?, model: 0 })
    }

    fn run(mut self) -> Result<()> {
        for _ in 0..STEPS {
            if self.speed.below(6) == 0 {
                std::thread::sleep(Duration::from_micros(self.speed.below(1500) as u64));
            }
            match self.shared.below(7) {
                0 => self.one_sided()?,
                1 => self.release()?,
                2 => self.accumulate()?,
                3 => check::equal("cache", *self.scalar.read_cache()?, self.model)?,
                4 => self.mostly()?,
                5 => self.bound()?,
                _ => check::equal("number", self.scalar.get()?, self.model).and_then(|()| self.world.barrier())?,
            }
        }
        check::equal("number", self.scalar.get()?, self.model)
    }

    /// A number for each rank, the same wherever it is drawn.
    fn draws(&mut self) -> Vec<u64> {
        (0..self.world.size()).map(|_| self.shared.draw() >> 20).collect()
    }

    fn mine(&self, draws: &[u64]) -> u64 {
        draws[self.world.rank().index()]
    }

    fn one_sided(&mut self) -> Result<()> {
        let draws = self.draws();
        // What others read before must not see this.
        self.world.barrier()?;
        self.scalar.fetch_add(self.mine(&draws))?;
        self.model = draws.iter().fold(self.model, |sum, x| sum.wrapping_add(*x));
        self.world.barrier()
    }

    fn release(&mut self) -> Result<()> {
        let (draws, every) = (self.draws(), 1 + self.shared.below(3) as u64);
        let writes = |draw: &u64| draw.is_multiple_of(every);
        let mine = self.mine(&draws);
        let mut scope = self.scalar.release_c()?;
        if writes(&mine) {
            scope.set(mine)?;
        }
        if self.shared.below(2) == 0 {
            scope.finish()?;
        } else {
            drop(scope);
        }
        self.model = draws.iter().rfind(|draw| writes(draw)).copied().unwrap_or(self.model);
        Ok(())
    }

    fn accumulate(&mut self) -> Result<()> {
        let draws = self.draws();
        let mine = self.mine(&draws);
        if self.shared.below(2) == 0 {
            self.scalar.accumulate::<Add>()?.update(mine);
            self.model = draws.iter().fold(self.model, |sum, x| sum.wrapping_add(*x));
        } else {
            let mut lowest = self.scalar.accumulate::<Min>()?;
            lowest.update(mine);
            lowest.finish()?;
            self.model = draws.iter().fold(self.model, |lowest, x| lowest.min(*x));
        }
        Ok(())
    }

    /// One rank sets, all add.
    fn mostly(&mut self) -> Result<()> {
        let (draws, writer) = (self.draws(), self.shared.below(self.world.size()));
        let scope = self.scalar.read_mostly()?;
        check::equal("replica", scope.get()?, self.model)?;
        self.world.barrier()?;
        if self.world.rank() == writer {
            scope.set(draws[writer])?;
        }
        self.world.barrier()?;
        let mut last = until(&scope, |seen| *seen == draws[writer])?;
        self.world.barrier()?;
        scope.fetch_add(self.mine(&draws) + 1)?;
        self.model = draws.iter().fold(draws[writer], |sum, x| sum + x + 1);
        if self.shared.below(2) == 0 {
            let want = self.model;
            until(&scope, |seen| {
                assert!(*seen >= last, "{seen} after {last}");
                last = *seen;
                *seen == want
            })?;
        }
        if self.shared.below(2) == 0 { scope.finish() } else { Ok(()) }
    }

    fn bound(&mut self) -> Result<()> {
        let draws = self.draws();
        let scope = self.scalar.read_mostly_with::<Max>()?;
        let seen = scope.get()?;
        assert!(seen >= self.model, "{seen} instead of {} at least", self.model);
        scope.offer(self.mine(&draws) / 2)?;
        scope.offer(self.mine(&draws))?;
        assert!(scope.get()? >= self.mine(&draws));
        self.model = draws.iter().fold(self.model, |highest, x| highest.max(*x));
        if self.shared.below(2) == 0 {
            until(&scope, |seen| *seen == self.model)?;
        }
        Ok(())
    }
}
