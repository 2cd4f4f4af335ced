//! The packages of crates.io: their manifests, and the files beside these.

use crate::tree;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Categories of crates.io that suit packages of ours: it refuses a name that it does not know, when a package is
/// published.
const CATEGORIES: &[&str] =
    &["concurrency", "data-structures", "mathematics", "network-programming", "science", "simulation"];

/// Features that need a library beside the compiler, or that nobody is promised.
const UNDOCUMENTED: &[&str] = &["default", "mpi", "testing"];

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn metadata() -> Value {
    // Dependencies of other systems are not here, and no manifest of theirs is needed.
    const ARGUMENTS: [&str; 5] = ["metadata", "--format-version=1", "--all-features", "--filter-platform", TRIPLE];
    const TRIPLE: &str = "x86_64-unknown-linux-gnu";
    let cargo = env::var_os("CARGO").expect("cargo runs the tests");
    let output = Command::new(cargo).args(ARGUMENTS).current_dir(ROOT).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// The packages of the workspace that are not `publish = false`, in any order.
fn published(metadata: &Value) -> Vec<&Value> {
    let members: BTreeSet<&str> = texts(&metadata["workspace_members"]).into_iter().collect();
    let packages = metadata["packages"].as_array().expect("there are packages").iter();
    packages
        .filter(|package| package["id"].as_str().is_some_and(|id| members.contains(id)) && package["publish"].is_null())
        .collect()
}

/// The names of crates.io, the keywords and so on, and each file that a reader of the package looks for.
#[test]
fn packages_can_be_published() {
    let metadata = metadata();
    let packages = published(&metadata);
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let script = read(Path::new(ROOT).join(".ci/test"));
    let line = script.lines().find(|line| line.contains("cargo package")).expect(".ci/test makes packages");
    let made = line.split(" -p ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    assert_eq!(names, made, "`cargo package` in .ci/test makes each package that is not `publish = false`");

    for package in packages {
        let name = package["name"].as_str().expect("a package has a name");
        let folder = PathBuf::from(package["manifest_path"].as_str().expect("a package has a manifest"));
        let folder = folder.parent().expect("a file lies in a folder");
        assert!(package["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}: no description");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        for link in ["repository", "homepage", "documentation"] {
            assert!(package[link].is_null(), "{name}: no address is known for `{link}`");
        }

        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for net in dependencies.filter(|other| other["name"] == "aurora-net" && other["kind"].is_null()) {
            let very = format!("={}", env!("CARGO_PKG_VERSION"));
            assert_eq!(net["req"], very.as_str(), "{name}: the interface of aurora-net may change in any version");
        }

        let keywords = texts(&package["keywords"]);
        assert!((1..=5).contains(&keywords.len()), "{name}: crates.io takes 1 to 5 keywords: {keywords:?}");
        assert!(keywords.iter().all(|word| word.len() <= 20), "{name}: a keyword has at most 20 bytes: {keywords:?}");
        let categories = texts(&package["categories"]);
        assert!((1..=5).contains(&categories.len()), "{name}: crates.io takes 1 to 5 categories: {categories:?}");
        assert!(categories.iter().all(|category| CATEGORIES.contains(category)), "{name}: {categories:?}");

        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert_eq!(read(folder.join(licence)), read(Path::new(ROOT).join(licence)), "{name}: {licence}");
        }
        let readme = read(folder.join(package["readme"].as_str().unwrap_or_else(|| panic!("{name}: no readme"))));
        for target in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let leads_somewhere = target.starts_with("https://") || target.starts_with('#');
            assert!(leads_somewhere, "{name}: the README of a package has no files beside it: {target}");
        }

        let features = package["features"].as_object().into_iter().flatten().map(|(feature, _)| feature.as_str());
        let features: BTreeSet<&str> = features.filter(|feature| !UNDOCUMENTED.contains(feature)).collect();
        let docs = &package["metadata"]["docs"]["rs"];
        assert_eq!(features, texts(&docs["features"]).into_iter().collect(), "{name}: features for docs.rs");
        assert_eq!(texts(&docs["targets"]), ["x86_64-unknown-linux-gnu"], "{name}: docs.rs builds for Linux alone");
    }
}

/// `aurora-core` is a folder and no package, and a reader cannot tell by the name.
#[test]
fn commands_in_documents_name_packages() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("there are packages");
    let packages: BTreeSet<_> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut found = 0;
    for end in [".md", ".rs"] {
        let files = tree::files(Path::new(ROOT), end).expect("the files can be read");
        for file in files.iter().filter(|file| file.path != "CHANGELOG.md") {
            for (at, _) in file.text.match_indices("aurora-") {
                let (before, rest) = file.text.split_at(at);
                let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
                let (name, after) = rest.split_at(rest.find(|letter| !is_of_a_name(letter)).unwrap_or(rest.len()));
                if before.ends_with(" -p ") || (end == ".md" && after.starts_with(" = ")) {
                    assert!(packages.contains(name), "{}: {name} is no package", file.path);
                    found += 1;
                }
            }
        }
    }
    assert!(found > 30, "{found} commands and dependencies");
}

/// Clippy's `incompatible_msrv` keeps the standard library's part of it.
#[test]
fn the_lowest_toolchain_builds_what_a_package_needs() {
    fn version(package: &Value) -> Vec<u32> {
        let text = package["rust_version"].as_str().unwrap_or("1");
        text.split('.').map(|part| part.parse().expect("a version is made of numbers")).collect()
    }

    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("there are packages");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("there are dependencies");
    let of = |id: &Value| packages.iter().find(|package| package["id"] == *id).expect("an id has a package");
    for package in published(&metadata) {
        let (mut needed, mut next) = (BTreeSet::new(), vec![&package["id"]]);
        while let Some(id) = next.pop() {
            let node = nodes.iter().find(|node| node["id"] == *id).expect("a package has dependencies");
            for dependency in node["deps"].as_array().into_iter().flatten() {
                let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
                let is_for_tests = kinds.clone().all(|kind| kind["kind"] == "dev");
                if !is_for_tests && needed.insert(dependency["pkg"].as_str()) {
                    next.push(&dependency["pkg"]);
                }
            }
        }
        let newer =
            packages.iter().filter(|other| needed.contains(&other["id"].as_str()) && version(other) > version(package));
        let newer: Vec<_> = newer.map(|other| (&other["name"], &other["rust_version"])).collect();
        assert!(newer.is_empty(), "{} is for Rust {}, and needs {newer:?}", package["name"], package["rust_version"]);
        assert!(needed.len() > 10, "{}: {} dependencies", package["name"], needed.len());
    }

    let stated =
        format!("Rust {} or later", of(&published(&metadata)[0]["id"])["rust_version"].as_str().expect("it is stated"));
    for readme in ["README.md", "aurora-core/README.md"] {
        assert!(read(Path::new(ROOT).join(readme)).contains(&stated), "{readme} says {stated:?}");
    }
}

/// Keep a Changelog 1.1.0: a section for what is not released, one for each version with its date, and six headings.
#[test]
fn the_changelog_has_this_version() {
    const HEADINGS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let text = read(Path::new(ROOT).join("CHANGELOG.md"));
    let mut sections = text.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(sections.next(), Some("[Unreleased]"));
    let latest = sections.next().expect("there is a release");
    let (version, date) = latest.split_once(" - ").expect("a release has a date");
    assert_eq!(version, format!("[{}]", env!("CARGO_PKG_VERSION")));
    let parts: Vec<usize> = date.split('-').map(str::len).collect();
    assert!(parts == [4, 2, 2] && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'), "{date}");

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
