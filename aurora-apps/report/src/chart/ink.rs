//! Colours by their purpose: names that `page/style.css` gives values, by day, by night and on paper.

/// A colour, as the value of an attribute or a style.
pub type Ink = &'static str;

/// Letters and axes.
pub const TEXT: Ink = "var(--text)";
/// Secondary parts: ticks, the ideal.
pub const QUIET: Ink = "var(--quiet)";
/// Lines behind the figures.
pub const GRID: Ink = "var(--grid)";
/// The page itself.
pub const PAPER: Ink = "var(--paper)";
/// Phases of computing, in turns.
pub const COMPUTING: [Ink; 2] = ["var(--computing-1)", "var(--computing-2)"];
/// Phases of sharing, in turns.
pub const SHARING: [Ink; 2] = ["var(--sharing-1)", "var(--sharing-2)"];

/// Returns the colour of an implementation, a policy of super-programs or a version, which is the same in each figure.
/// Colour-blind readers can tell the colours apart (Okabe and Ito).
pub fn of(name: &str) -> Ink {
    match name {
        "aurora" | "tail" | "D" => "var(--blue)",
        "aurora-whole" | "ect" | "N" => "var(--sky)",
        "accumulate" | "pages" | "rayon" | "tcp" | "SR" | "M" => "var(--green)",
        "S" | "treadmarks" => "var(--vermillion)",
        "R" => "var(--orange)",
        "SS" | "G" => "var(--purple)",
        name if name.starts_with("mpi-isend") => "var(--vermillion)",
        name if name.starts_with("mpi-collective") => "var(--orange)",
        name if name.starts_with("mpi-") => "var(--purple)",
        _ => "var(--quiet-2)",
    }
}
