//! What the compiler refuses: every conflict that the borrow rules of scoped behaviours forbid.
//!
//! The expected messages lie beside the cases. After a change of the compiler or of Aurora they are written anew by
//! `TRYBUILD=overwrite cargo test --test compile_fail`; what has changed is then to be read, not only accepted.

use aurora_core::prelude::*;

#[test]
fn conflicts_are_refused() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// Does not compile if the type implements the trait: the call would be ambiguous. (The compiler's own words about
/// threads quote the standard library, in one way or another.)
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

// They belong to the thread of their rank, and are objects and scopes, not values.
lacks! {
    World: Send Sync Clone;
    GVector<i32>: Send Sync Clone;
    GScalar<u64>: Send Sync Clone;
    OwnerComputes<'static, i32>: Send Sync Clone;
    OwnerComputesMut<'static, i32>: Send Sync Clone;
    ReadCache<'static, i32>: Send Sync Clone;
    ReadCacheBlocks<'static, i32>: Send Sync Clone;
    ReleaseC<'static, i32>: Send Sync Clone;
    ReleaseAlone<'static, i32>: Send Sync Clone;
}

/// What they show is ordinary data: threads inside a scope may share it. And errors go anywhere.
#[test]
fn slices_and_errors_are_free() {
    fn is_free<T: Send + Sync>() {}
    is_free::<&[i32]>();
    is_free::<&mut [i32]>();
    is_free::<Error>();
    let sum = Config::threads(2).run(|world| {
        let v = GVector::<u64>::from_fn(world, 1000, |i| i as u64)?;
        let (cache, own) = (v.read_cache()?, v.owner_computes()?);
        let (whole, part): (&[u64], &[u64]) = (&cache, own.local());
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
