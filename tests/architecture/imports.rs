//! The imports of the modules of one crate.

use crate::source::{Named, Names, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of re-exports through which a name is followed.
const HOPS: usize = 16;

/// A crate, with all its files.
#[derive(Default)]
pub struct Crate {
    sources: BTreeMap<String, Source>,
    /// The module of each file.
    of: BTreeMap<String, Names>,
    modules: BTreeSet<Names>,
    aliases: BTreeMap<Names, Vec<(String, Names)>>,
    tests: BTreeSet<Names>,
}

/// A module that is named by another module.
#[derive(Debug)]
pub struct Import<'c> {
    pub file: &'c str,
    pub line: usize,
    pub by: &'c Names,
    pub to: To,
}

/// A module of this crate, or a path in another.
#[derive(Clone, PartialEq, Debug)]
pub enum To {
    Here(Names),
    Elsewhere(Names),
}

impl To {
    /// The path in source form: `crate::...` for a module of this crate.
    pub fn path(&self) -> String {
        match self {
            To::Here(module) => format!("crate::{}", module.join("::")),
            To::Elsewhere(path) => path.join("::"),
        }
    }

    fn is_inside(&self, outer: &To) -> bool {
        matches!((self, outer), (To::Here(inner), To::Here(outer)) if inner != outer && inner.starts_with(outer))
    }

    /// The top module of this crate that it is or that contains it.
    pub fn top(&self) -> Option<&str> {
        match self {
            To::Here(module) => module.first().map(String::as_str),
            To::Elsewhere(_) => None,
        }
    }
}

impl Crate {
    /// Adds the file of `module`.
    pub fn add(&mut self, file: &str, module: Names, source: Source) {
        self.modules.insert(module.clone());
        self.modules.extend(source.modules.iter().cloned());
        self.tests.extend(source.tests.iter().cloned());
        if source.is_test {
            self.tests.insert(module.clone());
        }
        for alias in &source.aliases {
            self.aliases.entry(alias.within.clone()).or_default().push((alias.name.clone(), alias.path.clone()));
        }
        self.of.insert(file.to_string(), module);
        self.sources.insert(file.to_string(), source);
    }

    /// The files that are not only for tests: path, module and contents.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &Names, &Source)> {
        let all = self.sources.iter().map(|(file, source)| (file.as_str(), &self.of[file], source));
        all.filter(|(_, module, _)| !(0..=module.len()).any(|depth| self.tests.contains(&module[..depth])))
    }

    /// The imports of these files. A path to a module around the importing module is no import. The place inside a
    /// module where an exported name is defined does not count.
    pub fn imports(&self) -> Vec<Import<'_>> {
        let mut imports = Vec::new();
        for (file, _, source) in self.sources() {
            for Named { by, path, line } in &source.named {
                let mut all = Vec::new();
                self.follow(by, path, HOPS, &mut all);
                all.retain(|to| !matches!(to, To::Here(module) if by.starts_with(module)));
                let outer = all.clone();
                all.retain(|to| !outer.iter().any(|outer| to.is_inside(outer)));
                imports.extend(all.into_iter().map(|to| Import { file, line: *line, by, to }));
            }
        }
        imports
    }

    /// The modules to which a path leads: the named module, and the defining module if the named one re-exports.
    fn follow(&self, by: &[String], path: &[String], hops: usize, all: &mut Vec<To>) {
        let Some(first) = path.first().filter(|_| hops > 0) else { return };
        let supers = path.iter().take_while(|name| *name == "super").count();
        let (mut module, rest) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "super" => (by[..by.len().saturating_sub(supers)].to_vec(), &path[supers..]),
            "self" => {
                let supers = path[1..].iter().take_while(|name| *name == "super").count();
                (by[..by.len().saturating_sub(supers)].to_vec(), &path[1 + supers..])
            }
            name if self.modules.contains(&below(by, name)) => (by.to_vec(), path),
            name => {
                let mut aliases = self.brought_in(by, name).filter(|alias| alias[0] != name).peekable();
                if aliases.peek().is_none() {
                    all.push(To::Elsewhere(path.to_vec()));
                }
                for alias in aliases {
                    self.follow(by, &joined(alias, &path[1..]), hops - 1, all);
                }
                return;
            }
        };
        for (index, name) in rest.iter().enumerate() {
            let inner = below(&module, name);
            if self.modules.contains(&inner) {
                module = inner;
                continue;
            }
            let mut aliases: Vec<&Names> = self.brought_in(&module, name).collect();
            if name == "*" {
                aliases = self.aliases.get(&module).into_iter().flatten().map(|(_, path)| path).collect();
            }
            for alias in aliases {
                self.follow(&module, &joined(alias, &rest[index + 1..]), hops - 1, all);
            }
            break;
        }
        all.push(To::Here(module));
    }

    /// The paths for which a name stands that `use` lines bring into a module.
    fn brought_in<'c>(&'c self, module: &[String], name: &'c str) -> impl Iterator<Item = &'c Names> {
        let all = self.aliases.get(module).into_iter().flatten();
        all.filter(move |(alias, _)| alias == name).map(|(_, path)| path)
    }
}

fn below(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_string()]).collect()
}

fn joined(path: &[String], rest: &[String]) -> Names {
    path.iter().chain(rest).cloned().collect()
}

/// The module of the file at `path` below `src`.
pub fn module_of(path: &str) -> Names {
    let mut names: Names = path.trim_end_matches(".rs").split('/').map(String::from).collect();
    if names.last().is_some_and(|last| last == "mod") || names == ["lib"] {
        names.pop();
    }
    names
}
