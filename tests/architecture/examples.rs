//! Finds public methods of user types that have no example.

use crate::EXAMPLES;
use crate::source::{group, ident, is_punct, line};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A method of a type.
pub struct Missing {
    pub name: String,
    pub line: usize,
}

/// The public methods of the types in [`EXAMPLES`] that have no example, also those inside a macro.
pub fn missing(text: &str) -> Vec<Missing> {
    let mut missing = Vec::new();
    // Other rules report a file that cannot be parsed.
    find(text.parse().unwrap_or_default(), &mut missing);
    missing
}

/// The number of lines in the examples of the documentation.
pub fn lines(text: &str) -> usize {
    let (mut lines, mut is_open) = (0, false);
    for text in text.lines().filter_map(|line| line.trim_start().strip_prefix("///")) {
        let is_fence = text.trim_start().starts_with("```");
        lines += usize::from(is_open || is_fence);
        is_open ^= is_fence;
    }
    lines
}

fn find(tokens: TokenStream, missing: &mut Vec<Missing>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        if ident(trees.get(at)).as_deref() == Some("impl") {
            let body = (at..trees.len()).find(|at| group(trees.get(*at), Delimiter::Brace).is_some());
            let Some(body) = body else { return };
            if let Some(of) = inherent(&trees[at + 1..body])
                && let Some(methods) = group(trees.get(body), Delimiter::Brace)
            {
                methods_of(&of, methods.stream(), missing);
            }
            at = body;
        } else if let TokenTree::Group(group) = &trees[at] {
            find(group.stream(), missing);
        }
        at += 1;
    }
}

/// The type of an inherent `impl`, from its head; none for a trait's `impl`.
fn inherent(head: &[TokenTree]) -> Option<String> {
    let (mut depth, mut of) = (0, None);
    for (at, tree) in head.iter().enumerate() {
        let is_arrow = is_punct(at.checked_sub(1).and_then(|before| head.get(before)), '-');
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' && !is_arrow => depth -= 1,
            TokenTree::Ident(word) if depth == 0 => match word.to_string().as_str() {
                "for" => return None,
                "where" => break,
                name => of = Some(name.to_string()),
            },
            _ => {}
        }
    }
    of.filter(|of| EXAMPLES.contains(&of.as_str()))
}

fn methods_of(of: &str, tokens: TokenStream, missing: &mut Vec<Missing>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut has, mut is_hidden, mut is_public) = (false, false, false);
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_punct(trees.get(at - 1), '#') => {
                let attribute = group.stream().to_string();
                has |= attribute.starts_with("doc") && attribute.contains("```");
                is_hidden |= attribute.replace(' ', "") == "doc(hidden)";
            }
            TokenTree::Ident(word) if word == "pub" => {
                is_public = group(trees.get(at + 1), Delimiter::Parenthesis).is_none();
            }
            TokenTree::Ident(word) if word == "fn" && is_public && !has && !is_hidden => {
                let name = ident(trees.get(at + 1)).unwrap_or_default();
                missing.push(Missing { name: format!("{of}::{name}"), line: line(tree) });
            }
            // The end of an item.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                (has, is_hidden, is_public) = (false, false, false);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => (has, is_hidden, is_public) = (false, false, false),
            _ => {}
        }
    }
}
