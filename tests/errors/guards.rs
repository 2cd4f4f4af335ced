//! Panics of guards, which index like slices: the message names the index and the shown range.

use crate::provoke::{every_route, panic_of};
use aurora_core::prelude::*;

#[test]
fn an_index_that_is_not_shown() {
    let outcomes = every_route([2]).run(|world| {
        let dim = MatrixDim::new(4, 5);
        let mut m = GVector::<i32>::new(world, dim)?;
        let me = world.rank().index();
        let (own, other) = (10 * me..10 * me + 10, 10 * (1 - me));
        let (shown, rows) = (format!("{}..{}", own.start, own.end), format!("rows {}..{}", 2 * me, 2 * me + 2));
        {
            let a = m.owner_computes()?;
            let words = [
                (panic_of(|| a[other]), format!("index {other} is outside {shown}, the part that this rank owns")),
                (panic_of(|| a[20]), "index 20 is outside a vector of 20 elements".into()),
                (panic_of(|| a[usize::MAX]), format!("index {} is outside a vector of 20 elements", usize::MAX)),
                (panic_of(|| a[(2 - 2 * me, 0)]), format!("row {} is outside {rows}", 2 - 2 * me)),
                (panic_of(|| a[(2 * me, 5)]), "column 5 is outside 0..5".into()),
                (panic_of(|| a[(usize::MAX, 1)]), format!("row {} is outside a matrix of 4 rows", usize::MAX)),
                (panic_of(|| a.row(usize::MAX)[0]), format!("row {} is outside a matrix of 4 rows", usize::MAX)),
                // The number of an element in place of the number of a row.
                (
                    panic_of(|| a.row(own.start + 5)[0]),
                    "(`indices()` are those of elements, `rows()` those of rows)".into(),
                ),
            ];
            for (text, words) in words {
                assert!(text.contains(&words), "`{text}` without `{words}`");
            }
        }
        {
            let mut a = m.owner_computes_mut()?;
            let text = panic_of(|| a[other] = 1);
            assert!(text.contains(&format!("index {other} is outside {shown}")), "{text}");
            assert!(text.contains("use `put` or `release_c` of the vector"), "{text}");
            // Counted from 0 in each part.
            assert_eq!(text.contains("counted from 0 in this part it is `local_mut()[0]`"), me == 1, "{text}");
            let text = panic_of(|| a.row_mut(2 - 2 * me)[0] = 1);
            assert!(text.contains(&format!("{rows}, the part that this rank owns: use `release_c`")), "{text}");
            let text = panic_of(|| a.row_mut(9)[0] = 1);
            assert!(text.contains("row 9 is outside a matrix of 4 rows"), "{text}");
        }
        {
            // A slice that begins inside a row.
            let a = m.slice(own.start + 2..own.end).owner_computes()?;
            let text = panic_of(|| a[(2 * me, 1)]);
            assert!(text.contains(&format!("index {} is outside", own.start + 1)), "{text}");
        }
        {
            let b = m.read_cache()?;
            let text = panic_of(|| b[20]);
            assert!(text.contains("index 20 is outside a vector of 20 elements"), "{text}");
            let text = panic_of(|| m.range_of(world.size()));
            assert!(text.contains(&format!("does not exist: this job has {} ranks", world.size())), "{text}");
            let text = panic_of(|| b.row(4)[0]);
            assert!(text.contains("row 4 is outside a matrix of 4 rows"), "{text}");
            let text = panic_of(|| b.row(usize::MAX)[0]);
            assert!(text.contains("is outside a matrix of 4 rows"), "{text}");
        }
        for row in [4, usize::MAX] {
            let words = format!("row {row} is outside a matrix of 4 rows");
            let cell = (row, 0);
            let has_words = |text: String| assert!(text.contains(&words), "`{text}` without `{words}`");
            let own = m.owner_computes()?;
            has_words(panic_of(|| own[cell]));
            drop(own);
            let mut own = m.owner_computes_mut()?;
            has_words(panic_of(|| own[cell] = 1));
            drop(own);
            let cache = m.read_cache()?;
            has_words(panic_of(|| cache[cell]));
            drop(cache);
            let mut both = m.read_cache_release_c()?;
            has_words(panic_of(|| both[cell]));
            has_words(panic_of(|| both[cell] = 1));
            drop(both);
            let halo = m.halo_cache(1)?;
            has_words(panic_of(|| halo[cell]));
            drop(halo);
            let mut halo = m.halo_cache_mut(1)?;
            has_words(panic_of(|| halo[cell] = 1));
            drop(halo);
            let pages = m.paged()?;
            has_words(panic_of(|| pages[cell]));
            drop(pages);
            let mut pages = m.paged_mut()?;
            has_words(panic_of(|| pages[cell]));
            has_words(panic_of(|| pages[cell] = 1));
            pages.finish()?;
        }
        let text = panic_of(|| m.owner(20));
        assert!(text.contains("index 20 is outside a vector of 20 elements"), "{text}");
        // The program caught those panics inside the scopes, so the scopes ended without error.
        m.read_cache()?.finish()
    });
    outcomes.succeed("the scopes ended well");
}

#[test]
fn a_panic_names_the_line_of_the_program() {
    let outcomes = every_route([2]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let own = v.owner_computes()?;
        let beyond = own[10];
        assert_eq!(beyond, 0);
        Ok(())
    });
    outcomes.run_says(&["panicked: index 10 is outside", "tests/errors/guards.rs:"]);
}

#[test]
fn a_row_or_column_outside_of_a_block_of_a_super_program() {
    let mut dense = aurora_super::Dense::<f64>::zeros(4, 3);
    let sparse = aurora_super::Csr::<f64>::from_rows(4, 3, |_| []);
    for row in [4, usize::MAX] {
        let words = format!("row {row} is outside a matrix of 4 rows");
        assert_eq!(panic_of(|| dense[(row, 0)]), words);
        assert_eq!(panic_of(|| dense[(row, 0)] = 1.0), words);
        assert_eq!(panic_of(|| dense.row(row)[0]), words);
        assert_eq!(panic_of(|| sparse.row(row).0[0]), words);
    }
    assert_eq!(panic_of(|| dense[(0, 3)]), "column 3 is outside 0..3");
    assert_eq!(panic_of(|| dense[(0, 3)] = 1.0), "column 3 is outside 0..3");
}
