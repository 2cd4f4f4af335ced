//! The packages for crates.io: their manifests, and their files.

use crate::tree;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The categories of crates.io that suit our packages. crates.io refuses an unknown name only when a package is
/// published.
const CATEGORIES: &[&str] =
    &["concurrency", "data-structures", "mathematics", "network-programming", "science", "simulation"];

/// Features that need more than the compiler, or that are not for users.
const UNDOCUMENTED: &[&str] = &["default", "mpi", "testing"];

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

fn cargo(arguments: &[&str]) -> String {
    let cargo = env::var_os("CARGO").expect("cargo runs the tests");
    let output = Command::new(cargo).args(arguments).current_dir(ROOT).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The packages of the workspace, and all packages that they need on this system.
fn packages() -> Vec<Value> {
    let text = cargo(&["metadata", "--format-version=1", "--all-features", "--filter-platform", TRIPLE]);
    let mut metadata: Value = serde_json::from_str(&text).expect("cargo writes JSON");
    serde_json::from_value(metadata["packages"].take()).expect("there are packages")
}

/// The packages of the workspace without `publish = false`.
fn published() -> Vec<Value> {
    let is_kept = |package: &Value| package["publish"].as_array().is_some_and(Vec::is_empty);
    packages().into_iter().filter(|package| package["source"].is_null() && !is_kept(package)).collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a package has a name")
}

fn folder(package: &Value) -> PathBuf {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a package has a manifest"));
    manifest.parent().expect("a file lies in a folder").into()
}

fn list<'v>(value: &'v Value, item: &str) -> Vec<&'v str> {
    value[item].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

#[test]
fn ci_makes_each_package_that_is_published() {
    let script = read(Path::new(ROOT).join(".ci/test"));
    let line = script.lines().find(|line| line.contains("cargo package")).expect(".ci/test makes packages");
    let made: BTreeSet<&str> = line.split(" -p ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    assert_eq!(made, published().iter().map(name).collect(), "the others are `publish = false`");
}

#[test]
fn manifests_have_what_crates_io_wants() {
    fn is_a_keyword(word: &&str) -> bool {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+".contains(&byte);
        word.len() <= 20 && word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.bytes().all(is_inner)
    }

    let packages = published();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    for package in &packages {
        let name = name(package);
        assert!(package["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}: no description");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        for link in ["repository", "homepage", "documentation"] {
            assert!(package[link].is_null(), "{name}: no address is known for `{link}`");
        }
        let keywords = list(package, "keywords");
        assert!((1..=5).contains(&keywords.len()) && keywords.iter().all(is_a_keyword), "{name}: {keywords:?}");
        let categories = list(package, "categories");
        assert!((1..=5).contains(&categories.len()), "{name}: {categories:?}");
        assert!(categories.iter().all(|category| CATEGORIES.contains(category)), "{name}: {categories:?}");

        for other in package["dependencies"].as_array().into_iter().flatten() {
            let (to, req) = (&other["name"], &other["req"]);
            assert!(*req != "*", "{name}: no version of {to}");
            if to.as_str().is_some_and(|to| ours.contains(to)) {
                // The interface of aurora-net may change in every version.
                let wanted = format!("{}{VERSION}", if *to == "aurora-net" { "=" } else { "^" });
                assert_eq!(*req, wanted.as_str(), "{name}: its {to}");
            }
        }

        let features = package["features"].as_object().into_iter().flatten().map(|(feature, _)| feature.as_str());
        let features: BTreeSet<&str> = features.filter(|feature| !UNDOCUMENTED.contains(feature)).collect();
        let docs = &package["metadata"]["docs"]["rs"];
        assert_eq!(features, list(docs, "features").into_iter().collect(), "{name}: features for docs.rs");
        assert_eq!(list(docs, "targets"), [TRIPLE], "{name}: targets for docs.rs");
    }
}

#[test]
fn packages_have_licences_a_readme_and_all_sources() {
    for package in published() {
        let (name, folder) = (name(&package), folder(&package));
        let files = cargo(&["package", "--quiet", "--allow-dirty", "--list", "--package", name]);
        let files: BTreeSet<&str> = files.lines().collect();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(files.contains(licence), "{name}: no {licence}");
            assert_eq!(read(folder.join(licence)), read(Path::new(ROOT).join(licence)), "{name}: {licence}");
        }
        assert!(files.contains("README.md") && package["readme"] == "README.md", "{name}: no README.md");
        let readme = read(folder.join("README.md"));
        for target in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let leads_somewhere = target.starts_with("https://") || target.starts_with('#');
            assert!(leads_somewhere, "{name}: the README of a package has no files beside it: {target}");
        }
        for end in [".rs", ".md"] {
            let sources = tree::files(&folder.join("src"), end).expect("the sources can be read");
            for path in sources.iter().map(|file| format!("src/{}", file.path)) {
                assert!(files.contains(path.as_str()), "{name}: {path} is not in the package");
            }
        }
    }
}

