//! Colours by what they are for. A drawing names them; the page's style says what they are, by day, by night and on
//! paper.

use plotters::style::RGBColor;

/// A colour of the page, such as `var(--text)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ink {
    /// What the drawing library is told: a colour that nothing else has.
    number: u8,
    /// What the page calls it.
    pub name: &'static str,
}

const fn ink(number: u8, name: &'static str) -> Ink {
    Ink { number, name }
}

/// Letters and axes.
pub const TEXT: Ink = ink(0, "text");
/// What is not looked at first: ticks, the ideal.
pub const QUIET: Ink = ink(1, "quiet");
/// Lines behind the figures.
pub const GRID: Ink = ink(2, "grid");
/// The page itself.
pub const PAPER: Ink = ink(3, "paper");
/// Phases of computing, in turns.
pub const COMPUTING: [Ink; 2] = [ink(4, "computing-1"), ink(5, "computing-2")];
/// Phases of sharing, in turns.
pub const SHARING: [Ink; 2] = [ink(6, "sharing-1"), ink(7, "sharing-2")];
/// Systems; these can be told apart by people who see colours in another way (Okabe and Ito).
pub const HUES: [Ink; 7] = [
    ink(8, "blue"),
    ink(9, "vermillion"),
    ink(10, "orange"),
    ink(11, "sky"),
    ink(12, "green"),
    ink(13, "purple"),
    ink(14, "quiet-2"),
];

/// An implementation has the same colour in each figure.
pub fn of_implementation(name: &str) -> Ink {
    let [blue, vermillion, orange, sky, green, purple, grey] = HUES;
    match name {
        "aurora" => blue,
        "aurora-whole" => sky,
        "accumulate" | "rayon" | "tcp" => green,
        name if name.starts_with("mpi-isend") => vermillion,
        name if name.starts_with("mpi-collective") => orange,
        name if name.starts_with("mpi-") => purple,
        _ => grey,
    }
}

/// A policy of super-programs, or a version of one, too.
pub fn of_policy(name: &str) -> Ink {
    let [blue, vermillion, orange, sky, green, purple, grey] = HUES;
    match name {
        "tail" | "D" => blue,
        "S" => vermillion,
        "R" => orange,
        "SR" | "M" => green,
        "SS" | "G" => purple,
        "ect" | "N" => sky,
        _ => grey,
    }
}

const RED: u8 = 1;

impl Ink {
    /// As the drawing library wants it.
    pub fn color(self) -> RGBColor {
        RGBColor(RED, 0, self.number)
    }
}

/// Names the colours of a drawing as the page does, and takes its size from it: the page decides how wide it is.
pub fn themed(svg: &str) -> String {
    let everyone = [TEXT, QUIET, GRID, PAPER].into_iter().chain(COMPUTING).chain(SHARING).chain(HUES);
    // Text in the drawing has no quotation marks: they are escaped there.
    everyone.fold(svg.to_string(), |svg, ink| {
        svg.replace(&format!("\"#{RED:02X}00{:02X}\"", ink.number), &format!("\"var(--{})\"", ink.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_names() {
        let svg = themed(r##"<line stroke="#01000E" fill="#010003"/><text>&quot;#010003&quot;</text>"##);
        let expected = r#"<line stroke="var(--quiet-2)" fill="var(--paper)"/>"#;
        assert!(svg.starts_with(expected) && svg.ends_with("<text>&quot;#010003&quot;</text>"), "{svg}");
    }
}
