//! Each rule finds its violations, and nothing else.

use crate::check::{Violation, violations};
use crate::tree::File;

fn all_found(files: &[(&str, &str)]) -> Vec<Violation> {
    let files = files.iter().map(|(path, text)| File { path: path.to_string(), text: text.to_string() });
    violations(&files.collect::<Vec<_>>()).expect("they can be parsed")
}

/// The violations of some files: the rule and the violating item.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let all = all_found(files);
    all.iter().map(|violation| format!("{} {}", violation.rule, violation.what)).collect()
}

/// The root of a crate, with a re-exported name.
const ROOT: &str = "mod behaviour; mod error; mod halo; mod kernel; mod site;
    pub use behaviour::Accumulated; pub use aurora_net::Rank;";

/// The violations of a module of aurora-core.
fn of(path: &str, text: &str) -> Vec<String> {
    let path = format!("aurora-core/src/{path}");
    let behaviour = "mod release; mod accumulate; mod halo; mod marks; pub use accumulate::Accumulated;";
    let mut files = vec![("aurora-core/src/lib.rs", ROOT), (&path, text)];
    if path != "aurora-core/src/behaviour/mod.rs" {
        files.push(("aurora-core/src/behaviour/mod.rs", behaviour));
    }
    found(&files)
}

#[test]
fn a_leaf_imports_leaves() {
    let wanted = ["leaf aurora-core/src/site.rs -> crate::kernel"];
    for text in [
        "use crate::kernel::Kernel;",
        "use super::{error::Error, kernel::{self, Kernel}};",
        "fn f() { let _ = crate::kernel::now(); }",
        "struct Site(Option<crate::kernel::Kernel>);",
        "macro_rules! m { () => { $crate::kernel::now() } }",
        "fn f() { println!(\"{}\", crate::kernel::now()); }",
        "mod inner { use super::super::kernel::Kernel; }",
        "use super::kernel as below; #[cfg(test)] mod tests { use super::*; }",
        "impl T for S { fn f() -> Vec<crate::kernel::K<u8>> { vec![] } }",
        "#[cfg(any(test, feature = \"a\"))] use crate::kernel::Kernel;",
    ] {
        assert_eq!(of("site.rs", text), wanted, "{text}");
    }
    for text in [
        "use crate::error::{self, Error}; use std::fmt; use aurora_net::Rank;",
        "use crate::Rank; mod inner { use super::Site; } pub(in crate::kernel) struct Site;",
        "#[cfg(test)] mod tests { use crate::kernel::Kernel; }",
        "#[cfg(test)] use crate::kernel::{Kernel, Other}; struct Site;",
        "#[cfg(all(test, feature = \"a\"))]\n#[allow(dead_code)] pub(crate) fn f<A, B>(k: crate::kernel::K) {}",
        "struct Site { #[cfg(test)] kernel: Option<crate::kernel::Kernel>, line: u32 }",
        "//! crate::kernel\n/// [`crate::kernel::Kernel`]\nconst TEXT: &str = \"crate::kernel::Kernel\";",
    ] {
        assert!(of("site.rs", text).is_empty(), "{text}: {:?}", of("site.rs", text));
    }
    assert_eq!(of("kernel.rs", "use crate::site::Site;"), [""; 0]);
}

#[test]
fn a_method_of_a_users_type_has_an_example() {
    let violates = |text: &str| of("scalar.rs", text);
    for text in [
        "impl<T: Element> GVector<T> { /// Text.\n pub fn at(&self) {} }",
        "impl<B: Fn() -> u8> Scope<'_, B> where B: Other<u8> { #[inline] pub const fn first(&self) -> u8 { 0 } }",
        "macro_rules! m { ($guard:ident) => { impl<T> $guard<'_, T> { pub fn row(&self) {} } } }",
        "impl World { /// What was hidden.\n pub fn load_time(&self) {} }",
        "impl World { /// ```\n /// f()\n /// ```\n pub const F: u8 = 1; pub fn f() {} }",
        "impl World { /// ```\n /// f()\n /// ```\n pub fn f() {} pub fn g() {} }",
    ] {
        assert_eq!(violates(text), ["example aurora-core/src/scalar.rs"], "{text}");
    }
    for text in [
        "impl<T: Element> GVector<T> { /// Text.\n /// ```\n /// v.at();\n /// ```\n pub fn at(&self) {} fn own() {} }",
        "impl World { pub(crate) fn link(&self) {} #[doc(hidden)] pub fn test(&self) {} }",
        "impl World { pub const F: u8 = 1; fn own() {} }",
        "impl Clone for World { fn clone(&self) {} } impl Other { pub fn f() {} }",
    ] {
        assert_eq!(violates(text), [""; 0], "{text}");
    }
}

