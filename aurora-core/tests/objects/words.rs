//! Barriers that name objects.

use super::*;
use aurora_core::Kind;

/// Adds up the words of all ranks, at barriers that name the object.
#[derive(Default)]
struct Sum {
    mine: u64,
    all: Vec<u64>,
}

impl SharedObject for Sum {
    fn arrive(&mut self, _: &mut Cx<'_>) -> Vec<u8> {
        self.mine.to_le_bytes().to_vec()
    }

    fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        *all = (number(all) + number(more)).to_le_bytes().to_vec();
    }

    fn depart(&mut self, all: &[u8], _: &mut Cx<'_>) {
        self.all.push(u64::from_le_bytes(all.try_into().expect("8 bytes")));
    }
}

fn set_word(sum: &Shared<Sum>, word: u64) -> Result<()> {
    sum.act(|sum, _| {
        sum.mine = word;
        Ok(())
    })
}

#[test]
fn words_of_named_objects_are_merged_once_each() {
    for ranks in [1, 2, 3, 5, 7, 8] {
        on_all_routes(ranks, |world| {
            let make = |name: &str| world.share(Plan::new(name, &name), |_| Ok(Sum::default()));
            let (first, second) = (make("first")?, make("second")?);
            let word = 10 + world.rank().index() as u64;
            set_word(&first, word)?;
            set_word(&second, 100 * word)?;
            world.sync(&[&first, &second])?;
            world.sync(&[&second])?;
            world.barrier()?;
            let all = (0..world.size() as u64).map(|rank| 10 + rank).sum::<u64>();
            assert_eq!(first.act(|sum, _| Ok(sum.all.clone()))?, [all]);
            assert_eq!(second.act(|sum, _| Ok(sum.all.clone()))?, [100 * all, 100 * all]);
            Ok(())
        });
    }
    for error in fails_on_all_routes(3, |world| {
        let make = |name: &str| world.share(Plan::new(name, &name), |_| Ok(Sum::default()));
        let (first, second) = (make("first")?, make("second")?);
        world.sync(&[if world.is_root() { &first } else { &second }])
    }) {
        assert!(error.contains("a barrier that names objects"), "{error}");
    }
}

#[test]
fn a_barrier_carries_nothing_of_the_objects_that_it_does_not_name() {
    Config::threads(4)
        .route(Route::Udp)
        .run(|world| {
            let bytes = |world: &World| {
                world.barrier()?;
                let before = world.stats().job[&Kind::Barrier];
                world.barrier()?;
                let after = world.stats().job[&Kind::Barrier];
                Ok::<_, Error>((after.messages - before.messages, after.bytes - before.bytes))
            };
            let none = bytes(world)?;
            let vectors = (0..100).map(|_| GVector::<u8>::new(world, 8)).collect::<Result<Vec<_>>>()?;
            let many = bytes(world)?;
            drop(vectors);
            // The barrier's own number grows.
            assert!(many.0 == none.0 && many.1 <= none.1 + 4 * none.0, "{none:?}, {many:?}");
            Ok(())
        })
        .expect("all agree");
}