/// `aurora-core` is a folder, not a package, and its name does not show that.
#[test]
fn commands_in_documents_name_packages() {
    const BEFORE: [&str; 3] = [" -p ", "--package ", "cargo add "];
    const AFTER: [&str; 6] = [" = ", "/mpi", "/ndarray", "/num-complex", "/rayon", "/testing"];
    let packages = packages();
    let packages: BTreeSet<&str> = packages.iter().map(name).collect();
    let mut found = 0;
    for end in [".md", ".rs"] {
        let files = tree::files(Path::new(ROOT), end).expect("the files can be read");
        for file in files.iter().filter(|file| file.path != "CHANGELOG.md") {
            for (at, _) in file.text.match_indices("aurora-") {
                let (before, rest) = file.text.split_at(at);
                let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
                let (name, after) = rest.split_at(rest.find(|letter| !is_of_a_name(letter)).unwrap_or(rest.len()));
                let is_of_cargo = BEFORE.iter().any(|words| before.ends_with(words))
                    || AFTER.iter().any(|words| after.starts_with(words));
                if is_of_cargo {
                    assert!(packages.contains(name), "{}: {name} is no package", file.path);
                    found += 1;
                }
            }
        }
    }
    assert!(found > 30, "{found} commands and dependencies");
}

/// For the standard library, Clippy's `incompatible_msrv` checks this.
#[test]
fn the_lowest_toolchain_builds_all_dependencies() {
    fn version(text: &str) -> [u32; 3] {
        let mut parts = text.split('.').map(|part| part.parse().expect("a version is made of numbers"));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    }

    let lowest = env!("CARGO_PKG_RUST_VERSION");
    for package in packages() {
        let needed = package["rust_version"].as_str().unwrap_or("1");
        assert!(version(needed) <= version(lowest), "{} needs Rust {needed}, and {lowest} is stated", name(&package));
    }
    let readmes = published().iter().map(|package| folder(package).join("README.md")).collect::<Vec<_>>();
    for readme in readmes.iter().chain([&Path::new(ROOT).join("README.md")]) {
        let stated = format!("Rust {lowest} or later");
        assert!(read(readme).contains(&stated), "{}: {stated:?} is missing", readme.display());
    }
}

/// Keep a Changelog 1.1.0: a section for unreleased changes, a section with date for each version, and six headings.
#[test]
fn the_changelog_has_this_version() {
    const HEADINGS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let text = read(Path::new(ROOT).join("CHANGELOG.md"));
    let mut sections = text.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(sections.next(), Some("[Unreleased]"));
    let releases: Vec<_> = sections.filter_map(|section| section.split_once(" - ")).collect();
    assert_eq!(releases.len() + 1, text.matches("\n## ").count(), "a release has a date");
    assert_eq!(releases[0].0, format!("[{VERSION}]"));
    assert!(read(Path::new(ROOT).join("CITATION.cff")).contains(&format!("\nversion: {VERSION}\n")), "CITATION.cff");
    for (version, date) in releases {
        let parts: Vec<u32> = date.split('-').map(|part| part.parse().expect("a date is made of numbers")).collect();
        let is_a_date = matches!(parts[..], [2026..=2999, 1..=12, 1..=31]) && date.len() == "2026-11-27".len();
        assert!(is_a_date, "{version}: {date}");
    }

    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("## ") {
            seen.clear();
        } else if let Some(heading) = line.strip_prefix("### ") {
            assert!(HEADINGS.contains(&heading), "`### {heading}` is none of {HEADINGS:?}");
            assert!(seen.insert(heading), "`### {heading}` stands twice in one section");
        }
    }
}
