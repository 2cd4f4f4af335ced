//! What the system allows this process, for errors that say how much it is.

use crate::Error;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;

/// How many descriptors this process may have, where the system has refused one for that.
pub(crate) fn open_files(refused: &io::Error) -> Option<u64> {
    // Those under way between the user's processes are limited by the same number.
    let counted = [Errno::MFILE, Errno::TOOMANYREFS];
    let errno = refused.raw_os_error()?;
    let limited = counted.iter().any(|counted| counted.raw_os_error() == errno);
    limited.then(|| getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

/// How long a file of this process may be, where that is less than `len`.
///
/// Shared memory counts as a file. The kernel answers to one that would be too long by a signal, which ends the process
/// without a word; so this has to be asked first.
pub(crate) fn file_size(len: usize) -> Option<u64> {
    getrlimit(Resource::Fsize).current.filter(|allowed| *allowed < len as u64)
}

/// What to add to an error about a file below `/proc` that is not there.
pub(crate) fn about_proc(missing: &io::Error) -> &'static str {
    match missing.kind() {
        io::ErrorKind::NotFound => "; is /proc mounted? (`mount -t proc proc /proc`)",
        _ => "",
    }
}

/// The number of the running kernel, in its letters: no other machine has it, nor this one after its next start.
pub(crate) fn boot_id() -> Result<String, Error> {
    let path = "/proc/sys/kernel/random/boot_id";
    fs::read_to_string(path).map_err(proc_file(path))
}

/// For `map_err` after a file below `/proc` was wanted.
pub(crate) fn proc_file(path: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| match open_files(&source) {
        Some(allowed) => Error::OpenFiles { doing: "read a file below /proc", allowed },
        None => Error::Proc { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_descriptor_is_one() {
        let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert_eq!(open_files(&Errno::MFILE.into()), Some(allowed));
        assert_eq!(open_files(&Errno::TOOMANYREFS.into()), Some(allowed));
        assert_eq!(open_files(&Errno::ACCESS.into()), None);
        assert_eq!(open_files(&io::Error::other("nothing of the system's")), None);
    }
}
