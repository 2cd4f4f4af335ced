//! Limits of the system, for error messages.

use crate::Error;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;

/// The limit of descriptors, if the system has refused one because of it.
pub(crate) fn open_files(refused: &io::Error) -> Option<u64> {
    // Descriptors in flight between the user's processes have the same limit.
    let counted = [Errno::MFILE, Errno::TOOMANYREFS];
    let errno = refused.raw_os_error()?;
    let limited = counted.iter().any(|counted| counted.raw_os_error() == errno);
    limited.then(|| getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

/// The limit of the file size, if it is less than `len`. Shared memory counts as a file. Check this first: Linux ends
/// a process that exceeds the limit by a signal.
pub(crate) fn file_size(len: usize) -> Option<u64> {
    getrlimit(Resource::Fsize).current.filter(|allowed| *allowed < len as u64)
}

/// Advice for a call that the system refuses with any arguments.
pub(crate) fn of_refusing(refused: &io::Error) -> &'static str {
    match Errno::from_io_error(refused) {
        Some(Errno::PERM | Errno::NOSYS) => {
            "; the profile of a container (seccomp) may refuse this call: allow it there"
        }
        _ => "",
    }
}

/// The limits of processes, threads and addresses of this process, for a system that refuses one of them.
pub(crate) fn of_starting(refused: &io::Error) -> String {
    if !matches!(Errno::from_io_error(refused), Some(Errno::AGAIN | Errno::NOMEM)) {
        return of_refusing(refused).into();
    }
    let processes = match getrlimit(Resource::Nproc).current {
        Some(allowed) => {
            format!("; this user may have {allowed} processes and threads (`ulimit -u`), in a container perhaps fewer")
        }
        None => "; a container may allow few processes and threads (pids.max of its control group)".into(),
    };
    format!("{processes}{}; allow more before the program starts, or start fewer ranks", addresses())
}

/// The limit of addresses, if memory has been refused because of it, and advice for shared memory.
pub(crate) fn of_sharing(refused: &io::Error) -> String {
    match (Errno::from_io_error(refused), addresses()) {
        (Some(Errno::NOMEM), limit) if !limit.is_empty() => limit + "; allow more before the program starts",
        (Some(Errno::NOSYS | Errno::PERM | Errno::ACCESS), _) => {
            "; this system or its container refuses the call `memfd_create`: allow it, or set AURORA_ROUTE=udp".into()
        }
        _ => String::new(),
    }
}

fn addresses() -> String {
    let allowed = getrlimit(Resource::As).current;
    allowed
        .map_or_else(String::new, |allowed| format!("; this process may have {allowed} bytes of memory (`ulimit -v`)"))
}

/// Advice for a missing file below `/proc`.
pub(crate) fn about_proc(missing: &io::Error) -> &'static str {
    match missing.kind() {
        io::ErrorKind::NotFound => "; is /proc mounted? (`mount -t proc proc /proc`)",
        _ => "",
    }
}

/// The boot id of the running system, as text: unique for each machine and start.
pub(crate) fn boot_id() -> Result<String, Error> {
    let path = "/proc/sys/kernel/random/boot_id";
    fs::read_to_string(path).map_err(proc_file(path))
}

/// Converts an error of reading a file below `/proc`, for `map_err`.
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
