//! Writes the page completely or not at all.

use super::page::BEGIN;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why the page is not written, and the remedy.
#[derive(Debug, Error)]
pub enum Unwritten {
    /// The page would replace the figures.
    #[error("--out {0}: that is one of the files with runs; name another one for the page")]
    IsInput(PathBuf),
    /// The page would replace a file that is not a page.
    #[error("--out {0}: there is a file that is no HTML page, and it stays: name another one, or remove it")]
    NoPage(PathBuf),
    /// There is a folder with that name.
    #[error("--out {0}: that is a folder; name a file in it, such as {0}/report.html")]
    Folder(PathBuf),
    /// The folder of the page does not exist.
    #[error("--out {0}: there is no folder {1}; make it, or name another one")]
    NoFolder(PathBuf, PathBuf),
    /// The system returned an error.
    #[error("--out {0}: cannot be written: {1}")]
    System(PathBuf, io::Error),
}

/// Checks that a page can be written to `out`, as far as that is known before the page exists.
///
/// # Errors
/// The reason why it cannot. An existing page is no error.
pub fn check(out: &Path, inputs: &[PathBuf]) -> Result<(), Unwritten> {
    if out.is_dir() {
        return Err(Unwritten::Folder(out.into()));
    }
    let folder = folder(out);
    if !folder.is_dir() {
        return Err(Unwritten::NoFolder(out.into(), folder));
    }
    let Ok(place) = out.canonicalize() else { return Ok(()) };
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == place)) {
        return Err(Unwritten::IsInput(out.into()));
    }
    if place.is_file() && !is_page(&place).map_err(|error| Unwritten::System(out.into(), error))? {
        return Err(Unwritten::NoPage(out.into()));
    }
    Ok(())
}

/// Writes `page` to `out` and replaces an existing page. A reader meanwhile sees either the old page or the new one.
///
/// # Errors
/// The system's error.
pub fn write(out: &Path, page: &str) -> Result<(), Unwritten> {
    replace(out, page).map_err(|error| Unwritten::System(out.into(), error))
}

fn replace(out: &Path, page: &str) -> io::Result<()> {
    // Replaces the target of a link, not the link.
    let place = out.canonicalize().unwrap_or_else(|_| out.into());
    if place.exists() && !place.is_file() {
        // A pipe or a terminal cannot be replaced.
        return OpenOptions::new().write(true).open(&place)?.write_all(page.as_bytes());
    }
    // The file gets the permissions of any new file. A draft that is not persisted is removed.
    let all = Permissions::from_mode(0o666);
    let mut draft = tempfile::Builder::new().permissions(all).tempfile_in(folder(&place))?;
    draft.write_all(page.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(&place)?;
    Ok(())
}

fn folder(out: &Path) -> PathBuf {
    match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.into(),
        _ => PathBuf::from("."),
    }
}

/// Returns whether a file may be overwritten: a page, or an empty file.
fn is_page(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(BEGIN.len() as u64).read_to_end(&mut head)?;
    Ok(head.is_empty() || head.eq_ignore_ascii_case(BEGIN.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::tempdir;

    #[test]
    fn a_page_replaces_a_page_and_leaves_nothing_else() {
        let folder = tempdir().unwrap();
        let (out, link) = (folder.path().join("page.html"), folder.path().join("link.html"));
        write(&out, "<!DOCTYPE html>nothing").unwrap();
        std::os::unix::fs::symlink(&out, &link).unwrap();
        for text in ["<!DOCTYPE html>one", "<!DOCTYPE html>two"] {
            check(&link, &[]).unwrap();
            write(&link, text).unwrap();
            assert_eq!(fs::read_to_string(&out).unwrap(), text);
        }
        assert!(link.is_symlink());
        // The file has the permissions of any other new file.
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode();
        let other = tempdir().unwrap();
        fs::write(other.path().join("other"), "").unwrap();
        assert_eq!(mode(&out), mode(&other.path().join("other")));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_page_stays() {
        let folder = tempdir().unwrap();
        let (runs, nowhere) = (folder.path().join("runs.json"), folder.path().join("no/page.html"));
        fs::write(&runs, "{}").unwrap();
        assert!(matches!(check(&runs, std::slice::from_ref(&runs)), Err(Unwritten::IsInput(_))));
        assert!(matches!(check(&runs, &[]), Err(Unwritten::NoPage(_))));
        assert!(matches!(check(folder.path(), &[]), Err(Unwritten::Folder(_))));
        assert!(matches!(check(&nowhere, &[]), Err(Unwritten::NoFolder(..))));
        let text = write(&nowhere, "").unwrap_err().to_string();
        assert!(text.contains("cannot be written"), "{text}");
        fs::write(&runs, "").unwrap();
        check(&runs, &[]).unwrap();
        write(Path::new("/dev/null"), "<!DOCTYPE html>").unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }
}
