//! The contents of a source file: its modules, the paths that it names, and the lines with `unsafe` or the clock.
//!
//! It reads tokens instead of a syntax tree, so that it reads the inside of macros too.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// A module, by its names from the root of its crate, or a path as written.
pub type Names = Vec<String>;

/// A named path.
#[derive(Clone, Debug)]
pub struct Named {
    /// The module in which it is named.
    pub by: Names,
    pub path: Names,
    pub line: usize,
}

/// A name that a `use` line brings into a module; `*` stands for all names of another module.
#[derive(Clone, Debug)]
pub struct Alias {
    pub within: Names,
    pub name: String,
    pub path: Names,
}

/// A parsed file.
#[derive(Default, Debug)]
pub struct Source {
    pub named: Vec<Named>,
    pub aliases: Vec<Alias>,
    /// The modules that it declares, with or without a body.
    pub modules: Vec<Names>,
    /// The declared modules in other files that are compiled only for tests.
    pub tests: Vec<Names>,
    /// True if all of it is for tests.
    pub is_test: bool,
    /// The lines with `unsafe`, also in tests.
    pub of_unsafe: Vec<usize>,
    /// The lines that read the clock.
    pub of_clock: Vec<usize>,
    /// The literals with their lines, without those of tests and of documentation.
    pub messages: Vec<(usize, String)>,
    /// The number of lines of its unit tests.
    pub test_lines: usize,
}

impl Source {
    /// Reads the text of `module`.
    pub fn parse(text: &str, module: Names) -> Result<Source, String> {
        let tokens: TokenStream = text
            .parse()
            .map_err(|error: proc_macro2::LexError| format!("line {}: {error}", error.span().start().line))?;
        let mut reader = Reader { source: Source::default(), module };
        reader.read(tokens, true);
        Ok(reader.source)
    }
}

struct Reader {
    source: Source,
    /// The module of the current position.
    module: Names,
}

impl Reader {
    /// Reads the contents of a module, or of any other pair of brackets.
    fn read(&mut self, tokens: TokenStream, is_module: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            at = self.step(&trees, at, is_module);
        }
    }

    /// Reads one element, and returns the place of the next.
    fn step(&mut self, trees: &[TokenTree], at: usize, is_module: bool) -> usize {
        match &trees[at] {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let is_inner = is_punct(trees.get(at + 1), '!');
                let Some(attribute) = group(trees.get(at + 1 + usize::from(is_inner)), Delimiter::Bracket) else {
                    return at + 1;
                };
                let is_doc = ident(attribute.stream().into_iter().next().as_ref()).as_deref() == Some("doc");
                match (is_for_tests(attribute), is_inner) {
                    (false, _) if is_doc => at + 2 + usize::from(is_inner),
                    (false, _) => at + 1,
                    (true, true) => {
                        self.source.is_test = true;
                        at + 3
                    }
                    (true, false) => self.skip_tests(trees, at, is_module),
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '.' => {
                if let (Some("elapsed"), Some(_)) =
                    (ident(trees.get(at + 1)).as_deref(), group(trees.get(at + 2), Delimiter::Parenthesis))
                {
                    self.source.of_clock.push(line(&trees[at + 1]));
                    return at + 2;
                }
                at + 1
            }
            TokenTree::Ident(word) if word == "unsafe" => {
                self.source.of_unsafe.push(line(&trees[at]));
                at + 1
            }
            TokenTree::Ident(word) if word == "use" && !is_punct(trees.get(at + 1), '<') => {
                let mut found = Vec::new();
                let begin = at + 1 + 2 * usize::from(is_path_separator(trees, at + 1));
                let end = paths(trees, begin, Vec::new(), true, &mut found);
                for path in found {
                    self.take(path, true, is_module);
                }
                end.max(at + 1)
            }
            // `pub(in path)` imports nothing.
            TokenTree::Ident(word) if word == "pub" => at + 1 + usize::from(is_restricted(trees.get(at + 1))),
            TokenTree::Ident(word) if word == "mod" => self.module(trees, at),
            TokenTree::Ident(_) => {
                let mut found = Vec::new();
                let end = paths(trees, at, Vec::new(), false, &mut found);
                for path in found {
                    self.take(path, false, false);
                }
                end
            }
            TokenTree::Group(group) => {
                self.read(group.stream(), false);
                at + 1
            }
            TokenTree::Literal(literal) => {
                self.source.messages.push((line(&trees[at]), literal.to_string()));
                at + 1
            }
            TokenTree::Punct(_) => at + 1,
        }
    }

    /// Reads a module that is declared at `at`.
    fn module(&mut self, trees: &[TokenTree], at: usize) -> usize {
        let Some(name) = ident(trees.get(at + 1)) else { return at + 1 };
        self.module.push(name);
        self.source.modules.push(self.module.clone());
        if let Some(body) = group(trees.get(at + 2), Delimiter::Brace) {
            self.read(body.stream(), true);
        }
        self.module.pop();
        at + 3
    }

    /// Skips an item at `at` that is only for tests.
    fn skip_tests(&mut self, trees: &[TokenTree], at: usize, is_module: bool) -> usize {
        let (begin, end) = (after_attributes(trees, at), item_end(trees, at));
        let skipped = &trees[begin.min(end)..end];
        if let Some(module) = skipped.iter().position(|tree| ident(Some(tree)).as_deref() == Some("mod"))
            && is_module
            && let Some(name) = ident(skipped.get(module + 1))
        {
            let mut module_path = self.module.clone();
            module_path.push(name);
            self.source.modules.push(module_path.clone());
            match skipped.last() {
                Some(TokenTree::Group(body)) => {
                    self.source.test_lines += body.span_close().end().line + 1 - line(&trees[at]);
                }
                _ => self.source.tests.push(module_path),
            }
        }
        find_unsafe(skipped.iter().cloned().collect(), &mut self.source.of_unsafe);
        end
    }

    fn take(&mut self, found: Found, is_use: bool, is_module: bool) {
        let Found { mut path, alias, line } = found;
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        if !is_use && path.len() < 2 {
            return;
        }
        if is_clock(&path) {
            self.source.of_clock.push(line);
        }
        if let Some(name) = alias.or_else(|| path.last().cloned())
            && is_module
        {
            self.source.aliases.push(Alias { within: self.module.clone(), name, path: path.clone() });
        }
        self.source.named.push(Named { by: self.module.clone(), path, line });
    }
}

