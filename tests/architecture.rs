//! The rules of the sources: the imports of each module, the files with `unsafe` code and with the clock, and the
//! lengths of files and lines. `packages.rs` has the rules of packages, documents and the changelog.
//!
//! The tables below are the rules. `tests/architecture.allowed` lists the present violations. A violation that is not
//! listed fails the test, and so does a listed violation that no longer exists: the list may only shrink. `UPDATE=1
//! cargo test --test architecture` removes the entries without a violation. `UPDATE=ALLOW` also adds new violations,
//! for example after a file was renamed.
//!
//! The path of a file defines its module. Every path counts, in `use` lines, in expressions, types and macros. A name
//! that a module re-exports counts as the module that defines it. Code for tests may import anything, and is not
//! counted in the length of its file.

#[path = "architecture/allowed.rs"]
mod allowed;
#[path = "architecture/check.rs"]
mod check;
#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/examples.rs"]
mod examples;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/packages.rs"]
mod packages;
#[path = "architecture/proof.rs"]
mod proof;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/tree.rs"]
mod tree;
#[path = "architecture/words.rs"]
mod words;

use allowed::{Allowed, Update};
use std::collections::BTreeSet;
use std::env;
use std::path::Path;

/// Leaves: they import other leaves and other crates, and nothing else of their own crate. The rule applies to modules
/// of these names as soon as they exist.
const LEAVES: &[InCrate] = &[InCrate {
    of: "aurora-core",
    modules: &[
        "digest",
        "distribution",
        "element",
        "encoding",
        "environment",
        "error",
        "ids",
        "notice",
        "once",
        "operation",
        "ops",
        "polls",
        "site",
        "stats",
        "trace",
        "window",
    ],
}];

/// Imports that some modules may not have.
const BANS: &[Ban] = &[
    Ban {
        rule: "io",
        modules: InCrate { of: "aurora-net", modules: &["proto", "wire"] },
        banned: &[
            "crate::bootstrap",
            "crate::endpoint",
            "crate::local",
            "crate::shm",
            "crate::sim",
            "crate::udp",
            "libc",
            "mpi",
            "quinn_udp",
            "rustix",
            "socket2",
            "std::fs",
            "std::io",
            "std::net",
            "std::os",
            "std::process",
            "std::thread",
        ],
        mend: "the protocol decides and does no I/O: what it needs to know is an argument, what is to be done a result",
    },
    Ban {
        rule: "below",
        modules: InCrate { of: "aurora-core", modules: &["kernel", "object", "scope"] },
        banned: &["crate::behaviour", "crate::map", "crate::scalar", "crate::vector"],
        mend: "the kernel knows no kind of object: name a method of `SharedObject`, or a method of `Served`",
    },
    Ban {
        rule: "below",
        modules: InCrate { of: "aurora-core", modules: &["vector"] },
        banned: &["crate::behaviour", "crate::map", "crate::registry", "crate::scalar"],
        mend: "a vector knows no behaviour: name a method of `Protocol`",
    },
    Ban {
        rule: "below",
        modules: InCrate { of: "aurora-core", modules: &["behaviour"] },
        banned: &["crate::registry"],
        mend: "the registry names the behaviours: a behaviour names itself by its number",
    },
    Ban {
        rule: "pure",
        modules: InCrate {
            of: "aurora-super",
            modules: &["data", "dispatch", "execute", "lineage", "model", "policy", "program", "sim"],
        },
        banned: &["crate::run", "aurora_core", "aurora_net", "std::net", "std::thread"],
        mend: "the scheduler and the simulator know no ranks: the runtime, `run`, drives them",
    },
    Ban {
        rule: "pure",
        modules: InCrate { of: "aurora-treadmarks", modules: &["counts", "grid", "machine", "sim"] },
        banned: &["crate::array", "crate::node", "crate::tmk", "aurora_core", "std::net", "std::thread", "std::time"],
        mend: "the protocol and the simulator know no ranks: the shared object, `node`, drives the protocol",
    },
];

/// Items of other crates that every module may use, because they do nothing but calculate.
const CALCULATIONS: &[&str] = &["aurora_net::Random::", "aurora_net::mix::"];

/// Crates in which no two top modules import each other.
const NO_CYCLES: &[&str] = &["aurora-core", "aurora-net"];

/// The modules in which each folder or file is a behaviour, and imports no other behaviour.
const BEHAVIOURS: InCrate = InCrate { of: "aurora-core", modules: &["behaviour"] };

/// The exceptions: modules that all behaviours share.
const SHARED_BY_BEHAVIOURS: &[&str] = &["buffers", "elements", "guards", "kinds", "marks", "rows", "sealed", "shown"];

/// Further exceptions: a behaviour, and the behaviours of which it consists.
const MADE_OF: &[(&str, &[&str])] = &[
    ("accumulate", &["release"]),
    ("combined", &["read_cache", "release"]),
    ("halo", &["owner"]),
    ("paged", &["release"]),
];

