//! Colours by what they are for. A drawing names them; the page's style says what they are, by day, by night and on
//! paper.

use plotters::style::RGBColor;

/// A colour of the page, by its name there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ink(pub &'static str);

/// Letters and axes.
pub const TEXT: Ink = Ink("text");
/// What is not looked at first: ticks, the ideal.
pub const QUIET: Ink = Ink("quiet");
/// Lines behind the figures.
pub const GRID: Ink = Ink("grid");
/// The page itself.
pub const PAPER: Ink = Ink("paper");
/// Phases of computing, in turns.
pub const COMPUTING: [Ink; 2] = [Ink("computing-1"), Ink("computing-2")];
/// Phases of sharing, in turns.
pub const SHARING: [Ink; 2] = [Ink("sharing-1"), Ink("sharing-2")];

/// All of them; behind those above, those of systems, which can be told apart by people who see colours in another way
/// (Okabe and Ito).
const NAMES: &str = "text quiet grid paper computing-1 computing-2 sharing-1 sharing-2 \
                     blue vermillion orange sky green purple quiet-2";

/// An implementation has the same colour in each figure, and so has a policy of super-programs, or a version of one.
pub fn of(name: &str) -> Ink {
    Ink(match name {
        "aurora" | "tail" | "D" => "blue",
        "aurora-whole" | "ect" | "N" => "sky",
        "accumulate" | "rayon" | "tcp" | "SR" | "M" => "green",
        "S" => "vermillion",
        "R" => "orange",
        "SS" | "G" => "purple",
        name if name.starts_with("mpi-isend") => "vermillion",
        name if name.starts_with("mpi-collective") => "orange",
        name if name.starts_with("mpi-") => "purple",
        _ => "quiet-2",
    })
}

const RED: u8 = 1;

impl Ink {
    /// What the drawing library is told: a colour that nothing else has.
    pub fn color(self) -> RGBColor {
        let number = NAMES.split(' ').position(|name| name == self.0).expect("one of them");
        RGBColor(RED, 0, number as u8)
    }

    /// What the page calls it.
    pub fn style(self) -> String {
        format!("var(--{})", self.0)
    }
}

/// Names the colours of a drawing as the page does.
pub fn themed(svg: &str) -> String {
    // Text in the drawing has no quotation marks: they are escaped there.
    NAMES.split(' ').enumerate().fold(svg.to_string(), |svg, (number, name)| {
        svg.replace(&format!("\"#{RED:02X}00{number:02X}\""), &format!("\"{}\"", Ink(name).style()))
    })
}
