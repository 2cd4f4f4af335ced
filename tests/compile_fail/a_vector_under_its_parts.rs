//! While a part is used for writing the vector is not used.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let (left, _right) = v.split_at_mut(5);
        let writes = left.release_c()?;
        assert_eq!(v.at(9)?, 0);
        writes.finish()
    })
}
