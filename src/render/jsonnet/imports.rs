//! Which files a jsonnet program imports, without evaluating it: an import names its file by a literal, so that the text tells.
//!
//! Takes texts; hands on the paths that evaluation may ask for, with what stands there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::super::Inputs;
use crate::repo::{ContentId, LinkError, LinkTarget, Tree, clean_path};

/// Where imports are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SearchPath {
    /// Folders from the repository root, in the order in which they are asked after the folder of the importing file.
    pub(super) folders: Vec<String>,
}

/// Why an import cannot be looked up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it imports {0:?}, which is outside of the repository")]
pub(super) struct OutsideRepository(String);

impl SearchPath {
    /// The paths at which an import is looked up, in order. Code that stands in no file has no folder of its own.
    ///
    /// Source: go-jsonnet `imports.go:FileImporter.Import`. Files outside of the repository, which it would read, are refused.
    pub(super) fn candidates(&self, importing: Option<&str>, import: &str) -> Result<Vec<String>, OutsideRepository> {
        let own = importing.map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder));
        let folders = own.into_iter().chain(self.folders.iter().map(String::as_str));
        let paths: Vec<String> = match import.starts_with('/') {
            true => Vec::new(),
            false => folders.filter_map(|folder| clean_path(&format!("{folder}/{import}"))).collect(),
        };
        if paths.is_empty() { Err(OutsideRepository(import.to_owned())) } else { Ok(paths) }
    }
}

/// What stands at a path that evaluation may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Found {
    /// A file with this text.
    Text(String),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// The imports of texts, each text read once.
#[derive(Default)]
pub struct Imports {
    known: Mutex<HashMap<ContentId, Arc<[Import]>>>,
}

/// One import of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Import {
    path: String,
    is_code: bool,
}

/// What is known so far of the files that programs may ask for.
struct Closure<'a> {
    imports: &'a Imports,
    tree: &'a Tree,
    files: BTreeMap<String, Found>,
    inputs: Inputs,
    /// Files whose imports are known: one may be imported as a text first and as code later.
    followed: BTreeSet<String>,
    pending: Vec<(Option<String>, Arc<[Import]>)>,
}

impl Imports {
    /// All files that programs may ask for, and the paths that decide which these are.
    pub(super) fn closure(&self, tree: &Tree, programs: &[&str], code: &[&str], search: &SearchPath) -> (BTreeMap<String, Found>, Inputs) {
        let pending = code.iter().map(|code| (None, scan(code).into())).collect();
        let mut closure =
            Closure { imports: self, tree, files: BTreeMap::new(), inputs: Inputs::default(), followed: BTreeSet::new(), pending };
        for program in programs {
            closure.add(program, true);
        }
        while let Some((importing, imports)) = closure.pending.pop() {
            for import in &*imports {
                let candidates = search.candidates(importing.as_deref(), &import.path).unwrap_or_default();
                // The first file that is there decides, and those that are not there before it.
                let _ = candidates.iter().any(|candidate| closure.add(candidate, import.is_code));
            }
        }
        (closure.files, closure.inputs)
    }

    fn of(&self, id: ContentId, text: &str) -> Arc<[Import]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(id).or_insert_with(|| scan(text).into()))
    }
}

impl Closure<'_> {
    /// Adds what stands at a path, and what that imports; whether something stands there.
    fn add(&mut self, path: &str, is_code: bool) -> bool {
        self.inputs.file(path);
        let entry = match self.tree.resolve_link(path) {
            Ok(LinkTarget::File(entry)) => entry,
            Err(LinkError::Dangling { .. }) => return false,
            Ok(LinkTarget::Directory(_)) => return self.found(path, Found::Unreadable(format!("{path} is a directory"))),
            Err(error) => return self.found(path, Found::Unreadable(error.to_string())),
        };
        if self.files.contains_key(path) && (!is_code || self.followed.contains(path)) {
            return true;
        }
        match self.tree.read_entry(&entry).map(|bytes| String::from_utf8(bytes.to_vec())) {
            Ok(Ok(text)) => {
                if is_code && self.followed.insert(path.to_owned()) {
                    self.pending.push((Some(path.to_owned()), self.imports.of(entry.id, &text)));
                }
                self.found(path, Found::Text(text))
            }
            Ok(Err(_)) => self.found(path, Found::Unreadable(format!("{path} is not UTF-8"))),
            Err(error) => self.found(path, Found::Unreadable(error.to_string())),
        }
    }

    fn found(&mut self, path: &str, found: Found) -> bool {
        self.files.insert(path.to_owned(), found);
        true
    }
}

/// The imports that a text names. Comments and strings are told apart as in the language's grammar; a text that is not jsonnet names none or
/// too many, which costs nothing.
fn scan(text: &str) -> Vec<Import> {
    let mut scanner = Scanner { rest: text };
    let mut imports = Vec::new();
    let mut keyword = None;
    while let Some(token) = scanner.next() {
        match (keyword.take(), token) {
            (_, Token::Word(word @ ("import" | "importstr" | "importbin"))) => keyword = Some(word),
            (Some(word), Token::Text(path)) => imports.push(Import { path, is_code: word == "import" }),
            _ => {}
        }
    }
    imports
}

