//! Keeps the table of `tests/README.md` true: every id of `docs/spec/8-verification.md` with its tests, or the word "later".
//!
//! `WRITE_TABLE=1 cargo test -p zlink-contracts --test verification_table` writes the table anew; remarks are kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- ids: begin -->";
const END: &str = "<!-- ids: end -->";
/// Where tests live.
const SOURCES: [&str; 6] =
    ["zlink-proto", "drivers", "tests/contracts", "tests/drivers", "tests/support", "examples"];

/// `T12` or `C3`: the letter, then the number, as they are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Id {
    letter: char,
    number: u32,
}

impl Id {
    /// The id at the start of `text`, and what follows.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let letter = text.chars().next().filter(|letter| matches!(letter, 'T' | 'C' | 't' | 'c'))?;
        let rest = &text[1..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..digits].parse().ok()?;
        Some((Self { letter: letter.to_ascii_uppercase(), number }, &rest[digits..]))
    }

    /// Ids that a test's name begins with: `t12_…`, or several: `t12_t13_…`.
    fn of_test(name: &str) -> Vec<Self> {
        let (mut ids, mut rest) = (Vec::new(), name);
        while let Some((id, behind)) = Self::parse(rest).and_then(|(id, b)| Some((id, b.strip_prefix('_')?)))
        {
            ids.push(id);
            rest = behind;
        }
        ids
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.letter, self.number)
    }
}

/// A line of the table.
#[derive(Clone, Default, Debug)]
struct Row {
    /// `file::name`, in the order of files and lines.
    tests: Vec<String>,
    remark: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The ids of the spec in their order there, each behind the heading of its section.
fn spec_ids() -> Vec<(String, Id)> {
    let text = read(&root().join("docs/spec/8-verification.md"));
    let (mut section, mut ids) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_string();
        } else if let Some((id, rest)) = line.strip_prefix("- **").and_then(Id::parse) {
            assert!(rest.starts_with("**"), "an id ends where its bold text ends: {line}");
            ids.push((section.clone(), id));
        }
    }
    ids
}

fn rust_files(directory: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("an entry of a directory").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                rust_files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Names of the functions of `text` that a test attribute stands above. In the suite of the drivers, which is generic and gets
/// its attributes from a macro, each function with an id is a test.
fn test_names(text: &str, is_suite: bool) -> Vec<String> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
            continue;
        }
        let declared = line
            .trim_start_matches("pub ")
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.split(['(', '<']).next());
        if let Some(name) = declared {
            if is_test || is_suite {
                names.push(name.to_string());
            }
            is_test = false;
        } else if !line.starts_with("//") && !line.is_empty() {
            is_test = false;
        }
    }
    names
}

/// Id to the tests in the sources that are named after it.
fn tests_in_sources() -> BTreeMap<Id, Vec<String>> {
    let (root, mut found) = (root(), BTreeMap::<Id, Vec<String>>::new());
    for folder in SOURCES {
        let mut files = Vec::new();
        rust_files(&root.join(folder), &mut files);
        for file in files {
            let shown = file.strip_prefix(&root).expect("a file below the root").display().to_string();
            let shown = shown.replace('\\', "/");
            // This file's own examples are no tests.
            if shown.ends_with("verification_table.rs") {
                continue;
            }
            for name in test_names(&read(&file), folder == "tests/drivers") {
                for id in Id::of_test(&name) {
                    found.entry(id).or_default().push(format!("{shown}::{name}"));
                }
            }
        }
    }
    found
}

/// The rows of the committed table.
fn committed(page: &str) -> BTreeMap<Id, Row> {
    let table =
        page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).expect("the table's marks").0;
    let mut rows = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some((id, "")) = Id::parse(cells[0]) else { continue };
        assert_eq!(cells.len(), 3, "id, tests, remark: {line}");
        let tests = cells[1].split("<br>").map(|test| test.trim_matches('`').to_string());
        let tests = tests.filter(|test| test != "later").collect();
        let before = rows.insert(id, Row { tests, remark: cells[2].to_string() });
        assert!(before.is_none(), "{id} stands in the table twice");
    }
    rows
}