/// State machines: they get the time as an argument (`cx.now`) and never read the clock, so tests use virtual time.
const MACHINES: &[InCrate] = &[
    InCrate {
        of: "aurora-core",
        modules: &["behaviour", "collective", "kernel", "link", "map", "object", "scalar", "scope", "vector"],
    },
    InCrate { of: "aurora-net", modules: &["proto", "sim", "wire"] },
];

/// The exception: the file that gives them the time.
const CLOCK: &str = "aurora-core/src/kernel/clock.rs";

/// Two top modules that import each other by design: a kernel calls objects, and objects use their data in the kernel.
const SEAM: (&str, &str) = ("kernel", "object");

/// Items that aurora-core defines in this module and nowhere else, and the cure for another one.
const ONCE: &[(&str, &[&str], &str)] = &[
    (
        "aurora-core/src/scope/",
        &["struct Ledger", "struct Parked", "struct Ends", "fn obstacle", "const AHEAD", "fn has_room"],
        "use the scope layer of `scope`: ledgers, parked work and room for batches are its own",
    ),
    (
        "aurora-core/src/vector/",
        &["impl VectorCore", "impl Vector ", "for Vector ", "for VectorCore"],
        "a behaviour is a struct of its own, a `Protocol`, whose methods get the core of the vector",
    ),
];

/// Branches on the name of a behaviour or of an action. Protocols have numbers or enums. Texts of errors may compare
/// texts.
const BRANCHES_ON_NAMES: &[&str] = &[".name == ", ".name != ", "action == ", "behaviour == ", "match &*"];

/// The files that may have `unsafe` code. Each of them must have some.
const UNSAFE: &[&str] = &[
    "aurora-apps/src/bench/contestant/first_touch.rs",
    "aurora-apps/src/mpi_ranks/in_place.rs",
    "aurora-apps/src/mpi_ranks/neighbours.rs",
    "aurora-apps/src/mpi_ranks/posted.rs",
    "aurora-core/src/memory/array.rs",
    "aurora-core/src/memory/arriving.rs",
    "aurora-core/src/memory/cells.rs",
    "aurora-core/src/memory/direct/mod.rs",
    "aurora-core/src/memory/direct/ranges.rs",
    "aurora-core/src/memory/lent.rs",
    "aurora-core/src/memory/located.rs",
    "aurora-core/src/memory/model.rs",
    "aurora-core/src/memory/prefetch.rs",
    "aurora-core/src/memory/shared.rs",
    "aurora-core/src/memory/word.rs",
    "aurora-core/src/memory/words.rs",
    "aurora-net/src/bootstrap/exit.rs",
    "aurora-net/src/bootstrap/mpi/carrier.rs",
    "aurora-net/src/buffer.rs",
    "aurora-net/src/peer.rs",
    "aurora-net/src/shm/buffer_pool.rs",
    "aurora-net/src/shm/control.rs",
    "aurora-net/src/shm/mailbox.rs",
    "aurora-net/src/shm/mailbox/model.rs",
    "aurora-net/src/shm/node_barrier.rs",
    "aurora-net/src/shm/ring.rs",
    "aurora-net/src/shm/ring/model.rs",
    "aurora-net/src/shm/segment.rs",
    "aurora-net/src/shm/tests.rs",
    "aurora-net/tests/support/bodies.rs",
];

/// The types of aurora-core for which each public method needs an example. `guard` stands for the types that a macro
/// names.
const EXAMPLES: &[&str] = &[
    "Accumulate",
    "BatchedIter",
    "BatchedPairs",
    "BatchedQueue",
    "BatchedReads",
    "Blocks",
    "Config",
    "Entries",
    "GMap",
    "GScalar",
    "GVector",
    "HaloCache",
    "HaloCacheMut",
    "MapOwnerComputes",
    "MapOwnerComputesMut",
    "MapReleaseC",
    "OwnerComputes",
    "OwnerComputesMut",
    "Paged",
    "PagedMut",
    "ReadCache",
    "ReadCacheBlocks",
    "ReadCacheReleaseC",
    "ReadMostly",
    "ReleaseAlone",
    "ReleaseC",
    "ScalarAccumulate",
    "ScalarReadCache",
    "ScalarReleaseC",
    "ScalarScope",
    "Scope",
    "Slice",
    "SliceMut",
    "World",
    "guard",
];

/// The maximum lines of a file, without its unit tests and the examples in its documentation.
const LINES: usize = 500;

/// The maximum in the objects of aurora-core and in their contract.
const LINES_OF_OBJECTS: (usize, &[&str]) = (400, &["behaviour", "map", "object", "scalar", "scope", "vector"]);

/// The maximum columns of a line, comments included.
const COLUMNS: usize = 120;

