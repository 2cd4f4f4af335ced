//! The job: every rank executes the orders of rank 0.

use super::case::{Variant, Work, variants};
use super::scope::Scopes;
use aurora_apps::bench::{self, Series, Took};
use aurora_apps::implementation::{Conditions, Implementation, Offer};
use aurora_apps::job::{self, App, defaults};
use aurora_apps::mm2::Mm2;
use aurora_apps::psrs::Psrs;
use aurora_apps::report::Measured;
use aurora_core::prelude::*;
use std::time::Duration;

/// A rank's part of the job.
pub struct Job<'w> {
    world: &'w World,
    /// All variants that these ranks can execute.
    pub known: Vec<Variant>,
    /// The variant that was measured last, with its number in `known`.
    current: Option<(usize, Stage<'w>)>,
    damage: bool,
}

impl<'w> Job<'w> {
    /// With `damage` all moved data are wrong, to show that the verification detects this.
    pub fn new(world: &'w World, damage: bool) -> Self {
        let has_mpi = cfg!(feature = "mpi") && Conditions::of(world).under_mpirun;
        let has = |variant: &Variant| has_mpi || !variant.by.is_mpi();
        let route = std::env::var("AURORA_ROUTE").ok().filter(|route| !route.is_empty() && route != "auto");
        let known = variants(world.size(), route.as_deref()).into_iter().filter(has).collect();
        Job { world, known, current: None, damage }
    }

    /// Collective, while the other ranks are in [`serve`](Job::serve). Returns the time of `iterations` iterations of a
    /// known variant. Calls `progress` after each iteration, or after several at a time.
    pub fn measure(&mut self, number: usize, iterations: u64, progress: &mut dyn FnMut()) -> Result<Duration> {
        let took = self.step(Some((number, iterations)), progress)?;
        took.ok_or_else(|| Error::user("the job is over"))
    }

    /// Collective, while the other ranks are in [`serve`](Job::serve). Ends the job.
    pub fn finish(mut self) -> Result<()> {
        self.step(None, &mut || ()).map(drop)
    }

    /// Collective. Executes the orders of rank 0 until it ends the job.
    pub fn serve(mut self) -> Result<()> {
        while self.step(None, &mut || ())?.is_some() {}
        Ok(())
    }

    /// Collective. Executes rank 0's order on all ranks. The orders of other ranks are ignored.
    fn step(&mut self, order: Option<(usize, u64)>, progress: &mut dyn FnMut()) -> Result<Option<Duration>> {
        let Some((number, iterations)) = self.world.broadcast(0, order)? else { return Ok(None) };
        let variant = &self.known[number];
        // The memory of another variant is freed before this one is set up.
        let kept = self.current.take().filter(|(kept, _)| *kept == number);
        let ready = kept.map_or_else(|| stage(self.world, variant, self.damage), |(_, ready)| Ok(ready))?;
        let (_, stage) = self.current.insert((number, ready));
        let took = stage(iterations, progress)?;
        if took.wrong > 0.0 {
            return Err(Error::user(format!("wrong results: NOT VERIFIED in {} places", took.wrong)));
        }
        let seconds = if matches!(variant.work, Work::WithRead(_)) { took.with_read } else { took.seconds };
        Ok(Some(Duration::from_secs_f64(seconds)))
    }
}

/// Collective. Executes a number of iterations, and calls its second argument after each, or after several at a time.
type Stage<'w> = Box<dyn FnMut(u64, &mut dyn FnMut()) -> Result<Took> + 'w>;

/// Collective. Prepares a variant and its memory. With `damage` its results are wrong.
fn stage<'w>(world: &'w World, variant: &Variant, damage: bool) -> Result<Stage<'w>> {
    let by = variant.by;
    Ok(match variant.work {
        Work::Operation(operation) | Work::WithRead(operation) => {
            let job = bench::Job { operation, implementations: vec![by], reps: 0, seed: None, damage };
            let mut series = Series::new(world, &job)?;
            Box::new(move |iterations, progress| series.run(iterations, progress))
        }
        Work::Scope(scope) => {
            let mut scopes = Scopes::new(world, scope, damage)?;
            Box::new(move |iterations, progress| scopes.run(iterations, progress))
        }
        // A program allocates its memory itself. Its first repetition, which touches the memory, does not count.
        Work::Program(program, size) => Box::new(move |iterations, progress| {
            let reps = usize::try_from(iterations).unwrap_or(usize::MAX).saturating_add(1);
            let progress = &mut |_| progress();
            let ran = match program.name() {
                "mm2" => Mm2::run(world, &job_of(Mm2 { size, ..defaults() }, by, reps, damage), progress)?,
                _ => Psrs::run(world, &job_of(Psrs { keys: size, ..defaults() }, by, reps, damage), progress)?,
            };
            let seconds = ran.main.repetitions.iter().skip(1).sum();
            Ok(Took { seconds, with_read: 0.0, wrong: if ran.verified() { 0.0 } else { 1.0 } })
        }),
    })
}

/// Returns the job of a program by one implementation.
fn job_of<P: App>(program: P, by: Implementation, reps: usize, damage: bool) -> job::Job<P> {
    job::Job { implementations: vec![by], reps, damage, ..job::Job::of(program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a job of two threads that executes these orders, one after the other.
    fn measured(orders: &[(&str, u64)], damage: bool) -> Result<()> {
        Config::threads(2).run(|world| {
            let mut job = Job::new(world, damage);
            if !world.is_root() {
                return job.serve();
            }
            for (id, iterations) in orders {
                let number = job.known.iter().position(|variant| variant.id() == *id).expect("a variant");
                assert!(!job.measure(number, *iterations, &mut || ())?.is_zero(), "{id}");
            }
            job.finish()
        })
    }

    #[test]
    fn orders_are_carried_out_one_after_the_other() {
        let orders = [
            ("barrier/2ranks/aurora", 100),
            ("barrier/2ranks/aurora", 1),
            ("read_cache/64KiB/2ranks/aurora", 2),
            ("read_cache/64KiB-and-read/2ranks/aurora", 1),
            ("barrier/2ranks/aurora", 1),
        ];
        measured(&orders, false).expect("the job ends well");
    }

    #[test]
    fn what_is_wrong_is_told_instead_of_a_time() {
        for id in [
            "read_cache/64KiB/2ranks/aurora",
            "updates/1M-elements-in-order/2ranks/aurora",
            "reads/1M-elements-batched-iter/2ranks/aurora",
            "psrs/1M-keys/2ranks/aurora",
            "barrier/2ranks/aurora",
        ] {
            let error = measured(&[(id, 2)], true).expect_err(id).to_string();
            assert!(error.contains("NOT VERIFIED"), "{id}: {error}");
        }
    }

    #[test]
    fn without_mpirun_nothing_is_of_mpi() {
        let known = |world: &World| Ok(Job::new(world, false).known.iter().all(|variant| !variant.by.is_mpi()));
        assert!(Config::threads(2).run(known).expect("the job ends well"));
    }
}
