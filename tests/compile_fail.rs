//! The compiler refuses every conflict that the borrow rules of scoped behaviours forbid.
//!
//! The expected messages are next to the cases. After a change of the compiler or of Aurora, `TRYBUILD=overwrite cargo
//! test --test compile_fail` writes the messages again; read the differences before accepting them. The same command
//! writes the cases in `beside/` from the tables below: one file for each behaviour, with all uses that it forbids
//! while it is open. A new behaviour is one line in each table.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::fmt::Write as _;
use std::{env, fs};

/// The way in which a scope or a use borrows its object.
#[derive(Clone, Copy, PartialEq)]
enum Borrow {
    Shared,
    Mut,
}
use Borrow::{Mut, Shared};

/// An action on an object: its name, its borrow of the object, and its code.
type Deed = (&'static str, Borrow, &'static str);

/// The open behaviours of a vector.
const OPEN: [Deed; 20] = [
    ("owner_computes", Shared, "v.owner_computes()?"),
    ("owner_computes_mut", Mut, "v.owner_computes_mut()?"),
    ("read_cache", Shared, "v.read_cache()?"),
    ("release_c", Mut, "v.release_c()?"),
    ("release_c_with", Mut, "v.release_c_with(Sum)?"),
    ("release_alone", Mut, "v.release_alone()?"),
    ("release_alone_with", Mut, "v.release_alone_with(Sum)?"),
    ("read_cache_release_c", Mut, "v.read_cache_release_c()?"),
    ("read_cache_blocks", Shared, "v.read_cache_blocks()?"),
    ("batched_reads", Shared, "v.batched_reads()?"),
    ("halo_cache", Shared, "v.halo_cache(1)?"),
    ("halo_cache_mut", Mut, "v.halo_cache_mut(1)?"),
    ("paged", Shared, "v.paged()?"),
    ("paged_mut", Mut, "v.paged_mut()?"),
    ("accumulate", Mut, "v.accumulate(Sum)?"),
    ("accumulate_in_order", Mut, "v.accumulate_in_order(Sum)?"),
    ("part", Shared, "v.slice(..1).read_cache()?"),
    ("part_mut", Mut, "v.slice_mut(..1).owner_computes_mut()?"),
    ("rows", Shared, "v.rows(..1).owner_computes()?"),
    ("rows_mut", Mut, "v.rows_mut(..1).release_c()?"),
];

/// The other uses of a vector.
const USES: [Deed; 10] = [
    ("at", Shared, "v.at(0)?"),
    ("at_many", Shared, "v.at_many(&[0])?"),
    ("gather_to", Shared, "v.gather_to(0)?"),
    ("copy_out", Shared, "distmemcpy(&mut [0][..], v.range(..1))?"),
    ("copy_in", Mut, "distmemcpy(v.range_mut(..1), &[0][..])?"),
    ("put", Mut, "v.put(0, 1)?"),
    ("put_many", Mut, "v.put_many(&[(0, 1)])?"),
    ("fill", Mut, "v.fill(1)?"),
    ("release_cache", Mut, "v.release_cache()?"),
    ("split_at_mut", Mut, "drop(v.split_at_mut(1))"),
];

/// The open behaviours of a scalar.
const OPEN_SCALAR: [Deed; 5] = [
    ("scalar_read_cache", Shared, "s.read_cache()?"),
    ("scalar_release_c", Mut, "s.release_c()?"),
    ("scalar_accumulate", Mut, "s.accumulate(Sum)?"),
    ("scalar_read_mostly", Shared, "s.read_mostly()?"),
    ("scalar_read_mostly_with", Shared, "s.read_mostly_with(Min)?"),
];

/// The other uses of a scalar: its own operations take `&self`, and are allowed while a scope shows its value.
const USES_SCALAR: [Deed; 8] = [
    ("get", Shared, "s.get()?"),
    ("set", Shared, "s.set(1)?"),
    ("swap", Shared, "s.swap(1)?"),
    ("compare_exchange", Shared, "drop(s.compare_exchange(&0, &1)?)"),
    ("fetch_update", Shared, "s.fetch_update(|value| value + 1)?"),
    ("fetch_add", Shared, "s.fetch_add(1)?"),
    ("fetch_min", Shared, "s.fetch_min(1)?"),
    ("fetch_max", Shared, "s.fetch_max(1)?"),
];

/// All actions on one kind of object.
struct Object {
    argument: &'static str,
    open: &'static [Deed],
    uses: &'static [Deed],
}

const OBJECTS: [Object; 2] = [
    Object { argument: "v: &mut GVector<i32>", open: &OPEN, uses: &USES },
    Object { argument: "s: &mut GScalar<u64>", open: &OPEN_SCALAR, uses: &USES_SCALAR },
];

