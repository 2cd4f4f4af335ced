//! The page: one file without dependencies. [`maud`] escapes text where it is written.

mod farms;
mod figure;
mod models;
mod overheads;
mod provenance;
mod simulated;
mod summary;
mod table;
mod tables;
mod text;
mod wanted;

pub use super::network::Payload;
pub use tables::Version;

use super::collect::Collection;
use super::recorded::Recorded;
use super::study::studies;
use maud::{DOCTYPE, PreEscaped, html};
use wanted::Wanted;

/// The begin of each page. A file without it is not overwritten.
pub const BEGIN: &str = "<!DOCTYPE html>";

/// The facts that only the crate with the programs and operations knows.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// Every version of each application.
    pub versions: &'k [Version],
    /// The minimum number of bytes that an operation moves over the network.
    pub payload: Payload,
}

/// Returns the page of these runs. Without a title it gets a title that suits its runs.
pub fn page(all: &[Recorded], title: Option<&str>, known: Known<'_>) -> String {
    let of = Collection::of(all);
    let studies = studies(&of);
    let mut wanted = Wanted::default();
    let is_measured = all.iter().any(Recorded::is_measured);
    let models = all.iter().filter(|run| run.is_model()).count();
    let title = title.unwrap_or(match models {
        _ if is_measured => "Aurora beside MPI",
        0 => "Super-programs",
        models if models == all.len() => "Machines of different speeds",
        _ => "Super-programs, and machines of different speeds",
    });
    let body = html! {
        h1 { (title) }
        (summary::section(all, &of, &studies))
        (figure::sections(all, &studies, &mut wanted))
        @if is_measured { (tables::operations(all, &studies, known.payload, &mut wanted)) }
        (farms::section(all))
        (simulated::sections(all))
        (models::sections(all))
        @if is_measured { (tables::code(known.versions)) }
        (tables::programs(&of, &studies))
        (wanted.section())
        (provenance::appendix(all))
        p.quiet { "Written by " code { "aurora report" } " " (env!("CARGO_PKG_VERSION")) "." }
    };
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { main { (body) } }
        }
    };
    document.into_string()
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::super::series::Key;
    use super::*;
    use std::fs;

    /// Invented runs in the form of `--json`, and the expected texts of their pages.
    const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pages");

    fn page(runs: &str, file: &str, title: Option<&str>) -> String {
        let version = |implementation, lines| Version { app: "mm2", implementation, lines };
        let payload = |key: &Key, nodes: usize| {
            let bytes = key.problem.size;
            ["read-cache", "exchange"].contains(&key.problem.name.as_str()).then_some(bytes - bytes / nodes)
        };
        let mut all = Vec::new();
        parse(file, runs.as_bytes(), &mut all).expect("runs");
        super::page(&all, title, Known { versions: &[version("aurora", 20), version("mpi-isend", 50)], payload })
    }

    fn assert_sound(page: &str) {
        assert!(page.starts_with(BEGIN));
        for tag in ["section", "figure", "table", "tr", "td", "th", "ul", "li", "p", "svg", "text", "code", "h4"] {
            let opened = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        // Nothing is fetched, and nothing runs.
        for word in ["<script", "<link", "<img", "url(", "@import", " src="] {
            assert!(!page.contains(word), "{word}");
        }
        // Modelled curves are dashed, and so is the policy `syn`, in which all nodes work in steps.
        for figure in page.split("<figure>").skip(1).map(|rest| rest.split("</figure>").next().unwrap()) {
            let title = figure.split("</h4>").next().unwrap().to_lowercase();
            let modelled = title.contains("modelled");
            assert_eq!(figure.contains("Dashed: modelled, not measured"), modelled, "{title}");
            assert_eq!(figure.contains("stroke-dasharray"), modelled || figure.contains("</svg>syn "), "{title}");
            assert!(!(modelled && title.contains("measured:")), "{title}");
        }
    }

    /// Returns the text of a page, without its style and the drawing of its charts: a line for each block, for a row of
    /// a table, for the words of a chart. Other tags are included if they say more than a name.
    fn outline(page: &str) -> String {
        let blocks = ["title", "h1", "h2", "h3", "h4", "p", "li", "tr", "figcaption", "caption", "summary"];
        let page = page.replace(include_str!("style.css"), "").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let mut outline = String::new();
        for part in page.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("the end of a tag");
            outline += &match tag.split(' ').next().unwrap_or_default() {
                "polyline" | "polygon" => String::new(),
                "svg" if tag.contains("aria-hidden") => String::new(),
                "svg" => "\nchart:".into(),
                "text" => " ".into(),
                "td" | "th" => " | ".into(),
                "br" => " / ".into(),
                name if blocks.contains(&name) => format!("\n<{tag}> "),
                _ if tag.contains(' ') => format!("<{tag}>"),
                _ => String::new(),
            };
            outline += text;
        }
        outline + "\n"
    }

    /// `UPDATE=1 cargo test -p aurora-report` writes the expected texts again: check with `git diff` that they are
    /// right.
    #[test]
    fn a_page_says_what_it_is_expected_to() {
        for file in fs::read_dir(PAGES).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|kind| kind != "json") {
                continue;
            }
            let page = page(&fs::read_to_string(&file).unwrap(), "made-up.json", None);
            assert_sound(&page);
            let (file, outline) = (file.with_extension("txt"), outline(&page));
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&file, &outline).unwrap();
            }
            let expected = fs::read_to_string(&file).unwrap();
            for (number, (line, other)) in outline.lines().zip(expected.lines()).enumerate() {
                assert_eq!(line, other, "{}, line {}", file.display(), number + 1);
            }
            assert_eq!(outline.lines().count(), expected.lines().count(), "{}", file.display());
        }
    }

    #[test]
    fn nothing_that_a_user_names_can_break_the_page() {
        let evil = "</code></svg></style><script>alert('x')</script>\"'&amp;";
        let text = serde_json::to_string(evil).unwrap();
        let mut runs = fs::read_to_string(format!("{PAGES}/study.json")).unwrap();
        for value in ["aurora made-up --json", "Made up for a test, 2 cores, 1 GiB, Linux 0", "2001-01-01T00:00:00Z"]
            .into_iter()
            .chain(["155 Mbit/s, MTU 9000", "Made-up MPI 1", "mm2", "mpi-collective", "tiled", "load"])
        {
            assert!(runs.contains(&format!("\"{value}\"")), "{value}");
            runs = runs.replace(&format!("\"{value}\""), &text);
        }
        runs = runs.replace("\"seed\"", &format!("{text}:5,\"seed\""));
        runs = runs
            .replace("\"labels\":{\"network\"", &format!("\"labels\":{{\"setting\":{text},\"my\":{text},\"network\""));
        let page = page(&runs, evil, Some(evil));
        assert_sound(&page);
        assert!(page.contains("&lt;script&gt;"));
        assert_eq!(page.matches("<style").count(), 1);
    }
}
