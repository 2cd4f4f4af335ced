//! Lines of code of the versions of each application.

use crate::AURORA;
use crate::chart::ink;
use maud::{Markup, html};
use serde::Serialize;

/// One version of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Version {
    /// Which application.
    pub app: &'static str,
    /// Which implementation, by its name on the command line.
    #[serde(rename = "impl")]
    pub implementation: &'static str,
    /// Lines with code: not those that are empty, comments, documentation or tests.
    pub lines: usize,
}

/// The table. It is of the sources that the command was built from, whatever runs there are.
pub fn section(versions: &[Version]) -> Markup {
    let most = versions.iter().map(|version| version.lines).max().unwrap_or(1).max(1);
    html! {
        section.together {
            h2 { "Lines of code" }
            p {
                "Of the part that shares data, as it stands in the sources of this version: without comments, blank lines and tests. "
                "What all versions have is in none: kernels, repetitions, verification; nor are the helpers that all MPI versions share."
            }
            .wide { table {
                thead { tr { th.text { "application" } th.text { "version" } th.text { "lines" } th { "Aurora's / these" } } }
                tbody { @for version in versions {
                    @let aurora = aurora(versions, version.app);
                    tr {
                        td.text { (version.app) }
                        td.text { (version.implementation) }
                        td.text { (bar(version, most)) }
                        td { @if let Some(lines) = aurora.filter(|_| version.implementation != AURORA) {
                            (format!("{:.2}", lines as f64 / version.lines.max(1) as f64))
                        } }
                    }
                } }
            } }
        }
    }
}

fn aurora(versions: &[Version], app: &str) -> Option<usize> {
    let of = versions.iter().find(|version| version.app == app && version.implementation == AURORA);
    of.map(|version| version.lines)
}

fn bar(version: &Version, most: usize) -> Markup {
    let (width, color) =
        (5.5 * version.lines as f64 / most as f64, ink::of_implementation(version.implementation).name);
    html! { span.bar style={ "width: " (format!("{width:.1}")) "rem; background: var(--" (color) ")" } {} " " (version.lines) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::known;

    #[test]
    fn each_version_has_its_count() {
        let versions = known().versions;
        let text = section(versions).into_string();
        for version in versions {
            assert!(text.contains(&format!("</span> {}</td>", version.lines)), "{version:?}: {text}");
        }
        assert!(text.contains("<td class=\"text\">mm2</td><td class=\"text\">aurora</td>"), "{text}");
    }
}