#[test]
fn conflicts_are_refused() {
    let overwrite = env::var_os("TRYBUILD").is_some_and(|value| value == "overwrite");
    let all = || OBJECTS.iter().flat_map(|object| object.open.iter().map(move |open| (object, open)));
    let path = |name: &str, ending: &str| format!("{CASES}/{name}.{ending}");
    for (object, open) in all() {
        let (path, (case, _)) = (path(open.0, "rs"), object.beside(open));
        if overwrite {
            fs::write(&path, case).expect("the cases can be written");
        } else {
            let there = fs::read_to_string(&path).unwrap_or_default();
            assert!(there == case, "{path} does not say what the tables do: see the head of tests/compile_fail.rs");
        }
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.compile_fail("tests/compile_fail/beside/*.rs");
    // The cases are compiled when this is dropped.
    drop(cases);
    for (object, open) in all() {
        let said = fs::read_to_string(path(open.0, "stderr")).expect("what the compiler says");
        let of_borrows = said.matches("error[E0499]").count() + said.matches("error[E0502]").count();
        let (all, wanted) = (said.matches("error[").count(), object.beside(open).1);
        assert_eq!((of_borrows, all), (wanted, wanted), "beside {}: each is refused, for its borrow alone", open.0);
    }
}

/// The folder of the cases from the tables.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compile_fail/beside");

impl Object {
    /// The text of a case, with a function for each use that conflicts with an open scope; and the number of conflicts.
    fn beside(&self, (name, borrow, open): &Deed) -> (String, usize) {
        let mut case = String::new();
        let scopes = self.open.iter().map(|(other, borrow, does)| (other, borrow, format!("drop({does})")));
        let uses = self.uses.iter().map(|(other, borrow, does)| (other, borrow, does.to_string()));
        let mut conflicts = 0;
        for (other, _, does) in uses.chain(scopes).filter(|(_, other, _)| (*borrow, **other) != (Shared, Shared)) {
            let argument = self.argument;
            let body = format!("    let open = {open};\n    {does};\n    open.finish()\n");
            write!(case, "\nfn {other}({argument}) -> Result<()> {{\n{body}}}\n").expect("a string takes all");
            conflicts += 1;
        }
        let used: Vec<_> = ["Min", "Sum"].into_iter().filter(|op| case.contains(&format!("({op})"))).collect();
        let ops = match used[..] {
            [] => String::new(),
            [op] => format!("use aurora_core::ops::{op};\n"),
            _ => format!("use aurora_core::ops::{{{}}};\n", used.join(", ")),
        };
        let head = format!("//! Uses that an open `{name}` forbids.\n{ops}use aurora_core::prelude::*;\n");
        (head + &case + "\nfn main() {}\n", conflicts)
    }
}

/// Does not compile if the type implements the trait: the call would be ambiguous. (The compiler's own messages about
/// threads quote the standard library in different ways.)
macro_rules! lacks {
    ($($type:ty: $($trait:ident)*;)*) => {$($(
        const _: fn() = || {
            trait Ambiguous<A> {
                fn check() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Implements;
            impl<T: ?Sized + $trait> Ambiguous<Implements> for T {}
            <$type as Ambiguous<_>>::check();
        };
    )*)*};
}

// These types belong to the thread of their rank. They are objects and scopes, not values.
lacks! {
    World: Send Sync Clone;
    GVector<i32>: Send Sync Clone;
    GScalar<u64>: Send Sync Clone;
    OwnerComputes<'static, i32>: Send Sync Clone;
    OwnerComputesMut<'static, i32>: Send Sync Clone;
    ReadCache<'static, i32>: Send Sync Clone;
    HaloCache<'static, i32>: Send Sync Clone;
    HaloCacheMut<'static, i32>: Send Sync Clone;
    Paged<'static, i32>: Send Sync Clone;
    PagedMut<'static, i32>: Send Sync Clone;
    ReadCacheBlocks<'static, i32>: Send Sync Clone;
    ReleaseC<'static, i32>: Send Sync Clone;
    Accumulate<'static, i32, Sum>: Send Sync Clone;
    BatchedReads<'static, i32>: Send Sync Clone;
    ReleaseAlone<'static, i32>: Send Sync Clone;
    ReadCacheReleaseC<'static, i32>: Send Sync Clone;
    Slice<'static, i32>: Send Sync;
    SliceMut<'static, i32>: Send Sync Clone;
    ScalarReadCache<'static, u64>: Send Sync Clone;
    ScalarReleaseC<'static, u64>: Send Sync Clone;
    ScalarAccumulate<'static, u64, Sum>: Send Sync Clone;
    ReadMostly<'static, u64>: Send Sync Clone;
}

/// Their elements are ordinary data: threads inside a scope may share them. Errors may go to any thread.
#[test]
fn slices_and_errors_are_free() {
    fn is_free<T: Send + Sync>() {}
    is_free::<&[i32]>();
    is_free::<&mut [i32]>();
    is_free::<Error>();
    let sum = Config::threads(2).run(|world| {
        let v = GVector::<u64>::from_fn(world, 1000, |i| i as u64)?;
        let (cache, own) = (v.read_cache()?, v.owner_computes()?);
        let (whole, part): (&[u64], &[u64]) = (cache.as_slice(), own.local());
        let sum = std::thread::scope(|scope| {
            let whole = scope.spawn(|| whole.iter().sum::<u64>());
            let part = scope.spawn(|| part.iter().sum::<u64>());
            assert!(part.join().unwrap() < 499_500);
            whole.join().unwrap()
        });
        Ok(sum)
    });
    assert_eq!(sum.unwrap(), 499_500);
}
