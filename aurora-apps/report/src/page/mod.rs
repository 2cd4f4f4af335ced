//! The page: one file that needs nothing else. Text is escaped by [`maud`] where it is written, in charts by
//! [`plotters`].

mod code;
mod figure;
mod numbers;
mod operations;
mod provenance;
mod simulated;
mod speedup;
mod summary;
mod text;
mod wanted;

pub use code::Version;

use super::collect::Collection;
use super::network::Payload;
use super::recorded::{Recorded, What};
use super::versus;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use wanted::Wanted;

/// What each page begins with: a file that does not is none of ours to overwrite.
pub const BEGIN: &str = "<!DOCTYPE html>";

/// What only those know who carry out programs and operations.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// Every version of each application.
    pub versions: &'k [Version],
    /// What an operation must bring over the network.
    pub payload: Payload,
}

/// The page of these runs. Without a title it has one that suits what they are of.
pub fn page(all: &[Recorded], title: Option<&str>, known: Known<'_>) -> String {
    let of = Collection::of(all);
    let versus = versus::all(&of);
    let mut wanted = Wanted::default();
    let charts = speedup::sections(all, &of, &versus, &mut wanted);
    let is_measured = all.iter().any(|run| !matches!(run.what, What::Simulation(_)));
    let operations = if is_measured {
        operations::sections(all, &of, known.payload, &mut wanted)
    } else {
        html! {}
    };
    let title = title.unwrap_or(if is_measured { "Aurora beside MPI" } else { "Super-programs" });
    let body = html! {
        h1 { (title) }
        (summary::section(all, &of, &versus))
        (charts)
        (operations)
        (simulated::sections(all))
        @if is_measured { (code::section(known.versions)) }
        (numbers::sections(&of))
        (wanted.section())
        (provenance::appendix(all))
        p.quiet { "Written by " code { "aurora report" } " " (env!("CARGO_PKG_VERSION")) "." }
    };
    document(title, &body).into_string()
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { main { (body) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{bench, case, known, labelled, program, read, simulation, with};
    use super::*;
    use serde_json::Value;

    fn page(all: &[Recorded], title: Option<&str>) -> String {
        super::page(all, title, known())
    }

    const SYSTEMS: [(&str, f64); 3] = [("aurora", 0.5), ("mpi-isend", 0.8), ("mpi-collective", 0.6)];

    fn on_a_network(run: Value) -> Value {
        labelled(labelled(run, "network", "155 Mbit/s, MTU 9000"), "mpi", "Made-up MPI 1")
    }

    /// A study of made-up figures: Aurora scales, MPI a little less.
    fn study() -> Vec<Value> {
        let at = |ranks: usize| {
            let systems = SYSTEMS.map(|(name, share)| (name, 0.1 * share * (1.0 / ranks as f64 + 0.05)));
            on_a_network(program("mm2", 704, ranks, &systems))
        };
        let mut runs: Vec<Value> = [2, 4, 8].map(at).to_vec();
        runs.push(labelled(program("mm2", 704, 1, &[("aurora", 0.04)]), "kind", "computing alone"));
        runs.push(on_a_network(bench("exchange", 4, &SYSTEMS.map(|(name, share)| (name, share)))));
        runs
    }

    /// All that the page says: without its style, and without how charts are drawn.
    fn outline(page: &str) -> String {
        let drawn = ["<text", "</text", "<polygon", "<polyline", "<rect", "<line", "<circle", "</line", "</polygon"];
        let page = page.replace(include_str!("style.css"), "").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let lines = page.replace("><", ">\n<");
        let told = lines.lines().filter(|line| !drawn.iter().any(|tag| line.starts_with(tag)));
        told.map(|line| format!("{line}\n")).collect()
    }

    /// Runs of everything that a page can have to say, by the name of the page that is expected of them.
    fn cases() -> Vec<(&'static str, Vec<Value>)> {
        let mm2 = |size: usize, ranks: usize, of: &[(&str, f64)]| program("mm2", size, ranks, of);
        let pair = |ours, theirs| [("aurora", ours), ("mpi-isend", theirs)];
        // One loss more than is listed, and more of each kind.
        let mut mixed: Vec<Value> =
            (0..15).rev().map(|number| mm2(100 + number, 2, &pair(0.02, 0.01 + 0.0002 * number as f64))).collect();
        mixed.extend([2, 4].map(|ranks| mm2(704, ranks, &pair(0.02, if ranks == 2 { 0.04 } else { 0.01 }))));
        mixed.push(with(mm2(704, 2, &pair(0.03, 0.03)), &[("profile", "release".into())]));
        let mut wrong = mm2(512, 2, &pair(0.02, 0.01));
        wrong["results"][1]["verified"] = false.into();
        let on_wire = |run| labelled(run, "network", "8 Mbit/s");
        let mut resent = on_wire(bench("read-cache", 4, &pair(23.5, 0.24)));
        resent["results"][0]["packets_resent"] = serde_json::json!({ "min": 0.0, "median": 7.0, "max": 9.0 });
        let by_hand = labelled(on_a_network(mm2(704, 16, &pair(0.001, 0.0001))), "kind", "modelled by hand");
        let mut tables = program("histogram", 1000, 4, &[("accumulate", 0.01), ("naive", 0.5), ("rayon", 0.03)]);
        tables["results"].as_array_mut().unwrap().iter_mut().for_each(|result| result["updates"] = 500.into());
        mixed.extend([wrong, resent, on_wire(bench("read-cache", 8, &pair(29.4, 56.0))), by_hand, tables]);
        mixed.extend([bench("get", 2, &[("aurora", 2e-5)]), labelled(mm2(704, 8, &pair(0.01, 0.02)), "mine", "yes")]);
        let whole = [("aurora-whole", 0.5), ("mpi-isend-whole", 0.8)];
        let apart = |ranks| labelled(on_a_network(program("mm2", 704, ranks, &whole)), "phases", "apart");
        let mut dot = labelled(mm2(704, 1, &[("aurora", 0.04)]), "kind", "computing alone");
        dot["results"][0]["variant"] = "dot".into();
        let policies = |policies: &[(&str, f64)]| -> Vec<Value> {
            let at =
                |nodes| policies.iter().map(move |(name, loss)| simulation(name, nodes, 1.0 - loss * nodes as f64));
            [2, 4, 8].into_iter().flat_map(at).collect()
        };
        let mixed_nodes = policies(&[("S", 0.02)]).into_iter().map(|run| with(run, &[("speeds", "1:3".into())]));
        let simulated: Vec<Value> = mixed_nodes.chain(policies(&[("S", 0.01), ("tail", 0.002)])).collect();
        let multicast = policies(&[("syn", 0.06), ("S", 0.01), ("S", 0.03)]);
        let multicast = multicast.into_iter().map(|run| with(run, &[("transfers", "multicast".into())]));
        let of_case = |(nodes, limit)| [case("S", nodes, limit, 12.0), case("D", nodes, limit, 8.0)];
        let cases: Vec<Value> = [(2, 1), (8, 1), (2, 6), (8, 6)].into_iter().flat_map(of_case).collect();
        let alone = with(simulation("S", 64, 0.9), &[("command", "aurora simulate other --json".into())]);
        vec![
            ("study", study()),
            ("mixed", mixed),
            ("apart", vec![apart(2), apart(4), dot]),
            ("one", vec![program("psrs", 8_000_000, 2, &[("aurora", 0.08)])]),
            ("operation", vec![bench("get", 2, &[("aurora", 2e-5)])]),
            ("simulated", [simulated, multicast.collect(), cases, vec![alone]].concat()),
            ("faster", [vec![mm2(704, 2, &pair(0.02, 0.04))], policies(&[("tail", 0.01)])].concat()),
        ]
    }

    /// `UPDATE=1 cargo test -p aurora-report` writes what is expected anew: see by `git diff` that it is what you want.
    #[test]
    fn a_page_says_what_it_is_expected_to() {
        for (name, runs) in cases() {
            let page = page(&read(&runs), None);
            assert_sound(&page);
            let file = format!("{}/src/page/expected/{name}.html", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&file, outline(&page)).unwrap();
            }
            let expected = std::fs::read_to_string(&file).unwrap();
            for (number, (line, other)) in outline(&page).lines().zip(expected.lines()).enumerate() {
                assert_eq!(line, other, "{file}, line {}", number + 1);
            }
            assert_eq!(outline(&page).lines().count(), expected.lines().count(), "{file}");
        }
    }

    fn assert_sound(page: &str) {
        assert!(page.starts_with(BEGIN));
        for tag in ["section", "figure", "table", "tr", "td", "th", "ul", "li", "p", "svg", "text", "code", "h4"] {
            let opened = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        // Nothing is fetched, and nothing runs.
        for word in ["<script", "<link", "<img", "url(", "@import", " src="] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn a_study_has_all_charts() {
        let page = page(&read(&study()), Some("Made up"));
        assert_sound(&page);
        for part in [
            "<h4>Measured speed-up: mm2 704, tiled",
            "<h4>Modelled speed-up: mm2 704, tiled",
            "speed-up over MPI's, measured: mm2 704",
            "speed-up over MPI's, modelled: mm2 704",
            "<h4>Measured sharing overhead: mm2 704",
            "<h4>Where the time of a repetition of mm2 704",
            "<h4>Bytes sent in a repetition: mm2 704",
            "<h4>Messages sent in a repetition: mm2 704",
            "<h2>Operations against the rate of the wire",
            "<h2>Lines of code",
            "<h2>Measured: all figures",
            "<h2>Modelled: sequential time alone / ranks + measured sharing",
            "<h2>Where Aurora is slower",
            "<h2 id=\"runs\">All runs",
            "aurora made-up --json",
            "Made up for a test, 2 cores",
            "More than 2 ranks take turns on 2 cores",
        ] {
            assert!(page.contains(part), "{part:?} is not there");
        }
        assert!(!page.contains("What these runs do not show"), "nothing is missing");
    }

    #[test]
    fn what_is_modelled_is_dashed_and_never_beside_what_is_measured() {
        let page = page(&read(&study()), Some("Made up"));
        for figure in page.split("<figure>").skip(1).map(|rest| rest.split("</figure>").next().unwrap()) {
            let title = figure.split("</h4>").next().unwrap().to_lowercase();
            let modelled = title.contains("modelled");
            assert_eq!(figure.contains("stroke-dasharray"), modelled, "{title}");
            assert_eq!(figure.contains("Dashed: modelled, not measured"), modelled, "{title}");
            assert!(!(modelled && title.contains("measured:")), "{title}");
        }
    }

    #[test]
    fn one_run_shows_what_it_can_and_names_what_would_show_more() {
        let page = page(&read(&[program("psrs", 8_000_000, 2, &[("aurora", 0.03)])]), Some("One"));
        assert_sound(&page);
        assert!(page.contains("Where the time of a repetition of psrs 8\u{202f}000\u{202f}000"));
        assert!(!page.contains("<h4>Measured speed-up") && !page.contains("<h4>Measured sharing"));
        assert!(page.contains("aurora psrs --keys 8000000 --input tiled --ranks $p --json"));
        assert!(page.contains("mpirun -n 4 aurora psrs --keys 8000000"));
    }

    #[test]
    fn what_a_user_calls_modelled_is_in_no_row_with_what_is_measured() {
        let mut runs = study();
        let theirs = program("mm2", 704, 16, &[("aurora", 0.001), ("mpi-isend", 0.0001)]);
        runs.push(labelled(on_a_network(theirs), "kind", "modelled by hand"));
        let page = page(&read(&runs), Some("Made up"));
        let measured = page.split("<h2>Measured: all figures").nth(1).unwrap().split("</section>").next().unwrap();
        assert!(!measured.contains("modelled") && !measured.contains("<td>16</td>"), "{measured}");
        let others = page.split("<h2>Figures of other kinds").nth(1).unwrap();
        assert!(others.contains("mpi-isend, Made-up MPI 1, modelled by hand"), "{others}");
        assert!(page.contains("In none of "), "nobody is slower by a clock");
    }

    #[test]
    fn of_phases_that_are_apart_there_is_sharing_and_what_is_modelled_from_it() {
        let systems = [("aurora-whole", 0.5), ("mpi-isend-whole", 0.8)];
        let at = |ranks| labelled(on_a_network(program("mm2", 704, ranks, &systems)), "phases", "apart");
        let mut dot = labelled(program("mm2", 704, 1, &[("aurora", 0.04)]), "kind", "computing alone");
        dot["results"][0]["variant"] = "dot".into();
        let page = page(&read(&[at(2), at(4), dot]), Some("Apart"));
        assert_sound(&page);
        for part in [
            "<h4>MPI's sharing overhead over Aurora's, measured: mm2 704, tiled",
            "<h4>Measured sharing overhead: mm2 704, tiled",
            "<h4>Modelled speed-up: mm2 704, dot",
            "<h4>Aurora's speed-up over MPI's, modelled: mm2 704, dot",
            "Nobody computes while data are on their way",
        ] {
            assert!(page.contains(part), "{part:?} is not there");
        }
        assert!(!page.contains("Measured speed-up") && !page.contains("The line below is the whole"));
    }

    #[test]
    fn simulations_alone_are_a_page_without_what_is_measured() {
        let runs: Vec<Value> = [2, 4].map(|nodes| simulation("tail", nodes, 0.97)).into();
        let alone = page(&read(&runs), None);
        assert_sound(&alone);
        assert!(
            alone.contains("<h1>Super-programs</h1>") && alone.contains("<h4>Efficiency: equal nodes, unicast</h4>")
        );
        for absent in ["Lines of code", "be compared with", "were verified", "MPI", "What these runs do not show"] {
            assert!(!alone.contains(absent), "{absent}");
        }
        let both = page(&read(&[study(), runs].concat()), None);
        assert_sound(&both);
        assert!(both.contains("<h1>Aurora beside MPI</h1>") && both.contains("<h2>Super-programs, simulated"));
    }

    #[test]
    fn one_bench_is_a_page_too() {
        let page = page(&read(&[bench("get", 2, &[("aurora", 2e-5)])]), Some("Bench"));
        assert_sound(&page);
        assert!(page.contains("<h2>Operations</h2>") && !page.contains("<h2>Measured"));
    }

    #[test]
    fn nothing_that_a_user_names_can_break_the_page() {
        let evil = "</code></svg></style><script>alert('x')</script>\"'&amp;";
        let mut runs = study();
        for run in &mut runs {
            for place in ["command", "machine", "date"] {
                run[place] = evil.into();
            }
            let labels: Vec<String> = ["network", "mpi", "setting", "mine"].map(String::from).to_vec();
            for label in labels {
                run["labels"][label] = evil.into();
            }
            for result in run["results"].as_array_mut().unwrap() {
                result["variant"] = evil.into();
                if let Some(phases) = result.get_mut("phases") {
                    phases[0]["name"] = evil.into();
                }
            }
            if run.get("app").is_some() {
                run["results"][0]["app"] = evil.into();
                let last = run["results"].as_array().unwrap().len() - 1;
                run["results"][last]["impl"] = evil.into();
                run["results"][0][evil] = 5.into();
            }
        }
        let mut all = read(&runs);
        all[0].file = evil.into();
        let page = page(&all, Some(evil));
        assert_sound(&page);
        assert!(page.contains("&lt;script&gt;"));
        assert_eq!(page.matches("<style").count(), 1);
    }
}
