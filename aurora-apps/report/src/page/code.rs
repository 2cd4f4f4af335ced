//! Lines of code of the versions of each application.

use super::table::Table;
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
    let most = versions.iter().map(|version| version.lines).max().unwrap_or(1).max(1) as f64;
    let bar = |of: &&Version| {
        let (width, color) = (5.5 * of.lines as f64 / most, ink::of(of.implementation).style());
        html! { span.bar style={ "width: " (format!("{width:.1}")) "rem; background: " (color) } {} " " (of.lines) }
    };
    let aurora = |of: &Version| versions.iter().find(|ours| ours.app == of.app && ours.implementation == AURORA);
    let part = |of: &&Version| match aurora(of) {
        Some(ours) if of.implementation != AURORA => format!("{:.2}", ours.lines as f64 / of.lines.max(1) as f64),
        _ => String::new(),
    };
    let table = Table::<&Version>::new()
        .text("application", |of| of.app)
        .text("version", |of| of.implementation)
        .text("lines", bar)
        .number("Aurora's / these", part);
    html! {
        section.together {
            h2 { "Lines of code" }
            p {
                "Of the part that shares data, as it stands in the sources of this version: without comments, blank \
                 lines and tests. What all versions have is in none: kernels, repetitions, verification; nor are the \
                 helpers that all MPI versions share."
            }
            (table.of("", versions))
        }
    }
}
