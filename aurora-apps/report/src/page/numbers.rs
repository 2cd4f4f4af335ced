//! All figures of the applications as numbers: measured ones, and modelled ones by themselves.

use super::table::Table;
use super::text::{or_dash, spread, three};
use crate::Spread;
use crate::collect::{Collection, Point};
use crate::series::{Key, Series, grouped};
use crate::study::Study;
use maud::{Markup, html};

/// Both tables.
pub fn sections(of: &Collection, studies: &[Study<'_>]) -> Markup {
    if of.programs.is_empty() {
        return html! {};
    }
    let others = of.programs.values().flat_map(|systems| systems.keys()).any(|series| !series.is_measured());
    html! {
        section {
            h2 { "Measured: all figures" }
            p.quiet {
                "Milliseconds: the middle of the repetitions, from the least to the most. Messages and bytes are those \
                 of all ranks in one."
            }
            (measured(of, Series::is_measured))
        }
        @if others {
            section {
                h2 { "Figures of other kinds, as their labels say" }
                (measured(of, |series| !series.is_measured()))
            }
        }
        @if studies.iter().any(|study| study.alone.is_some() && !study.systems.is_empty()) {
            section {
                h2 { "Modelled: sequential time alone / ranks + measured sharing" }
                p.quiet {
                    "Milliseconds. Sharing is measured, what was hidden behind computing included; the rest is not."
                }
                (modelled(studies))
            }
        }
    }
}

fn ms(of: Spread) -> Markup {
    spread(of.map(|seconds| seconds * 1e3))
}

type Row<'c> = (&'c Key, &'c Series, usize, &'c Point);

fn measured(of: &Collection, which: impl Fn(&Series) -> bool) -> Markup {
    let rows = of.programs.iter().flat_map(|(key, systems)| systems.iter().map(move |of| (key, of)));
    let rows = rows.filter(|(_, (series, _))| which(series));
    let rows = rows.flat_map(|(key, (series, of))| of.iter().map(move |(ranks, point)| (key, series, *ranks, point)));
    let speedup = |key: &Key, point: &Point| point.speedup().filter(|_| !key.setting.apart);
    let table = Table::<Row<'_>>::new()
        .text("problem", |(key, ..)| key.problem.to_string())
        .text("network", |(key, ..)| key.setting.place())
        .text("system", |(_, series, ..)| series.to_string())
        .number("ranks", |(_, _, ranks, _)| *ranks)
        .number("a repetition", |(key, _, _, of)| or_dash((!key.setting.apart).then(|| of.seconds()), ms))
        .number("of it sharing", |(.., of)| ms(of.sharing()))
        .number("hidden", |(.., of)| three(of.hidden() * 1e3))
        .number("sequential", |(.., of)| three(of.sequential() * 1e3))
        .number("speed-up", |(key, _, _, of)| or_dash(speedup(key, of), spread))
        .number("messages", |(.., of)| or_dash(of.messages(), |of| html! { (grouped(of.round() as usize)) }))
        .number("MB", |(.., of)| or_dash(of.bytes(), |of| html! { (three(of / 1e6)) }))
        .number("reps", |(.., of)| of.reps());
    table.of("", rows)
}

fn modelled(studies: &[Study<'_>]) -> Markup {
    let models = studies.iter().filter_map(|study| Some((study, study.alone.as_ref()?.seconds)));
    let rows = models.flat_map(|(study, alone)| {
        let systems = study.systems.iter();
        let points = systems.flat_map(|(series, points)| points.iter().map(move |(ranks, of)| (*series, *ranks, of)));
        points.map(move |(series, ranks, point)| ((study, alone), series, ranks, point))
    });
    let table = Table::<((&Study<'_>, f64), &Series, usize, &Point)>::new()
        .text("problem", |((study, _), ..)| study.problem.to_string())
        .text("network", |((study, _), ..)| study.key.setting.place())
        .text("system", |(_, series, ..)| series.to_string())
        .number("ranks", |(_, _, ranks, _)| *ranks)
        .number("sequential alone", |((_, alone), ..)| three(alone * 1e3))
        .number("sharing, measured", |(.., point)| ms(point.all(|own| own.shared())))
        .number("a repetition, modelled", |((study, _), _, ranks, point)| ms(study.seconds(*ranks, point)))
        .number("speed-up, modelled", |((study, _), _, ranks, point)| or_dash(study.speedup(*ranks, point), spread));
    table.of("", rows)
}
