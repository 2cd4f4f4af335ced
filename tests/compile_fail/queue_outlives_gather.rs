//! What is queued is answered inside of the scope.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let mut queue = {
            let gather = v.gatherer()?;
            gather.queue()
        };
        queue.push(3)?;
        queue.pop().map(drop)
    })
}