#[test]
fn a_name_that_is_exported_again_leads_to_where_it_is_defined() {
    let wanted = ["leaf aurora-core/src/site.rs -> crate::behaviour"];
    assert_eq!(of("site.rs", "use crate::Accumulated;"), wanted);
    assert_eq!(of("site.rs", "use crate as root; use root::Accumulated;"), wanted);
    let wanted = ["behaviour aurora-core/src/behaviour/release.rs -> crate::behaviour::accumulate"];
    assert_eq!(of("behaviour/release.rs", "use super::Accumulated;"), wanted);
}

#[test]
fn a_complaint_names_the_lines() {
    let text =
        "use crate::{\n    error::Error,\n    kernel::Kernel,\n};\n\nstruct Site(\n    super::kernel::Kernel,\n);\n";
    let found = all_found(&[("aurora-core/src/lib.rs", ROOT), ("aurora-core/src/site.rs", text)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].places, ["aurora-core/src/site.rs:3", "aurora-core/src/site.rs:7"]);
}

#[test]
fn tests_in_files_of_their_own_import_what_they_like() {
    let files = [
        ("aurora-core/src/lib.rs", ROOT),
        ("aurora-core/src/site.rs", "#[cfg(test)]\nmod proof;"),
        ("aurora-core/src/site/proof.rs", "use crate::kernel::Kernel; mod inner;"),
        ("aurora-core/src/site/proof/inner.rs", "use crate::kernel::Kernel;"),
        ("aurora-core/src/error.rs", "#![cfg(test)] use crate::kernel::Kernel;"),
    ];
    assert!(found(&files).is_empty(), "{:?}", found(&files));
}

#[test]
fn the_protocol_does_no_io() {
    let of = |text| {
        found(&[("aurora-net/src/lib.rs", "mod proto; mod udp; mod rank;"), ("aurora-net/src/proto/a.rs", text)])
    };
    assert_eq!(of("use crate::udp::Port;"), ["io aurora-net/src/proto/a.rs -> crate::udp"]);
    assert_eq!(of("use std::{fmt, net::IpAddr};"), ["io aurora-net/src/proto/a.rs -> std::net::IpAddr"]);
    assert_eq!(of("fn f() { ::std::thread::yield_now() }"), ["io aurora-net/src/proto/a.rs -> std::thread::yield_now"]);
    assert!(of("use crate::rank::Rank; use std::{fmt, time::Duration};").is_empty());
}

#[test]
fn the_kernel_knows_no_kind_of_object() {
    for module in ["kernel", "object", "scope"] {
        let root = format!("mod {module}; mod vector; mod memory;");
        let path = format!("aurora-core/src/{module}/mod.rs");
        let of = |text| found(&[("aurora-core/src/lib.rs", &root), (&path, text)]);
        assert_eq!(of("use crate::vector::GVector;"), [format!("below {path} -> crate::vector")]);
        assert!(of("use crate::memory::Array;").is_empty());
    }
}

#[test]
fn a_vector_knows_no_behaviour() {
    let root = "mod behaviour; mod registry; mod vector;";
    let of = |path, text| found(&[("aurora-core/src/lib.rs", root), (path, text)]);
    let (vector, behaviour) = ("aurora-core/src/vector/core.rs", "aurora-core/src/behaviour/halo.rs");
    let wanted = [format!("below {vector} -> crate::behaviour")];
    assert_eq!(of(vector, "use crate::behaviour::halo::Edges;"), wanted);
    assert_eq!(of(behaviour, "use crate::registry::protocols;"), [format!("below {behaviour} -> crate::registry")]);
    assert!(of(behaviour, "use crate::vector::GVector;").is_empty());
}

