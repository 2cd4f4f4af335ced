//! The chart of the front page, as SVG that needs no font or file of its own.

use super::comparison::{comparisons, shown};
use crate::figures::row::three_digits;
use maud::{Markup, PreEscaped, html};

/// The colours of the chart: by day, and by night.
const STYLE: &str = "\
    text { font: 15px system-ui, sans-serif; fill: #1f2328 } .quiet, .even { fill: #59636e } .paper { fill: #ffffff } \
    .line { stroke: #d1d9e0 } .one { stroke: #59636e } .faster { fill: #0072b2 } .slower { fill: #b34700 } \
    @media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .quiet, .even { fill: #9198a1 } \
    .paper { fill: #0d1117 } .line { stroke: #3d444d } .one { stroke: #9198a1 } .faster { fill: #56b4e9 } \
    .slower { fill: #e69f00 } }";

/// The width of the chart, the margin at the axis, and the heights of the head, of a row and of its bar.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 60.0;
const HEAD: f64 = 44.0;
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;

/// A bar for each shown row. It begins at the line of equal speed and goes to the left if Aurora is faster.
///
/// # Errors
/// If a row cannot be read.
pub(super) fn chart(results: &str) -> Result<String, String> {
    let rows = comparisons(results)?;
    let rows: Vec<_> = shown(&rows).collect();
    let decades = rows.iter().map(|row| row.ratio.log10());
    let (from, to) = decades.fold((0.0_f64, 0.0_f64), |(from, to), of| (from.min(of.floor()), to.max(of.ceil())));
    let x = |ratio: f64| MARGIN + (WIDTH - 2.0 * MARGIN) * (ratio.log10() - from) / (to - from).max(1.0);
    let bottom = HEAD + ROW * rows.len() as f64;
    let height = bottom + 36.0;
    let axis = html! {
        @for decade in from as i32..=to as i32 {
            @let (ratio, class) = (10_f64.powi(decade), if decade == 0 { "one" } else { "line" });
            line class=(class) x1=(at(x(ratio))) x2=(at(x(ratio))) y1=(HEAD) y2=(bottom) {}
            text.quiet x=(at(x(ratio))) y=(bottom + 22.0) text-anchor="middle" { (ratio) }
        }
    };
    let picture: Markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) }
            role="img" {
            title { "Aurora's time divided by the time of MPI, for eight operations, on a logarithmic scale" }
            style { (PreEscaped(STYLE)) }
            rect.paper width=(WIDTH) height=(height) rx="6" {}
            text x="16" y="26" { "time of Aurora / time of MPI, logarithmic: " tspan.faster { "Aurora is faster" } ", "
                tspan.slower { "MPI is faster" } }
            (axis)
            @for (row, top) in rows.iter().zip((0..).map(|row| HEAD + ROW * f64::from(row))) {
                @let (is_faster, end) = (row.ratio < 1.0, x(row.ratio));
                @let (left, right) = if is_faster { (end, x(1.0)) } else { (x(1.0), end) };
                text x="16" y=(top + 17.0) { (row.what.replace('`', "")) ", " (row.place) }
                rect class=(row.class()) x=(at(left)) y=(top + 24.0) width=(at((right - left).max(2.0))) height=(BAR) {}
                text x=(at(if is_faster { left - 6.0 } else { right + 6.0 })) y=(top + 37.0)
                    text-anchor=(if is_faster { "end" } else { "start" }) { (three_digits(row.ratio)) }
            }
        }
    };
    Ok(picture.into_string() + "\n")
}

/// A coordinate in the chart: tenths are exact enough.
fn at(place: f64) -> String {
    format!("{place:.1}")
}
