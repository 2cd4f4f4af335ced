//! How often is each word in some files? `cargo run -p aurora-spmd --example word_count -- FILE..`; without files, in
//! its own source.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let mut files: Vec<String> = std::env::args().skip(1).collect();
        if files.is_empty() {
            files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/word_count.rs").into());
        }
        let mut counts = GMap::<String, u64>::new(world)?;
        {
            let mut counts = counts.release_c_with(Sum)?; // each rank reads its share of the files
            for file in files.iter().skip(world.rank().index()).step_by(world.size()) {
                let text = std::fs::read_to_string(file)?;
                text.split_whitespace().try_for_each(|word| counts.update(word, 1))?;
            }
        }
        if let Some(mut all) = counts.gather_to(0)? {
            all.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), word.clone()));
            all.iter().take(20).for_each(|(word, count)| println!("{count:8} {word}"));
        }
        Ok(())
    })
}