#[test]
fn the_layers_exist_once() {
    for text in ["struct Parked;", "const AHEAD: usize = 8;", "impl S { fn obstacle(&self) {} }"] {
        assert_eq!(of("map.rs", text), ["once aurora-core/src/map.rs"], "{text}");
        assert!(of("scope/work.rs", text).is_empty());
    }
    for text in
        ["impl VectorCore { fn more(&self) {} }", "impl Vector { fn more(&self) {} }", "impl Drop for Vector {}"]
    {
        assert_eq!(of("map.rs", text), ["once aurora-core/src/map.rs"], "{text}");
        assert!(of("vector/core.rs", text).is_empty());
    }
    assert_eq!(of("scalar.rs", "fn f(o: O) -> bool { o.name == NAME }"), ["names aurora-core/src/scalar.rs"]);
    assert!(of("scalar.rs", "fn f(o: O) -> bool { o.protocol == 1 }").is_empty());
}

#[test]
fn behaviours_are_independent() {
    let wanted = ["behaviour aurora-core/src/behaviour/halo/mod.rs -> crate::behaviour::release"];
    assert_eq!(of("behaviour/halo/mod.rs", "use crate::behaviour::release::Alone;"), wanted);
    assert_eq!(of("behaviour/halo/mod.rs", "use super::release::Alone;"), wanted);
    assert!(of("behaviour/accumulate.rs", "use super::release::Alone; use super::marks::Marks;").is_empty());
    assert!(of("behaviour/mod.rs", "mod halo; mod release; use self::halo::Haloed; use release::Alone;").is_empty());
}

#[test]
fn top_modules_do_not_import_each_other() {
    let of = |kernel, link| {
        let root = "mod kernel; mod link;";
        found(&[
            ("aurora-core/src/lib.rs", root),
            ("aurora-core/src/kernel/a.rs", kernel),
            ("aurora-core/src/link.rs", link),
        ])
    };
    assert_eq!(of("use crate::link::Link;", "use super::kernel::A;"), ["cycle aurora-core: kernel <-> link"]);
    assert!(of("use crate::link::Link;", "use std::fmt;").is_empty());
    assert!(of("use crate::link::Link;", "#[cfg(test)] use super::kernel::A;").is_empty());
}

#[test]
fn a_machine_is_told_the_time() {
    for text in [
        "fn f() { let now = std::time::Instant::now(); }",
        "fn f(on: bool) { on.then(Instant::now); }",
        "use std::time::SystemTime;",
        "fn f(since: Instant) { g!(since.elapsed()); }",
    ] {
        assert_eq!(of("kernel/mod.rs", text), ["clock aurora-core/src/kernel/mod.rs"], "{text}");
        assert!(of("site.rs", text).is_empty(), "no machine: {text}");
    }
    assert!(of("kernel/mod.rs", "fn f(now: Instant) -> Instant { now + Duration::from_secs(1) }").is_empty());
    assert!(of("kernel/mod.rs", "#[cfg(test)] mod tests { fn f() { Instant::now() } }").is_empty());
}

#[test]
fn unsafe_code_stands_in_the_listed_files() {
    for text in [
        "fn f() { unsafe { g() } }",
        "macro_rules! m { () => { unsafe { g() } } }",
        "#[cfg(test)] mod tests { unsafe impl Send for S {} }",
    ] {
        assert_eq!(of("kernel.rs", text), ["unsafe aurora-core/src/kernel.rs"], "{text}");
        assert!(of("memory/array.rs", text).is_empty());
    }
    assert!(of("kernel.rs", "//! No unsafe code.\n#![allow(unsafe_code)] const A: &str = \"unsafe\";").is_empty());
}

#[test]
fn a_file_has_500_lines_and_a_line_120_columns() {
    let lines = |count| "\n".repeat(count);
    assert_eq!(of("kernel.rs", &lines(501)), ["length aurora-core/src/kernel.rs"]);
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(500), lines(100));
    assert!(of("kernel.rs", &tested).is_empty());
    let line = |count: usize| format!("//{}", "é".repeat(count - 2));
    assert_eq!(of("kernel.rs", &line(121)), ["columns aurora-core/src/kernel.rs"]);
    assert!(of("kernel.rs", &line(120)).is_empty());
}
