//! Finds the violations of the rules.

use crate::examples;
use crate::imports::{Crate, Import, To, module_of};
use crate::source::{Names, Source};
use crate::tree::File;
use crate::{
    BANS, BEHAVIOURS, BRANCHES_ON_NAMES, CALCULATIONS, CLOCK, COLUMNS, InCrate, LEAVES, LINES, LINES_OF_OBJECTS,
    MACHINES, MADE_OF, NO_CYCLES, ONCE, SEAM, SHARED_BY_BEHAVIOURS, UNSAFE,
};
use std::collections::{BTreeMap, BTreeSet};

/// A violation of a rule, in one file or between two modules.
#[derive(Clone, PartialEq, Debug)]
pub struct Violation {
    pub rule: &'static str,
    /// The violating item, without line numbers, so that it stays the same when other lines change.
    pub what: String,
    /// The count or the amount, if the rule has one.
    pub count: Option<usize>,
    /// The places, as `file:line`; several of them where that helps.
    pub places: Vec<String>,
    pub mend: String,
}

/// All violations, in order.
pub fn violations(files: &[File]) -> Result<Vec<Violation>, String> {
    let mut found = Vec::new();
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for file in files {
        let in_crate = file.path.split_once("/src/").map(|(name, path)| (name, module_of(path)));
        let module = in_crate.as_ref().map(|(_, module)| module.clone()).unwrap_or_default();
        let source = parse(file, module)?;
        in_file(file, &source, &mut found);
        of_layers(file, &mut found);
        without_example(file, &mut found);
        if let Some((name, module)) = in_crate {
            crates.entry(name).or_default().add(&file.path, module, source);
        }
    }
    for (name, of) in &crates {
        let imports = of.imports();
        leaves(name, &imports, &mut found);
        bans(name, &imports, &mut found);
        behaviours(name, &imports, &mut found);
        cycles(name, &imports, &mut found);
        clocks(name, of, &mut found);
    }
    found.sort_by(|a, b| (a.rule, &a.what).cmp(&(b.rule, &b.what)));
    Ok(found)
}

/// The files that have `unsafe` code.
pub fn with_unsafe(files: &[File]) -> Result<BTreeSet<&str>, String> {
    let mut with = BTreeSet::new();
    for file in files.iter().filter(|file| file.text.contains("unsafe")) {
        if !parse(file, Names::new())?.of_unsafe.is_empty() {
            with.insert(file.path.as_str());
        }
    }
    Ok(with)
}

fn parse(file: &File, module: Names) -> Result<Source, String> {
    Source::parse(&file.text, module).map_err(|error| format!("{}: {error}", file.path))
}

/// Checks the rules of a single file: `unsafe` code, the length of the file and of its lines.
fn in_file(file: &File, source: &Source, found: &mut Vec<Violation>) {
    if !source.of_unsafe.is_empty() && !UNSAFE.contains(&file.path.as_str()) {
        found.push(Violation {
            rule: "unsafe",
            what: file.path.clone(),
            count: None,
            places: at(&file.path, &source.of_unsafe),
            mend: "use what the files in `UNSAFE` of tests/architecture.rs offer, or list this one, with numbered \
                   invariants at its head"
                .into(),
        });
    }
    let lines = file.text.lines().count() - source.test_lines - examples::lines(&file.text);
    let is_of_object = |folder: &&str| file.path.starts_with(&format!("aurora-core/src/{folder}/"));
    let is_object = LINES_OF_OBJECTS.1.iter().any(is_of_object) && !file.path.ends_with("/tests.rs");
    let most = if is_object { LINES_OF_OBJECTS.0 } else { LINES };
    if lines > most {
        found.push(Violation {
            rule: "length",
            what: file.path.clone(),
            count: Some(lines),
            places: at(&file.path, &[most + 1]),
            mend: format!("{lines} lines, {most} are allowed: move a type with its state and tests into its own file"),
        });
    }
    let is_long = |text: &str| text.chars().count() > COLUMNS;
    let long: Vec<usize> =
        (1..).zip(file.text.lines()).filter(|(_, text)| is_long(text)).map(|(line, _)| line).collect();
    if !long.is_empty() {
        found.push(Violation {
            rule: "columns",
            what: file.path.clone(),
            count: Some(long.len()),
            places: at(&file.path, &long),
            mend: format!("break lines at {COLUMNS} columns, comments too"),
        });
    }
}

/// Finds copies of items that exist once, and branches on display names.
fn of_layers(file: &File, found: &mut Vec<Violation>) {
    if !file.path.starts_with("aurora-core/src/") {
        return;
    }
    let mut find = |rule, texts: &[&str], mend: &str| {
        let lines = (1..).zip(file.text.lines()).filter(|(_, line)| texts.iter().any(|text| line.contains(text)));
        let lines: Vec<usize> = lines.map(|(line, _)| line).collect();
        if !lines.is_empty() {
            let (what, count, places) = (file.path.clone(), Some(lines.len()), at(&file.path, &lines));
            found.push(Violation { rule, what, count, places, mend: mend.into() });
        }
    };
    for (_, items, mend) in ONCE.iter().filter(|(module, ..)| !file.path.starts_with(module)) {
        find("once", items, mend);
    }
    if !["error/", "collective/", "kernel/"]
        .iter()
        .any(|text| file.path.starts_with(&format!("aurora-core/src/{text}")))
    {
        find("names", BRANCHES_ON_NAMES, "names are for errors: give the protocol a number or an enum");
    }
}