/// A found path.
struct Found {
    path: Names,
    alias: Option<String>,
    line: usize,
}

/// Collects the path that begins at `at`, or all paths of a tree, and returns the place of its end.
fn paths(trees: &[TokenTree], mut at: usize, mut path: Names, is_use: bool, found: &mut Vec<Found>) -> usize {
    let mut of = trees.get(at).map_or(0, line);
    loop {
        match trees.get(at) {
            Some(TokenTree::Ident(segment)) => {
                of = line(&trees[at]);
                path.push(segment.to_string());
                at += 1;
            }
            Some(TokenTree::Group(all)) if is_use && all.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = all.stream().into_iter().collect();
                let mut each = 0;
                while each < inner.len() {
                    each = paths(&inner, each, path.clone(), true, found).max(each) + 1;
                }
                return at + 1;
            }
            Some(TokenTree::Punct(punct)) if is_use && punct.as_char() == '*' => {
                path.push("*".to_string());
                found.push(Found { path, alias: None, line: of });
                return at + 1;
            }
            // The arguments of a generic are read next.
            _ => break,
        }
        if !is_path_separator(trees, at) {
            break;
        }
        at += 2;
    }
    let alias = (is_use && ident(trees.get(at)).as_deref() == Some("as")).then(|| ident(trees.get(at + 1))).flatten();
    at += 2 * usize::from(alias.is_some());
    if !path.is_empty() {
        found.push(Found { path, alias, line: of });
    }
    at
}

/// True if the path ends in an item that reads the clock.
fn is_clock(path: &[String]) -> bool {
    let last: Vec<&str> = path.iter().rev().take(2).map(String::as_str).collect();
    last == ["now", "Instant"] || path.iter().any(|name| name == "SystemTime" || name == "UNIX_EPOCH")
}

/// True for `#[cfg(test)]` and similar attributes.
fn is_for_tests(attribute: &Group) -> bool {
    let trees: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let condition = group(trees.get(1), Delimiter::Parenthesis);
    ident(trees.first()).as_deref() == Some("cfg") && condition.is_some_and(|condition| needs_test(condition.stream()))
}

/// True if the condition, or one of several that must all hold, is `test` or `doctest`.
fn needs_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    trees.split(|tree| is_punct(Some(tree), ',')).any(|one| match one {
        [TokenTree::Ident(word)] => word == "test" || word == "doctest",
        [TokenTree::Ident(word), TokenTree::Group(all)] => word == "all" && needs_test(all.stream()),
        _ => false,
    })
}

/// The place of the item whose attributes begin at `at`.
fn after_attributes(trees: &[TokenTree], mut at: usize) -> usize {
    while is_punct(trees.get(at), '#') && group(trees.get(at + 1), Delimiter::Bracket).is_some() {
        at += 2;
    }
    at
}

/// The end of the item whose attributes begin at `at`: after its body or semicolon, or after the comma of a field, an
/// arm or an argument.
fn item_end(trees: &[TokenTree], at: usize) -> usize {
    let begin = after_attributes(trees, at);
    let words: Vec<String> = trees[begin..].iter().map_while(|tree| ident(Some(tree)).or(in_head(tree))).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let has_body = has(&["fn", "impl", "trait", "mod", "struct", "enum", "union", "macro_rules"]);
    let is_statement = !has_body && has(&["use", "const", "static", "type", "let", "crate"]);
    for (offset, tree) in trees[begin..].iter().enumerate() {
        let is_over = match tree {
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => true,
                ',' => !has_body && !is_statement,
                _ => false,
            },
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_statement,
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        };
        if is_over {
            return begin + offset + 1;
        }
    }
    trees.len()
}

/// Tokens that may stand between the first words of an item: `pub(crate)`, `extern "C"`.
fn in_head(tree: &TokenTree) -> Option<String> {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(String::new()),
        TokenTree::Literal(_) => Some(String::new()),
        _ => None,
    }
}

fn find_unsafe(tokens: TokenStream, lines: &mut Vec<usize>) {
    for tree in tokens {
        match &tree {
            TokenTree::Ident(word) if word == "unsafe" => lines.push(line(&tree)),
            TokenTree::Group(group) => find_unsafe(group.stream(), lines),
            _ => {}
        }
    }
}

fn is_restricted(tree: Option<&TokenTree>) -> bool {
    let inside = group(tree, Delimiter::Parenthesis).and_then(|group| group.stream().into_iter().next());
    ident(inside.as_ref()).as_deref() == Some("in")
}

fn is_path_separator(trees: &[TokenTree], at: usize) -> bool {
    is_punct(trees.get(at), ':') && is_punct(trees.get(at + 1), ':')
}

pub fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

pub fn ident(tree: Option<&TokenTree>) -> Option<String> {
    match tree {
        Some(TokenTree::Ident(word)) => Some(Ident::to_string(word)),
        _ => None,
    }
}

pub fn group(tree: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match tree {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

pub fn line(tree: &TokenTree) -> usize {
    tree.span().start().line
}
