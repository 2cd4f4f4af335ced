//! The compiler refuses every conflict that the borrow rules of scoped behaviours forbid.
//!
//! The cases of one object that is used while a behaviour is open are generated from the tables below. A new behaviour
//! is one line in its table, and one in `lacks!`. The cases in `compile_fail/` are written by hand, and the messages
//! that users see are next to them. After a change of the compiler or of Aurora, `TRYBUILD=overwrite cargo test --test
//! compile_fail` writes the messages again; read the differences before accepting them.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::fs;
use std::path::Path;
use std::process::Command;

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

/// A function that uses its object while a behaviour is open, and whether the two conflict.
struct Case {
    name: String,
    conflicts: bool,
    /// The function, on one line.
    text: String,
}

/// Each behaviour, and every other use of its object while it is open.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for Object { argument, open, uses } in OBJECTS {
        let uses = uses.iter().map(|&(name, borrow, does)| (name, borrow, does.to_owned()));
        let scopes = open.iter().map(|&(name, borrow, does)| (name, borrow, format!("drop({does})")));
        let others: Vec<_> = uses.chain(scopes).collect();
        for (behaviour, borrow, opens) in open {
            for (other, borrows, does) in &others {
                let name = format!("{behaviour}_and_{other}");
                let body = format!("let open = {opens}; {does}; open.finish()");
                let text = format!("pub fn {name}({argument}) -> Result<()> {{ {body} }}\n");
                cases.push(Case { name, conflicts: (*borrow, *borrows) != (Shared, Shared), text });
            }
        }
    }
    cases
}

/// The package of the cases.
const MANIFEST: &str = concat!(
    "package = { name = 'conflicts', edition = '2024' }\nworkspace = {}\n",
    "dependencies.aurora-spmd = { path = '",
    env!("CARGO_MANIFEST_DIR"),
    "/../aurora-core' }\n",
);

/// Two uses that conflict are refused, for the borrow alone. All other uses compile.
#[test]
fn conflicts_are_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conflicts");
    let cases = cases();
    let mut text = "#![allow(unused)] use aurora_core::{ops::{Min, Sum}, prelude::*};\n".to_owned();
    text.extend(cases.iter().map(|case| &*case.text));
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("src/lib.rs"), text).expect("the cases");
    fs::write(folder.join("Cargo.toml"), MANIFEST).expect("a manifest");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"), folder.join("Cargo.lock"))
        .expect("the same versions");
    let check = ["check", "--offline", "--message-format=short", "--color=never", "--target-dir=target"];
    let output = Command::new(env!("CARGO")).args(check).current_dir(&folder).output().expect("cargo");
    let stderr = String::from_utf8_lossy(&output.stderr);

    // Line 1 is the head. Each other line is a case.
    let is_of_a_case = |line: &&str| line.starts_with("src/lib.rs:") && !line.starts_with("src/lib.rs:1:");
    let (of_cases, others): (Vec<_>, Vec<_>) = stderr.lines().partition(is_of_a_case);
    let complaint = |(nth, case): (usize, &Case)| {
        let at = format!("src/lib.rs:{}:", nth + 2);
        let errors: Vec<_> = of_cases.iter().filter(|line| line.starts_with(&at)).collect();
        let of_borrow = |error: &&&str| error.contains(": error[E0499]: ") || error.contains(": error[E0502]: ");
        let is_right = errors.len() == usize::from(case.conflicts) && errors.iter().all(of_borrow);
        (!is_right).then(|| format!("{} (conflict: {}): {errors:#?}", case.name, case.conflicts))
    };
    let complaints: Vec<_> = cases.iter().enumerate().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}\n{}", others.join("\n"), complaints.join("\n"));
}

/// The compiler's messages are those that users shall see.
#[test]
fn messages_are_as_written() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
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
