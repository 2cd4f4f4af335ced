//! `AURORA_SCALAR=deny`: an access to a single element of another rank, without a behaviour, is an error that names a
//! behaviour.

use crate::provoke::{Job, Order, cited, every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

#[test]
fn an_element_of_another_rank() {
    type Access = fn(&mut GVector<i32>, usize) -> Result<()>;
    let accesses: [(&str, Access, &str, &str); 4] = [
        ("at", |v, i| v.at(i).map(drop), "read_cache", "|v, i| v.at(i)"),
        ("put", |v, i| v.put(i, 1), "release_c", "|v, i| v.put(i, 1)"),
        ("at", |v, i| GlobalRead::at(v, i).map(drop), "read_cache", "|v, i| GlobalRead::at"),
        ("put", |v, i| GlobalWrite::put(v, i, 1), "release_c", "|v, i| GlobalWrite::put"),
    ];
    on_every_route([2, 3, 4], |job| {
        let order = Order::new();
        let outcomes = job.denying().run(|world| {
            let mut v = GVector::<i32>::new(world, 12)?;
            let next = (world.rank().index() + 1) % world.size();
            let far = v.range_of(next).start;
            for (name, access, behaviour, line) in accesses {
                let error = access(&mut v, far).expect_err(name);
                let Error::Denied { access, index, owner, .. } = &error else {
                    panic!("{name}: {error}");
                };
                assert_eq!((access.as_str(), *index, owner.index()), (name, far, next));
                let text = error.to_string();
                assert!(text.contains(&format!("open a `{behaviour}`")), "{text}");
                assert!(text.contains("the GVector<i32> of 12 elements (made at"), "{text}");
                assert!(cited(&text).iter().any(|cited| cited.contains(line)), "{text}");
            }
            // The error does not belong to the object: other calls work.
            v.fill(3)?;
            assert_eq!(v.read_cache()?[far], 3);
            order.advance();
            Ok(())
        });
        outcomes.run.expect("a denied access is an error of its caller alone");
        order.wait_for(job.ranks);
    });
}

#[test]
fn what_stays_allowed() {
    let outcomes = every_route([1, 2, 3]).with(Job::denying).run(|world| {
        let mut v = GVector::<u64>::from_fn(world, 12, |i| i as u64)?;
        let own = v.local_range();
        for i in own.clone() {
            assert_eq!(v.at(i)?, i as u64);
            v.put(i, i as u64 + 1)?;
        }
        world.barrier()?;
        let all: Vec<_> = (0..12).collect();
        assert!(v.at_many(&all)?.into_iter().eq(1..13));
        world.barrier()?;
        if world.is_root() {
            v.put_many(&[(0, 5), (11, 6)])?;
        }
        world.barrier()?;
        let mut copy = [0; 12];
        distmemcpy(&mut copy[..], v.range(..))?;
        assert_eq!((copy[0], copy[11]), (5, 6));
        let counter = GScalar::new(world, 0, 0u64)?;
        counter.fetch_add(1)?;
        world.barrier()?;
        // Accesses inside a scope are never denied.
        let mut scope = v.release_c_with(Sum)?;
        scope.update(3, 1)?;
        scope.finish()?;
        assert_eq!(v.read_cache()?.at(3)?, 4 + world.size() as u64);
        Ok(())
    });
    outcomes.succeed("nothing here is denied");
}