/// Finds public methods of user types without an example.
fn without_example(file: &File, found: &mut Vec<Violation>) {
    let missing = if file.path.starts_with("aurora-core/src/") { examples::missing(&file.text) } else { Vec::new() };
    if !missing.is_empty() {
        found.push(Violation {
            rule: "example",
            what: file.path.clone(),
            count: Some(missing.len()),
            places: missing.iter().map(|method| format!("{}:{} {}", file.path, method.line, method.name)).collect(),
            mend: "show in a few lines, which the tests run, how the method is used".into(),
        });
    }
}

fn leaves(of: &str, imports: &[Import<'_>], found: &mut Vec<Violation>) {
    for import in imports.iter().filter(|import| LEAVES.iter().any(|leaves| leaves.hold(of, import.by))) {
        let to_leaf = |module: &Names| LEAVES.iter().any(|leaves| leaves.hold(of, module));
        if matches!(&import.to, To::Here(module) if !to_leaf(module)) {
            let mend = "a leaf imports leaves: move down what it needs, or give it as an argument";
            add_import("leaf", import, mend, found);
        }
    }
}

fn bans(of: &str, imports: &[Import<'_>], found: &mut Vec<Violation>) {
    for ban in BANS {
        for import in imports.iter().filter(|import| ban.modules.hold(of, import.by)) {
            let path = format!("{}::", import.to.path());
            let calculates = CALCULATIONS.iter().any(|item| path.starts_with(item));
            if !calculates && ban.banned.iter().any(|banned| path.starts_with(&format!("{banned}::"))) {
                add_import(ban.rule, import, ban.mend, found);
            }
        }
    }
}

fn behaviours(of: &str, imports: &[Import<'_>], found: &mut Vec<Violation>) {
    let name = |module: &Names| {
        let name = module.get(1).filter(|_| BEHAVIOURS.hold(of, module)).cloned();
        name.filter(|name| !SHARED_BY_BEHAVIOURS.contains(&name.as_str()))
    };
    for import in imports {
        let To::Here(to) = &import.to else { continue };
        let (Some(by), Some(to)) = (name(import.by), name(to)) else { continue };
        let is_made_of = MADE_OF.iter().any(|(whole, parts)| *whole == by && parts.contains(&to.as_str()));
        if by != to && !is_made_of {
            let mend = "behaviours are independent: move what both need out of them";
            add_import("behaviour", import, mend, found);
        }
    }
}

/// Adds an import, or adds its line to the entry of the same file and module.
fn add_import(rule: &'static str, import: &Import<'_>, mend: &str, found: &mut Vec<Violation>) {
    let what = format!("{} -> {}", import.file, import.to.path());
    let place = format!("{}:{}", import.file, import.line);
    match found.iter_mut().find(|other| other.rule == rule && other.what == what) {
        Some(other) if other.places.contains(&place) => {}
        Some(other) => other.places.push(place),
        None => found.push(Violation { rule, what, count: None, places: vec![place], mend: mend.into() }),
    }
}

fn cycles(of: &str, imports: &[Import<'_>], found: &mut Vec<Violation>) {
    if !NO_CYCLES.contains(&of) {
        return;
    }
    // Keyed by importing and imported module: in each file the first line for each module below them.
    let mut edges: BTreeMap<(&str, &str), BTreeMap<String, String>> = BTreeMap::new();
    for import in imports {
        if let (Some(by), Some(to)) = (import.by.first(), import.to.top())
            && by != to
        {
            let to_module = format!("{} -> {}", import.file, import.to.path());
            let place = format!("{}:{} -> {}", import.file, import.line, import.to.path());
            edges.entry((by, to)).or_default().entry(to_module).or_insert(place);
        }
    }
    for ((one, other), there) in &edges {
        if let Some(back) = edges.get(&(*other, *one))
            && one < other
            && (*one, *other) != SEAM
        {
            // The direction with fewer imports comes first: usually it is the one to correct.
            let (few, many) = if there.len() <= back.len() { (there, back) } else { (back, there) };
            found.push(Violation {
                rule: "cycle",
                what: format!("{of}: {one} <-> {other}"),
                count: None,
                places: few.values().chain(many.values()).cloned().collect(),
                mend: "of two modules one is above: let the lower one return or be given what it names of the other"
                    .into(),
            });
        }
    }
}

fn clocks(of: &str, sources: &Crate, found: &mut Vec<Violation>) {
    for (file, module, source) in sources.sources() {
        if !source.of_clock.is_empty() && file != CLOCK && MACHINES.iter().any(|machines| machines.hold(of, module)) {
            found.push(Violation {
                rule: "clock",
                what: file.to_string(),
                count: Some(source.of_clock.len()),
                places: at(file, &source.of_clock),
                mend: "a machine is told the time: take `now` as an argument".into(),
            });
        }
    }
}

impl InCrate {
    /// True if it contains this module of this crate.
    fn hold(&self, of: &str, module: &Names) -> bool {
        self.of == of && module.first().is_some_and(|top| self.modules.contains(&top.as_str()))
    }
}

fn at(file: &str, lines: &[usize]) -> Vec<String> {
    lines.iter().map(|line| format!("{file}:{line}")).collect()
}
