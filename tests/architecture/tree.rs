//! The files of the workspace.

use std::path::Path;
use std::{fs, io};

/// A file: its path from the root of the workspace, with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

/// All Rust files below `root`, except in hidden folders and in cargo's build folders.
pub fn rust_files(root: &Path) -> io::Result<Vec<File>> {
    files(root, ".rs")
}

/// All files below `root` whose names end with `end`, except in these folders and without links.
pub fn files(root: &Path, end: &str) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    walk(root, "", end, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, end: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let (is_folder, relative) = (entry.file_type()?.is_dir(), format!("{prefix}{name}"));
        // Cargo puts this tag into each of its build folders.
        if is_folder && !name.starts_with('.') && name != "target" && !path.join("CACHEDIR.TAG").exists() {
            walk(&path, &format!("{relative}/"), end, files)?;
        } else if entry.file_type()?.is_file() && name.ends_with(end) {
            files.push(File { text: fs::read_to_string(&path)?, path: relative });
        }
    }
    Ok(())
}
