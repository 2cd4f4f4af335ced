//! How often is each word in some files? `cargo run -p aurora-spmd --example word_count -- FILE..`; without files, in
//! a verse.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

const VERSE: [&str; 3] = ["the rose is a rose", "and was always a rose", "but the theory now goes"];

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let files: Vec<String> = std::env::args().skip(1).collect();
        let texts = if files.is_empty() { VERSE.map(String::from).to_vec() } else { files.clone() };
        let mut counts = GMap::<String, u64>::new(world)?;
        {
            let mut counts = counts.release_c_with(Sum)?; // counts are added up here before they are sent
            // Each rank takes its share of the texts.
            for text in texts.into_iter().skip(world.rank().index()).step_by(world.size()) {
                let text = if files.is_empty() { text } else { std::fs::read_to_string(text)? };
                counts.update_all(text.split_whitespace().map(|word| (word, 1)))?;
            }
        }
        if files.is_empty() {
            assert_eq!(counts.get("rose")?, Some(3)); // waits until all ranks have ended the scope
        }
        if let Some(mut all) = counts.gather_to(0)? {
            all.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), word.clone()));
            all.iter().take(20).for_each(|(word, count)| println!("{count:8} {word}"));
        }
        Ok(())
    })
}