/// Top modules of a crate, with all modules inside them.
struct InCrate {
    of: &'static str,
    modules: &'static [&'static str],
}

/// A ban on imports: modules of the own crate or of others, with all modules inside them.
struct Ban {
    rule: &'static str,
    modules: InCrate,
    banned: &'static [&'static str],
    mend: &'static str,
}

/// The file with the list of the present violations.
const ALLOWED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/architecture.allowed");

#[test]
fn the_sources_obey_the_rules() {
    let update = match env::var("UPDATE").as_deref() {
        Ok("ALLOW") => Update::Allow,
        Ok("1") => Update::Shrink,
        _ => Update::Never,
    };
    let files = tree::rust_files(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the sources can be read");
    assert!(files.len() > 400, "{} files are not all of the sources", files.len());
    let found = check::violations(&files).expect("the sources can be parsed");
    let complaints = Allowed::new(ALLOWED).compare(&found, update).expect("the list can be read and written");
    assert!(complaints.is_empty(), "{} complaints:\n\n{}\n", complaints.len(), complaints.join("\n"));
}

#[test]
fn the_files_with_unsafe_code_have_some() {
    let files = tree::rust_files(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the sources can be read");
    let with = check::with_unsafe(&files).expect("the sources can be parsed");
    let listed: BTreeSet<&str> = UNSAFE.iter().copied().collect();
    let without: Vec<_> = listed.difference(&with).collect();
    assert!(without.is_empty(), "strike them out of `UNSAFE` in tests/architecture.rs: {without:?}");
}

#[test]
fn the_book_has_the_table_of_environment_variables_of_the_library() {
    let rows = |file: &str, before: &str| -> Vec<String> {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("it is there");
        let lines = text.lines().filter_map(|line| line.strip_prefix(before));
        lines.filter(|line| line.starts_with("| `AURORA_")).map(String::from).collect()
    };
    let book = rows("docs/src/environment.md", "");
    assert_eq!(book, rows("aurora-core/src/environment.rs", "/// "));
    assert_eq!(book.len(), aurora_core::VARIABLES.len(), "a row for each variable");
}

/// The README contains pieces of a program that is run.
#[test]
fn the_program_of_the_readme_is_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [readme, example] = ["README.md", "aurora-core/examples/pairs.rs"]
        .map(|file| std::fs::read_to_string(root.join(file)).expect("it is there"));
    let pieces: Vec<&str> = readme.split("\n```").filter_map(|piece| piece.strip_prefix("rust,ignore\n")).collect();
    assert_eq!((pieces.len(), readme.matches("```rust").count()), (2, 2));
    for piece in pieces {
        assert!(example.contains(&format!("\n{piece}\n")), "aurora-core/examples/pairs.rs has another:\n{piece}");
    }
}

/// A short example is easy to read. The examples of new shared objects are longer.
#[test]
fn examples_of_the_library_are_short() {
    let files = tree::rust_files(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the sources can be read");
    let examples: Vec<_> = files.iter().filter(|file| file.path.starts_with("aurora-core/examples/")).collect();
    assert!(examples.len() > 10, "{} examples", examples.len());
    for file in examples {
        let name = file.path.rsplit('/').next();
        let most = match name {
            Some("counting_map.rs") => 200,
            Some("queue.rs") => 120,
            _ => 59,
        };
        let lines = file.text.lines().count();
        assert!(lines <= most, "{}: {lines} lines", file.path);
    }
}

/// Rustdoc's search finds a method by its name in MPI or in a PGAS system.
#[test]
fn the_words_of_the_guides_lead_to_methods() {
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/aurora-core/src");
    // There is no method for these.
    const WITHOUT: [&str; 3] = ["MPI_ANY_SOURCE", "MPI_Abort", "Tmk_lock_acquire"];
    let files = tree::rust_files(Path::new(ROOT)).expect("the sources can be read");
    let sources = files.iter().flat_map(|file| file.text.lines().map(str::trim_start));
    let aliases: String = sources.filter(|line| line.starts_with("#[doc(alias")).collect();
    for guide in ["for_mpi_users", "for_pgas_users"] {
        let text = std::fs::read_to_string(format!("{ROOT}/guide/{guide}.md")).expect("it is there");
        let theirs = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
        let words = theirs.flat_map(|cell| cell.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
        let is_a_call =
            |word: &&str| ["MPI_", "NGA_", "GA_", "shmem_", "Tmk_"].iter().any(|begin| word.starts_with(begin));
        let mut found = 0;
        for word in words.filter(is_a_call).filter(|word| !WITHOUT.contains(word)) {
            assert!(aliases.contains(&format!("\"{word}\"")), "{guide}: no method has `#[doc(alias = \"{word}\")]`");
            found += 1;
        }
        assert!(found > 10, "{guide}: {found} words");
    }
}
