//! `benches/RESULTS.md`: one section for each command that measures. A command writes only its own section.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file with the results.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/RESULTS.md");

/// A file of the repository, by its path from the root.
pub fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// The text of a file.
///
/// # Errors
/// The system's error, with the file.
pub fn read(file: impl AsRef<Path>) -> Result<String, String> {
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.as_ref().display()))
}

/// Writes the section below `heading`, a line that begins with `# `, `## ` or more of them. It replaces the section
/// with that heading, or becomes the last section. A section ends at the next heading of the same or a higher level.
///
/// # Errors
/// The system's error.
pub fn write(file: &Path, heading: &str, text: &str) -> Result<(), String> {
    let before = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other,
    };
    let written = before.and_then(|before| fs::write(file, replaced(&before, heading, text)));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

fn replaced(before: &str, heading: &str, text: &str) -> String {
    let mut sections: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in before.split_inclusive('\n') {
        is_code ^= line.starts_with("```");
        let begins = !is_code && (1..=depth(heading)).contains(&depth(line));
        match sections.last_mut() {
            Some(section) if !begins => section.push_str(line),
            _ => sections.push(line.to_string()),
        }
    }
    let section = format!("{heading}\n\n{}\n", text.trim_end());
    match sections.iter_mut().find(|section| section.lines().next() == Some(heading)) {
        Some(own) => *own = section,
        None => sections.push(section),
    }
    let trimmed: Vec<&str> = sections.iter().map(|section| section.trim_end()).collect();
    trimmed.join("\n\n") + "\n"
}

/// The level of a heading; 0 if the line is no heading.
fn depth(line: &str) -> usize {
    let text = line.trim_start_matches('#');
    if text.starts_with(' ') { line.len() - text.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# A\n\n```sh\n# no heading\n```\n\n## B\n\nold\n\n### Deeper\n\nold\n\n## C\n\nkept\n\n# D\n";

    #[test]
    fn a_section_ends_at_the_next_that_is_no_deeper() {
        let text = "# A\n\n```sh\n# no heading\n```\n\n## B\n\nnew\n\n## C\n\nkept\n\n# D\n";
        assert_eq!(replaced(BEFORE, "## B", "new"), text);
        let deeper = BEFORE.replace("### Deeper\n\nold", "### Deeper\n\nnew");
        assert_eq!(replaced(BEFORE, "### Deeper", "new\n"), deeper);
        assert_eq!(replaced(BEFORE, "# A", "new"), "# A\n\nnew\n\n# D\n");
        assert_eq!(replaced(BEFORE, "# no heading", "new"), format!("{BEFORE}\n# no heading\n\nnew\n"));
    }
}
