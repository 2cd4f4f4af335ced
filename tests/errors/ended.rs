//! Objects that live longer than their job.

use crate::provoke::on_every_route;
use aurora_core::prelude::*;
use std::cell::RefCell;

thread_local! {
    static KEPT: RefCell<Option<GVector<i32>>> = const { RefCell::new(None) };
    static COUNT: RefCell<Option<GScalar<u64>>> = const { RefCell::new(None) };
}

#[test]
fn a_vector_kept_beyond_run() {
    on_every_route([1, 2, 3], |job| {
        let outcomes = job.run(|world| {
            let v = GVector::<i32>::new(world, 10)?;
            KEPT.set(Some(v));
            COUNT.set(Some(GScalar::new(world, 0, 1u64)?));
            Ok(())
        });
        outcomes.run.expect("keeping it is no error");
        // Rank 0 ran on this thread.
        let mut v = KEPT.take().expect("kept");
        let own = v.local_range().start;
        assert_eq!(v.len(), 10);
        let ended = |outcome: Result<()>| {
            let error = outcome.expect_err("the job has ended");
            assert!(matches!(error, Error::Ended { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("the job has ended") && text.contains("tests/errors/ended.rs:"), "{text}");
        };
        ended(v.at(own).map(drop));
        ended(v.at(9).map(drop));
        ended(v.at_many(&[0, 9]).map(drop));
        ended(v.put(0, 1));
        ended(v.put_many(&[(0, 1), (9, 2)]));
        ended(v.fill(1));
        ended(v.gather_to(0).map(drop));
        ended(distmemcpy(&mut [0; 10][..], v.range(..)));
        ended(distmemcpy(v.range_mut(..), &[0; 10][..]));
        ended(v.owner_computes().map(drop));
        ended(v.owner_computes_mut().map(drop));
        ended(v.read_cache().map(drop));
        ended(v.release_c().map(drop));
        ended(v.release_alone().map(drop));
        drop(v);
        let count = COUNT.take().expect("kept");
        ended(count.get().map(drop));
        ended(count.fetch_add(1).map(drop));
    });
}

#[test]
fn a_vector_kept_beyond_a_run_that_failed() {
    on_every_route([2], |job| {
        let outcomes = job.run_freely(|world| {
            KEPT.set(Some(GVector::<i32>::new(world, 10)?));
            world.barrier()?;
            Err(Error::user("no"))
        });
        assert!(outcomes.run.is_err());
        let v = KEPT.take().expect("kept");
        assert!(v.at(0).is_err());
        assert!(v.read_cache().is_err());
    });
}

#[test]
fn a_vector_kept_beyond_a_run_that_panicked() {
    on_every_route([2], |job| {
        let outcomes = job.run_freely(|world| {
            KEPT.set(Some(GVector::<i32>::new(world, 10)?));
            world.barrier()?;
            panic!("no");
        });
        assert!(outcomes.run.is_err());
        let v = KEPT.take().expect("kept");
        for index in [0, 9] {
            let error = v.at(index).expect_err("the job has ended");
            assert!(matches!(error, Error::Ended { .. } | Error::JobFailed { .. }), "{error}");
        }
    });
}

#[test]
fn a_vector_of_another_job() {
    on_every_route([2], |job| {
        let outcomes = job.run(|world| {
            KEPT.set(Some(GVector::<i32>::new(world, 10)?));
            Ok(())
        });
        outcomes.run.expect("keeping it is no error");
        let outcomes = job.run(|world| {
            if world.rank() == 0 {
                let old = KEPT.take().expect("kept");
                assert!(matches!(old.at(0), Err(Error::Ended { .. })));
            }
            world.barrier()
        });
        outcomes.run.expect("the second job is its own");
    });
}
