//! The documents: every link has a target, and the book has all of its chapters.

use crate::tree;
use pulldown_cmark::{BrokenLink, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The links and images of a document, and the anchors of its headings.
struct Document {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

fn read(text: &str) -> Document {
    let (mut document, mut heading) = (Document { links: Vec::new(), anchors: BTreeSet::new() }, None::<String>);
    // `[text][reference]` without its definition. A lone `[text]` is no link.
    let mut undefined = |link: BrokenLink<'_>| {
        (link.link_type == LinkType::Reference).then(|| (format!("[{}]", link.reference).into(), "".into()))
    };
    for event in Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(&mut undefined)) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) if html.contains("href=") || html.contains("src=") => {
                document.links.push(html.into_string());
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document.links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => document.anchors.extend(heading.take().map(|text| anchor(&text))),
            Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            _ => {}
        }
    }
    document
}

/// The anchor of a heading, by GitHub's rule.
fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The target of a link in another file, as a path from the root; none outside of the root.
fn target(from: &str, link: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir if path.pop() => {}
            Component::ParentDir => return None,
            part => path.push(part),
        }
    }
    Some(path)
}

#[test]
fn links_in_documents_lead_somewhere() {
    let files = tree::files(Path::new(ROOT), ".md").expect("the documents can be read");
    let (mut followed, mut wrong) = (0, Vec::new());
    for file in &files {
        for link in read(&file.text).links {
            let is_elsewhere = link.starts_with("https://") || link.starts_with("http://");
            // A document of rustdoc may name items, which rustdoc checks itself.
            let is_in_rustdoc = file.path.contains("/src/") && !file.path.starts_with("docs/");
            let is_an_item = link.contains("::")
                || is_in_rustdoc && link.chars().all(|letter| letter.is_alphanumeric() || "_()".contains(letter));
            if is_elsewhere || is_an_item {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if link.starts_with('#') { Some(PathBuf::from(&file.path)) } else { target(&file.path, path) };
            let path = path.filter(|path| !link.is_empty() && Path::new(ROOT).join(path).exists());
            let of = files.iter().find(|other| Some(Path::new(&other.path)) == path.as_deref());
            let has_anchor = anchor.is_empty() || of.is_some_and(|of| read(&of.text).anchors.contains(anchor));
            if !has_anchor || path.is_none() {
                wrong.push(format!("{}: {link}", file.path));
            }
            followed += 1;
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
    assert!(followed > 80, "{followed} links");
}

#[test]
fn the_book_has_all_of_its_chapters() {
    let files = tree::files(&Path::new(ROOT).join("docs/src"), ".md").expect("the book can be read");
    let (summary, chapters): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.path == "SUMMARY.md");
    let mut listed = read(&summary[0].text).links;
    listed.sort_unstable();
    assert_eq!(listed, chapters.iter().map(|file| file.path.as_str()).collect::<Vec<_>>());

    // A type outside of code, such as `Vec<u64>`, would be an HTML tag.
    for chapter in &chapters {
        let tags = Parser::new_ext(&chapter.text, Options::ENABLE_TABLES)
            .filter(|event| matches!(event, Event::InlineHtml(tag) if **tag != *"<br>"));
        let wrong: Vec<_> = tags.collect();
        assert!(wrong.is_empty(), "{}: write it as code: {wrong:?}", chapter.path);
    }

    // Rustdoc shows some chapters and tests their code.
    let guide = Path::new(ROOT).join("aurora-core/src/guide");
    let links = std::fs::read_dir(guide).expect("it is there").filter_map(|file| file.ok()?.path().read_link().ok());
    let mut tested: String = links.map(|chapter| chapter.display().to_string() + "\"").collect();
    tested += &std::fs::read_to_string(Path::new(ROOT).join("tests/support/book.rs")).expect("it is there");
    for chapter in chapters.iter().filter(|chapter| chapter.text.contains("```rust")) {
        assert!(!chapter.text.contains("```rust,ignore"), "{}: a program that is not compiled", chapter.path);
        let is_listed = |before: &&str| tested.contains(&format!("{before}{}\"", chapter.path));
        assert!(
            ["\"", "docs/src/"].iter().any(is_listed),
            "the code of {} is not tested: tests/support/book.rs",
            chapter.path
        );
    }
}

/// A link in a chapter leads to another chapter, or to a file of the repository that is not Markdown, because mdBook
/// changes `.md` to `.html`. A built book is in `docs/book`, at the same depth as `docs/src`.
#[test]
fn links_out_of_the_book_are_no_documents() {
    let files = tree::files(&Path::new(ROOT).join("docs/src"), ".md").expect("the book can be read");
    for file in &files {
        for link in read(&file.text).links {
            let depth = file.path.matches('/').count();
            let leaves = link.matches("../").count() > depth;
            let is_a_document = link.split('#').next().is_some_and(|path| path.ends_with(".md"));
            assert!(!(leaves && is_a_document), "{}: {link}: link the folder that the document is about", file.path);
        }
    }
}

/// The guides of rustdoc are chapters. A chapter defines its links at its end. `guide/mod.rs` defines them before the
/// chapter, as items, so that no link leads to a file that docs.rs does not have.
#[test]
fn links_of_chapters_in_rustdoc_lead_to_items() {
    let module = std::fs::read_to_string(Path::new(ROOT).join("aurora-core/src/guide/mod.rs")).expect("it is there");
    let guides = module.split("\n#[doc = include_str!(\"");
    let (before, after): (Vec<_>, Vec<_>) = (guides.clone().collect(), guides.skip(1).collect());
    assert!(after.len() > 3, "{} guides", after.len());
    for (before, after) in before.iter().zip(after) {
        let guide = after.split('"').next().expect("it has an end");
        let path = Path::new(ROOT).join("aurora-core/src/guide").join(guide);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{guide}: {error}"));
        let known = before.rsplit("\npub mod").next().expect("there is a last one");
        let links = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| match event {
            Event::Start(Tag::Link { link_type, dest_url, id, .. }) => Some((link_type, dest_url, id)),
            Event::Start(Tag::Image { link_type, dest_url, id, .. }) => Some((link_type, dest_url, id)),
            _ => None,
        });
        for (kind, to, id) in links.filter(|(_, to, _)| !to.starts_with("https://")) {
            assert!(kind != LinkType::Inline, "{guide}: {to}: write [text][name], and define it at the end");
            assert!(known.contains(&format!("/// [{id}]: crate::")), "guide/mod.rs does not define [{id}] of {guide}");
        }
    }
}

#[test]
fn links_of_all_kinds_are_found() {
    assert_eq!(anchor("What `AURORA_CHECK=1` costs, and why"), "what-aurora_check1-costs-and-why");
    assert_eq!(target("docs/src/a.md", "../../benches/b.md").as_deref(), Some(Path::new("benches/b.md")));
    assert_eq!(target("README.md", "../benches/b.md"), None);
    let links = "[a](b) [c][d] [e] <a href='f'>g</a> ![h](i.svg)";
    assert_eq!(read(links).links, ["b", "[d]", "<a href='f'>", "i.svg"]);
}