enum Token<'t> {
    Word(&'t str),
    Text(String),
    Other,
}

struct Scanner<'t> {
    rest: &'t str,
}

impl<'t> Scanner<'t> {
    /// The next token; comments and white space are passed over.
    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            self.rest = self.rest.trim_start();
            let first = self.rest.chars().next()?;
            if first == '#' || self.rest.starts_with("//") {
                self.skip_past("\n");
            } else if self.rest.starts_with("/*") {
                self.skip(2);
                self.skip_past("*/");
            } else if self.rest.starts_with("|||") {
                self.skip_block();
                return Some(Token::Other);
            } else if let Some(quote) = self.rest.strip_prefix('@').and_then(|rest| rest.chars().next()).filter(|char| is_quote(*char)) {
                self.skip(2);
                return Some(Token::Text(self.verbatim(quote)));
            } else if is_quote(first) {
                self.skip(1);
                return Some(Token::Text(self.quoted(first)));
            } else if first.is_alphanumeric() || first == '_' {
                let end = self.rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Token::Word(word));
            } else {
                self.skip(first.len_utf8());
                return Some(Token::Other);
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    /// A text block: it ends at the first line that is indented less than its first line with content, and there stands `|||`.
    fn skip_block(&mut self) {
        self.skip_past("\n");
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let mut own = None;
        while !self.rest.is_empty() {
            let line = self.rest.split('\n').next().unwrap_or_default();
            if !line.trim().is_empty() {
                let own = *own.get_or_insert(indent(line));
                if indent(line) < own || own == 0 {
                    self.rest = self.rest.trim_start().strip_prefix("|||").unwrap_or(self.rest);
                    return;
                }
            }
            self.skip(line.len() + 1);
        }
    }

    /// A string in which a doubled quote stands for one.
    fn verbatim(&mut self, quote: char) -> String {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            if char != quote {
                text.push(char);
            } else if chars.next_if(|(_, next)| *next == quote).is_some() {
                text.push(quote);
            } else {
                self.skip(at + 1);
                return text;
            }
        }
        self.rest = "";
        text
    }

    /// A string with escapes.
    fn quoted(&mut self, quote: char) -> String {
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, char)) = chars.next() {
            if char == quote {
                self.skip(at + 1);
                return text;
            }
            if char != '\\' {
                text.push(char);
                continue;
            }
            match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('u') => {
                    let code: String = chars.by_ref().take(4).map(|(_, digit)| digit).collect();
                    text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                }
                Some(other) => text.push(other),
                None => {}
            }
        }
        self.rest = "";
        text
    }
}

fn is_quote(char: char) -> bool {
    char == '"' || char == '\''
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<(String, bool)> {
        scan(text).into_iter().map(|import| (import.path, import.is_code)).collect()
    }

    #[test]
    fn imports_are_found_however_they_are_written() {
        let text = r#"
            local a = import 'a.libsonnet'; local b = (import "b/b.libsonnet") + { c: importstr @'c.txt' };
            local d = import /* why */ 'd.libsonnet'; // import 'no1'
            # import 'no2'
            { e: "import 'no3'", import_: 'no4', important: 'no5', f: importbin 'f.bin', g: 'it\'s import', h: import 'h\u002ejsonnet' }
        "#;
        let expected = [("a.libsonnet", true), ("b/b.libsonnet", true), ("c.txt", false), ("d.libsonnet", true), ("f.bin", false)];
        let mut expected: Vec<(String, bool)> = expected.map(|(path, is_code)| (path.to_owned(), is_code)).to_vec();
        expected.push(("h.jsonnet".to_owned(), true));
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn text_blocks_name_no_imports_and_what_follows_them_does() {
        let text = "{\n  a: |||\n    import 'no'\n      it's\n\n    more\n  |||,\n  b: import 'yes',\n}\n";
        assert_eq!(paths(text), [("yes".to_owned(), true)]);
        assert_eq!(paths("|||-\n  it's\n||| + importstr 'after'"), [("after".to_owned(), false)]);
    }

    #[test]
    fn texts_that_are_cut_off_are_read_to_their_end() {
        for text in ["import '", "import @\"a", "|||", "|||\n  a", "/* import 'a'", "import 'a\\", "'\\u12", "@", "import"] {
            assert!(paths(text).iter().all(|(path, _)| path.len() < 3), "{text}");
        }
    }

    #[test]
    fn the_importing_folder_comes_first_and_nothing_outside_is_read() {
        let search = SearchPath { folders: vec!["vendor".into(), "apps/web".into()] };
        let candidates = |import: &str| search.candidates(Some("apps/web/nested/main.jsonnet"), import);
        assert_eq!(candidates("x.libsonnet").unwrap(), ["apps/web/nested/x.libsonnet", "vendor/x.libsonnet", "apps/web/x.libsonnet"]);
        assert_eq!(candidates("../../../lib/x").unwrap(), ["lib/x"]);
        assert_eq!(candidates("/etc/passwd"), Err(OutsideRepository("/etc/passwd".into())));
        assert!(candidates("../../../../etc/passwd").is_err());
        assert_eq!(search.candidates(None, "x").unwrap(), ["vendor/x", "apps/web/x"]);
    }
}
