//! `benches/RESULTS.md`: one section for each command that measures, which writes its own and leaves the others alone.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where the results stand.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/RESULTS.md");

/// Writes the section below `heading`, a line that begins with `# `, in the place of the one that stands there, or after all.
///
/// # Errors
/// What the system says.
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
    for line in before.split_inclusive('\n') {
        match sections.last_mut() {
            Some(section) if !line.starts_with("# ") => section.push_str(line),
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
