//! Plain words in documents, comments and messages.

use crate::source::Source;
use crate::tree::{self, File};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Words that make a sentence hard, or that have a more usual word.
const NOT: [&str; 9] = ["what", "who", "whom", "whoever", "beside", "middle", "mates", "settled", "claim"];

/// The packages with users.
const LIBRARIES: [&str; 3] = ["aurora-core", "aurora-net", "aurora-super"];

fn has_hard_word(text: &str) -> bool {
    // `{what}` is an argument of a message.
    let words = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, behind)| behind));
    words
        .flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric()))
        .any(|word| NOT.contains(&word.to_lowercase().as_str()))
}

/// The pieces of a text in Markdown that have one of the words, outside of code.
fn hard(path: &str, markdown: &str) -> Vec<String> {
    let (mut is_code, mut found) = (false, Vec::new());
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if !is_code && has_hard_word(&text) => found.push(format!("{path}: {text}")),
            _ => {}
        }
    }
    found
}

/// The text of all comments; a line of code ends a paragraph.
fn comments(rust: &str) -> String {
    let lines = rust.lines().map(|line| match line.trim_start().strip_prefix("//") {
        Some(comment) => comment.trim_start_matches(['/', '!']).strip_prefix(' ').unwrap_or_default(),
        None => "",
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The README, the book and the READMEs of packages. The book contains the help texts.
#[test]
fn documents_have_plain_words() {
    let mut files = tree::files(&Path::new(ROOT).join("docs/src"), ".md").expect("the book can be read");
    for path in LIBRARIES.map(|package| format!("{package}/README.md")).into_iter().chain(["README.md".into()]) {
        let text = std::fs::read_to_string(Path::new(ROOT).join(&path)).expect("it is there");
        files.push(File { path, text });
    }
    let wrong: Vec<_> = files.iter().flat_map(|file| hard(&file.path, &file.text)).collect();
    assert!(wrong.is_empty(), "say it with other words: {wrong:#?}");
}

#[test]
fn comments_have_plain_words() {
    let files = tree::rust_files(Path::new(ROOT)).expect("the sources can be read");
    let wrong: Vec<_> = files.iter().flat_map(|file| hard(&file.path, &comments(&file.text))).collect();
    assert!(wrong.is_empty(), "say it with other words: {wrong:#?}");
}

/// Errors, notices and panics of the libraries.
#[test]
fn messages_have_plain_words() {
    let mut wrong = Vec::new();
    for package in LIBRARIES {
        for file in tree::rust_files(&Path::new(ROOT).join(package).join("src")).expect("the sources can be read") {
            let source = Source::parse(&file.text, Vec::new()).unwrap_or_else(|error| panic!("{}: {error}", file.path));
            let hard = source.messages.iter().filter(|(_, text)| text.contains(' ') && has_hard_word(text));
            wrong.extend(hard.map(|(line, text)| format!("{package}/src/{}:{line}: {text}", file.path)));
        }
    }
    assert!(wrong.is_empty(), "say it with other words: {wrong:#?}");
}

#[test]
fn hard_words_are_found() {
    let rust = "//! What it is.\nfn f() {\n    // `what` is code, and\n    // Who is not.\n    let what = 1;\n}\n";
    assert_eq!(hard("a.rs", &comments(rust)), ["a.rs: What it is.", "a.rs: Who is not."]);
    let rust = "/// what\nfn f() { g(\"what is said\") }\n#[cfg(test)]\nmod tests { fn f() { g(\"what is not\") } }\n";
    let messages = Source::parse(rust, Vec::new()).expect("it can be parsed").messages;
    assert_eq!(messages, [(2, "\"what is said\"".to_string())]);
}