fn table(ids: &[(String, Id)], rows: &BTreeMap<Id, Row>) -> String {
    let (mut out, mut last) = (String::new(), "");
    for (section, id) in ids {
        if section != last {
            let _ = write!(out, "\n### {section}\n\n| Id | Tests | Remark |\n|---|---|---|\n");
            last = section;
        }
        let row = rows.get(id).cloned().unwrap_or_default();
        let tests: Vec<_> = row.tests.iter().map(|test| format!("`{test}`")).collect();
        let tests = if tests.is_empty() { "later".to_string() } else { tests.join("<br>") };
        let _ = writeln!(out, "| {id} | {tests} | {} |", row.remark);
    }
    out
}

fn write_table(page: &str, ids: &[(String, Id)], rows: &BTreeMap<Id, Row>) {
    let (before, rest) = page.split_once(BEGIN).expect("the first mark");
    let (_, after) = rest.split_once(END).expect("the second mark");
    let page = format!("{before}{BEGIN}\n{}\n{END}{after}", table(ids, rows));
    fs::write(root().join("tests/README.md"), page).expect("tests/README.md can be written");
}

#[test]
fn the_table_of_ids_names_every_id_and_only_tests_that_exist() {
    let ids = spec_ids();
    assert_eq!(ids.len(), 139, "T1 to T130 and C1 to C9");
    let sources = tests_in_sources();
    let page = read(&root().join("tests/README.md"));
    let mut rows = committed(&page);
    if std::env::var_os("WRITE_TABLE").is_some() {
        for (_, id) in &ids {
            rows.entry(*id).or_default().tests = sources.get(id).cloned().unwrap_or_default();
        }
        write_table(&page, &ids, &rows);
    }

    let mut wrong = Vec::new();
    for (_, id) in &ids {
        let there = sources.get(id).cloned().unwrap_or_default();
        match rows.get(id) {
            None => wrong.push(format!("{id}: no row")),
            Some(row) => {
                let gone = row.tests.iter().filter(|test| !there.contains(test));
                wrong.extend(gone.map(|test| format!("{id}: the table names {test}, which does not exist")));
                let unnamed = there.iter().filter(|test| !row.tests.contains(test));
                wrong.extend(unnamed.map(|test| format!("{id}: the table does not name {test}")));
                if row.tests.is_empty() && row.remark.is_empty() {
                    wrong.push(format!("{id}: later, but the remark does not say what it waits for"));
                }
            }
        }
    }
    let known = |id: &Id| ids.iter().any(|(_, known)| known == id);
    wrong
        .extend(rows.keys().filter(|id| !known(id)).map(|id| format!("{id}: in the table, not in the spec")));
    wrong.extend(
        sources
            .iter()
            .filter(|(id, _)| !known(id))
            .map(|(id, tests)| format!("{id}: {tests:?}, not in the spec")),
    );
    assert!(
        wrong.is_empty(),
        "tests/README.md does not tell what is there (WRITE_TABLE=1 writes the table anew):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn names_of_tests_are_found_with_their_ids() {
    let text = "
        #[test]
        fn t07_x() {}
        fn t8_helper() {}
        #[tokio::test(flavor = \"current_thread\")]
        // why
        #[cfg(unix)]
        async fn t9_t10_y() {}
    ";
    assert_eq!(test_names(text, false), ["t07_x", "t9_t10_y"]);
    assert_eq!(test_names("pub async fn t1_z<R: Runtime>(r: R) {", true), ["t1_z"]);
    let shown = |name| Id::of_test(name).iter().map(Id::to_string).collect::<Vec<_>>();
    assert_eq!(shown("t9_t10_y"), ["T9", "T10"]);
    assert_eq!(shown("c3_x"), ["C3"]);
    assert!(shown("take_x").is_empty() && shown("t12th").is_empty());
}
