//! The file of the runs.

use aurora_apps::report::read::is_stdin;
use aurora_super::model::{Error, Measurements, read as table};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum length of a table, because a device may have no end.
const LONGEST: u64 = 1 << 20;

/// The reason why no table was read, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system returned an error.
    #[error("{file}: cannot be read: {source}")]
    File { file: String, source: io::Error },
    /// The file is too long for a table.
    #[error("{file}: longer than {} MiB, so no table of runs. A table has a line for each run", LONGEST >> 20)]
    Long { file: String },
    /// The table has an error.
    #[error("{file}: {source}")]
    Table { file: String, source: Error },
}

/// Returns the name of a file, and its table; `-` is standard input.
pub fn read(path: &Path) -> Result<(String, Measurements), Unread> {
    let file = if is_stdin(path) { "standard input".to_string() } else { path.display().to_string() };
    let unread = |source| Unread::File { file: file.clone(), source };
    let input: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin().lock()) } else { Box::new(File::open(path).map_err(unread)?) };
    let mut text = String::new();
    input.take(LONGEST + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > LONGEST {
        return Err(Unread::Long { file });
    }
    match table(&text) {
        Ok(table) => Ok((file, table)),
        Err(source) => Err(Unread::Table { file, source }),
    }
}
