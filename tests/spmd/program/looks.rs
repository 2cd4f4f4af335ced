//! Reads of a whole vector, with every scope that shows it.

use super::{Program, Writers};
use aurora_core::Result;
use aurora_suite::check;

impl Program<'_> {
    pub fn look(&mut self) -> Result<()> {
        let model = &self.model;
        let how = self.shared.below(6);
        if how == 5 {
            self.look_as_it_comes()?;
        } else if how < 2 {
            let all = self.v.read_cache()?;
            check::same(all.as_slice(), 0, |i| model[i])?;
            if how == 1 {
                let again = self.v.read_cache()?;
                drop(all);
                check::same(again.as_slice(), 0, |i| model[i])?;
            }
        } else {
            if self.unordered != Writers::None {
                self.world.barrier()?;
            }
            if how == 2 {
                check::whole(&self.v, |i| model[i])?;
                self.world.barrier()?;
            } else if how == 4 {
                self.gather()?;
                self.world.barrier()?;
            } else {
                let root = self.shared.below(self.world.size());
                if let Some(all) = self.v.gather_to(root)? {
                    check::same(&all, 0, |i| model[i])?;
                }
            }
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// Each rank chooses: streaming, to the end or not, or the whole at once.
    fn look_as_it_comes(&mut self) -> Result<()> {
        let (model, pieces) = (&self.model, self.speed.below(4));
        if pieces == 3 {
            return check::same(self.v.read_cache()?.as_slice(), 0, |i| model[i]);
        }
        let stream = self.v.read_cache_blocks()?;
        for block in stream.blocks().take(if pieces == 2 { usize::MAX } else { pieces }) {
            let (range, elements) = block?;
            check::same(elements, range.start, |i| model[i])?;
        }
        match self.speed.below(2) {
            0 => Ok(()),
            _ => check::same(stream.whole()?, 0, |i| model[i]),
        }
    }

    /// Elements that only this rank picks, more or fewer than a batch, all or some of them taken.
    fn gather(&mut self) -> Result<()> {
        let (model, speed) = (&self.model, &mut self.speed);
        let count = [0, 3, 500, 20_000][speed.below(4)] * usize::from(!model.is_empty());
        let indices: Vec<usize> = (0..count).map(|_| speed.below(model.len())).collect();
        let taken = if speed.below(2) == 0 { count } else { count / 2 };
        let gather = self.v.batched_reads()?;
        match speed.below(3) {
            0 => check::same(&gather.read(&indices)?, 0, |k| model[indices[k]]),
            1 => {
                let values = gather.iter(indices.iter().copied()).take(taken).collect::<Result<Vec<_>>>()?;
                check::equal("number of values", values.len(), taken)?;
                check::same(&values, 0, |k| model[indices[k]])
            }
            _ => {
                let mut queue = gather.keyed_queue();
                for (k, index) in indices.iter().enumerate() {
                    queue.push_with(k, *index)?;
                    if speed.below(3) == 0 {
                        let popped = queue.pop_with()?;
                        let want = popped.map(|(k, _)| (k, model[indices[k]]));
                        check::equal("popped", (popped, popped.is_some()), (want, true))?;
                    }
                }
                while let Some((k, value)) = queue.pop_with()? {
                    check::equal("value", value, model[indices[k]])?;
                }
                Ok(())
            }
        }
    }
}
