//! The contents of a HaloCache, compared with a plain vector.

use super::around;
use aurora_core::{GlobalRead, HaloCache, HaloCacheMut, Result};
use aurora_suite::check;

/// Reads the contents of a HaloCache in every way.
macro_rules! looks {
    ($($name:ident: $scope:ident)*) => {$(
        pub fn $name(h: &$scope<'_, u64>, model: &[u64], cols: usize) -> Result<()> {
            let (indices, halo) = (h.indices(), h.halo());
            let (before, behind) = around(&indices, model.len(), cols, halo);
            let values = |indices: &[usize]| indices.iter().map(|i| model[*i]).collect::<Vec<_>>();
            check::equal("own", h.local(), &model[indices.clone()])?;
            check::equal("before", h.before(), &values(&before)[..])?;
            check::equal("behind", h.behind(), &values(&behind)[..])?;
            for (i, want) in model.iter().enumerate() {
                let shown = indices.contains(&i) || before.contains(&i) || behind.contains(&i);
                match h.at(i) {
                    Ok(x) => check::equal("by number", (x, true), (*want, shown))?,
                    Err(error) => check::equal(&format!("element {i} shown ({error})"), shown, false)?,
                }
                if shown {
                    let (row, col) = (i / cols, i % cols);
                    check::equal("by index, cell and row", [h[i], h[(row, col)], h.row(row)[col]], [*want; 3])?;
                }
            }
            assert!(h.at(model.len()).is_err());
            Ok(())
        }
    )*};
}

looks! {
    look: HaloCache
    look_mut: HaloCacheMut
}
