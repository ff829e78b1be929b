//! The pages of the rules: one Markdown text for each, and a list of all.

use std::fmt::Write as _;

use super::definition::{Definition, Logic, Status};
use super::set::RuleSet;

/// A page of the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// File name, without folder.
    pub file: String,
    /// Markdown.
    pub text: String,
}

/// The pages of `docs/rules/`: `README.md` with the list, and a page for each rule.
pub fn pages(rules: &RuleSet) -> Vec<Page> {
    let mut pages = vec![Page { file: "README.md".into(), text: list(rules) }];
    pages.extend(
        rules.definitions().map(|definition| Page { file: format!("{}.md", definition.id.replace('/', "--")), text: page(definition) }),
    );
    pages
}

fn list(rules: &RuleSet) -> String {
    let mut text = String::from(
        "# Rules\n\nThis folder is generated from `rules/*.yaml`. A finding counts if the change under review brings it about; `--all` shows the others too.\n\n\
         | rule | severity | reports |\n|---|---|---|\n",
    );
    for definition in rules.definitions() {
        let _ = writeln!(text, "| [`{0}`]({0}.md) | {1} | {2} |", definition.id, severities(definition), definition.summary.trim());
    }
    text
}

fn severities(definition: &Definition) -> String {
    let mut severities = vec![definition.severity];
    severities.extend(definition.grades.values().map(|grade| grade.severity));
    severities.sort_unstable_by(|a, b| b.cmp(a));
    severities.dedup();
    severities.iter().map(|severity| severity.as_str()).collect::<Vec<_>>().join(", ")
}

fn page(definition: &Definition) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", definition.id, capitalised(definition.summary.trim()));
    let status = match definition.status {
        Status::Preview => ", preview",
        Status::Stable => "",
    };
    let _ = writeln!(text, "- Severity: {}", definition.severity.as_str());
    for grade in definition.grades.values() {
        let _ = writeln!(text, "- {} when {}", capitalised(grade.severity.as_str()), grade.when.trim());
    }
    let _ = writeln!(text, "- Since: {}{status}", definition.since);
    if !definition.needs.is_empty() {
        let needs: Vec<&str> = definition.needs.iter().map(|need| need.as_str()).collect();
        let _ = writeln!(text, "- Needs: {}", needs.join(", "));
    }
    if definition.fixable {
        text.push_str("- Some findings come with a safe edit (`presync check --fix`)\n");
    }
    let _ = write!(text, "\n## What happens, and why it hurts\n\n{}\n", definition.why.trim());
    let example = &definition.example;
    let _ = write!(
        text,
        "\n## Example\n\n{}\n\npresync says:\n\n> {}\n\nFine:\n\n{}\n",
        example.bad.trim(),
        quoted(&example.finding),
        example.good.trim()
    );
    let _ = write!(text, "\n## How to fix it\n\n{}\n", definition.fix.trim());
    if !definition.parameters.is_empty() {
        text.push_str("\n## Parameters\n\n| name | default |\n|---|---|\n");
        for (name, value) in &definition.parameters {
            let _ = writeln!(text, "| `{name}` | `{value}` |");
        }
    }
    let _ = write!(
        text,
        "\n## How to suppress it\n\nOn the object or the Application, with a reason:\n\n```yaml\nmetadata:\n  annotations:\n    presync.dev/ignore: \"{id}: why this is fine\"\n```\n\n\
         or on the line that is reported, or above it:\n\n```yaml\n# presync: ignore[{id}] why this is fine\n```\n\n\
         or in `.presync.yaml`, for charts of others and for a limited time:\n\n```yaml\nwaivers:\n  - rules: {id}\n    match: {{applications: shop-*}}\n    reason: why this is fine\n    expires: 2027-01-31\n```\n\n\
         A waiver counts once it is merged. One that a change brings along for itself is shown with the finding; `suppressions: {{ofThisChange: count}}` lets it count at once.\n",
        id = definition.id
    );
    if definition.logic == Logic::Cel {
        text.push_str("\nThis rule is written in CEL, as your own rules can be; see its definition in `rules/`.\n");
    }
    if !definition.references.is_empty() {
        text.push_str("\n## Read on\n\n");
        for reference in &definition.references {
            let _ = writeln!(text, "- <{reference}>");
        }
    }
    text
}

fn quoted(text: &str) -> String {
    text.trim().replace('\n', "\n> ")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// With `PRESYNC_WRITE_DOCS=1` in the environment the pages are written instead of compared.
    #[test]
    fn the_pages_of_the_rules_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
        let pages = pages(&RuleSet::builtin().unwrap());
        let names: BTreeSet<&str> = pages.iter().map(|page| page.file.as_str()).collect();
        let writes = std::env::var_os("PRESYNC_WRITE_DOCS").is_some();
        if writes {
            fs::create_dir_all(&folder).unwrap();
            for page in &pages {
                fs::write(folder.join(&page.file), &page.text).unwrap();
            }
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if writes && !names.contains(name.as_str()) {
                fs::remove_file(&path).unwrap();
                continue;
            }
            assert!(names.contains(name.as_str()), "docs/rules/{name} belongs to no rule");
        }
        for page in &pages {
            let current = fs::read_to_string(folder.join(&page.file)).unwrap_or_default();
            assert!(current == page.text, "docs/rules/{} is not current; run the tests with PRESYNC_WRITE_DOCS=1", page.file);
        }
    }
}
