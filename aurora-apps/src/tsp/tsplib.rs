//! TSPLIB files: symmetric instances that are given by places in the plane (`EUC_2D`), on the earth (`GEO`), or by a
//! matrix (`EXPLICIT`, whole or below its diagonal).

use super::instance::{Instance, MOST_CITIES};
use thiserror::Error;

/// An error in a file.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Fault {
    /// A required header line is missing.
    #[error("there is no line `{0}: ...`")]
    Missing(&'static str),
    /// A header line has a value that is not supported.
    #[error("line {line}: {keyword} is {found}; read here: {known}")]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// The keyword of the line.
        keyword: &'static str,
        /// The value of the line.
        found: String,
        /// The supported values.
        known: &'static str,
    },
    /// There are more cities than the search supports, or none.
    #[error("line {line}: {found} cities; from 1 to {MOST_CITIES} can be searched")]
    Cities {
        /// The line, from 1.
        line: usize,
        /// The number of cities, as in the file.
        found: String,
    },
    /// A number is required where the file has something else.
    #[error("line {line}: {found} is not {expected}")]
    Number {
        /// The line, from 1.
        line: usize,
        /// The text in the file.
        found: String,
        /// The expected number.
        expected: &'static str,
    },
    /// A section has too few or too many numbers.
    #[error("{section} has {found} numbers; {cities} cities take {expected}")]
    Count {
        /// The section of the file.
        section: &'static str,
        /// The number of numbers in the section.
        found: usize,
        /// The number of cities.
        cities: usize,
        /// The number of numbers that the cities need.
        expected: usize,
    },
    /// A place is given twice, or for a city that does not exist.
    #[error("NODE_COORD_SECTION names city {city} {}; each of 1 to {cities} is to be named once", if *.city == 0.0 || *.city > *.cities as f64 { "which does not exist" } else { "again or not as a whole number" })]
    City {
        /// The number of the city.
        city: f64,
        /// The number of cities.
        cities: usize,
    },
    /// The matrix differs from its transpose.
    #[error("the distance between cities {} and {} depends on the direction: only symmetric instances are searched", .from + 1, .to + 1)]
    Asymmetric {
        /// One of the two cities, from 0.
        from: usize,
        /// The other city.
        to: usize,
    },
    /// Two places are too far apart.
    #[error("cities {} and {} are {distance} apart, more than {MOST_DISTANCE}: scale the file", .from + 1, .to + 1)]
    Far {
        /// One of the two cities, from 0.
        from: usize,
        /// The other city.
        to: usize,
        /// Their distance, rounded.
        distance: f64,
    },
}

const COORDINATES: &str = "NODE_COORD_SECTION";
const WEIGHTS: &str = "EDGE_WEIGHT_SECTION";

/// The header lines that matter, and the numbers of the sections.
#[derive(Default)]
struct File<'t> {
    dimension: Option<usize>,
    kind: Option<(usize, &'t str)>,
    format: Option<(usize, &'t str)>,
    coordinates: Vec<f64>,
    weights: Vec<f64>,
}

/// Reads an instance.
///
/// # Errors
/// The first [`Fault`].
pub fn parse(text: &str) -> Result<Instance, Fault> {
    let file = File::read(text)?;
    let cities = file.dimension.ok_or(Fault::Missing("DIMENSION"))?;
    let (line, kind) = file.kind.ok_or(Fault::Missing("EDGE_WEIGHT_TYPE"))?;
    match kind {
        "EUC_2D" => {
            let places = file.places(cities)?;
            let far = |&(from, to): &(usize, usize)| plane(places[from], places[to]) > f64::from(MOST_DISTANCE);
            if let Some((to, from)) = (0..cities).flat_map(|i| (0..i).map(move |j| (i, j))).find(far) {
                return Err(Fault::Far { from, to, distance: plane(places[from], places[to]) });
            }
            Ok(Instance::new(cities, |i, j| plane(places[i], places[j]) as u32))
        }
        "GEO" => file.places(cities).map(|places| Instance::new(cities, |i, j| earth(places[i], places[j]))),
        "EXPLICIT" => file.matrix(cities),
        _ => Err(Fault::Unknown {
            line,
            keyword: "EDGE_WEIGHT_TYPE",
            found: kind.into(),
            known: "EUC_2D, GEO, EXPLICIT",
        }),
    }
}

impl<'t> File<'t> {
    fn read(text: &'t str) -> Result<Self, Fault> {
        let mut file = File::default();
        let mut section = "";
        for (line, words) in (1..).zip(text.lines().map(str::trim)) {
            let (keyword, value) = words.split_once(':').unwrap_or((words, ""));
            let (keyword, value) = (keyword.trim_end(), value.trim());
            if keyword == "EOF" {
                break;
            }
            if keyword.starts_with(|c: char| c.is_ascii_alphabetic()) {
                section = keyword;
                file.header(line, keyword, value)?;
                continue;
            }
            let numbers = match section {
                COORDINATES => &mut file.coordinates,
                WEIGHTS => &mut file.weights,
                _ => continue,
            };
            for word in words.split_whitespace() {
                let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
                let fault = || Fault::Number { line, found: word.into(), expected: "a number" };
                numbers.push(number.ok_or_else(fault)?);
            }
        }
        Ok(file)
    }

    fn header(&mut self, line: usize, keyword: &str, value: &'t str) -> Result<(), Fault> {
        match keyword {
            "TYPE" if value.split_whitespace().next() != Some("TSP") => {
                return Err(Fault::Unknown { line, keyword: "TYPE", found: value.into(), known: "TSP" });
            }
            "DIMENSION" => {
                let cities = value.parse().ok().filter(|cities| (1..=MOST_CITIES).contains(cities));
                self.dimension = Some(cities.ok_or_else(|| Fault::Cities { line, found: value.into() })?);
            }
            "EDGE_WEIGHT_TYPE" => self.kind = Some((line, value)),
            "EDGE_WEIGHT_FORMAT" => self.format = Some((line, value)),
            _ => {}
        }
        Ok(())
    }

    fn places(&self, cities: usize) -> Result<Vec<(f64, f64)>, Fault> {
        count(COORDINATES, &self.coordinates, cities, 3 * cities)?;
        let mut places = vec![None; cities];
        for place in self.coordinates.chunks_exact(3) {
            let whole = place[0].fract() == 0.0 && place[0] >= 1.0 && place[0] <= cities as f64;
            let slot = whole.then(|| &mut places[place[0] as usize - 1]).filter(|slot| slot.is_none());
            *slot.ok_or(Fault::City { city: place[0], cities })? = Some((place[1], place[2]));
        }
        // There are as many places as cities, and no place is given twice, so all are given.
        Ok(places.into_iter().flatten().collect())
    }

    fn matrix(&self, cities: usize) -> Result<Instance, Fault> {
        let (line, format) = self.format.ok_or(Fault::Missing("EDGE_WEIGHT_FORMAT"))?;
        let weights = &self.weights;
        let fits = |weight: &&f64| !(weight.fract() == 0.0 && (0.0..=f64::from(MOST_DISTANCE)).contains(*weight));
        if let Some(wrong) = weights.iter().find(fits) {
            let expected = "a distance, a whole number from 0 to 16777215";
            return Err(Fault::Number { line, found: wrong.to_string(), expected });
        }
        match format {
            "LOWER_DIAG_ROW" => {
                count(WEIGHTS, weights, cities, cities * (cities + 1) / 2)?;
                Ok(Instance::new(cities, |i, j| weights[i * (i + 1) / 2 + j] as u32))
            }
            "FULL_MATRIX" => {
                count(WEIGHTS, weights, cities, cities * cities)?;
                for (from, to) in (0..cities * cities).map(|k| (k / cities, k % cities)) {
                    if weights[from * cities + to] != weights[to * cities + from] {
                        return Err(Fault::Asymmetric { from, to });
                    }
                }
                Ok(Instance::new(cities, |i, j| weights[i * cities + j] as u32))
            }
            _ => Err(Fault::Unknown {
                line,
                keyword: "EDGE_WEIGHT_FORMAT",
                found: format.into(),
                known: "LOWER_DIAG_ROW, FULL_MATRIX",
            }),
        }
    }
}

/// The maximum distance: longer ones would overflow in calculations.
const MOST_DISTANCE: u32 = (1 << 24) - 1;

fn count(section: &'static str, numbers: &[f64], cities: usize, expected: usize) -> Result<(), Fault> {
    match numbers.len() {
        0 => Err(Fault::Missing(section)),
        found if found != expected => Err(Fault::Count { section, found, cities, expected }),
        _ => Ok(()),
    }
}

/// Returns the distance by `EUC_2D`, rounded.
fn plane(a: (f64, f64), b: (f64, f64)) -> f64 {
    ((a.0 - b.0).hypot(a.1 - b.1) + 0.5).floor()
}

/// Returns the distance by `GEO`: degrees and minutes, as `DDD.MM`, on TSPLIB's earth with TSPLIB's pi.
fn earth(a: (f64, f64), b: (f64, f64)) -> u32 {
    #[allow(clippy::approx_constant)]
    const PI: f64 = 3.141592;
    const RADIUS: f64 = 6378.388;
    let radians = |degrees: f64| PI * (degrees.trunc() + 5.0 * degrees.fract() / 3.0) / 180.0;
    let (a, b) = ((radians(a.0), radians(a.1)), (radians(b.0), radians(b.1)));
    let (q1, q2, q3) = ((a.1 - b.1).cos(), (a.0 - b.0).cos(), (a.0 + b.0).cos());
    (RADIUS * (0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)).clamp(-1.0, 1.0).acos() + 1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "NAME : x\nTYPE : TSP\nDIMENSION : 3\n";

    fn fault(text: &str) -> String {
        parse(text).expect_err("it is refused").to_string()
    }

    #[test]
    fn places_in_the_plane() {
        let text =
            format!("{HEAD}EDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n2 3 4\n1 0 0\n3 0 1.4e0\nEOF\nrubbish");
        assert_eq!(parse(&text).unwrap().distances(), [0, 5, 1, 5, 0, 4, 1, 4, 0]);
    }

    #[test]
    fn whole_matrices() {
        let head = format!("{HEAD}EDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n");
        assert_eq!(parse(&format!("{head}9 1 2 1 9 3\n2 3 9")).unwrap().distances(), [0, 1, 2, 1, 0, 3, 2, 3, 0]);
        assert!(fault(&format!("{head}0 1 2 1 0 3 2 4 0")).contains("cities 2 and 3 depends on the direction"));
        assert!(fault(&format!("{head}0 1 2 1 0 3 2 3")).contains("has 8 numbers; 3 cities take 9"));
        assert!(fault(&format!("{head}0 1 2 1 0 -3 2 -3 0")).contains("-3 is not a distance"));
        assert!(fault(&format!("{head}0 1 2 1 0 1.5 2 1.5 0")).contains("1.5 is not a distance"));
        assert!(fault(&format!("{head}0 x1 2 1 0 3 2 3 0")).contains("line 7: x1 is not a number"));
        assert!(fault(&head).contains("no line `EDGE_WEIGHT_SECTION"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let lines = |lines: &[&str]| fault(&lines.join("\n"));
        assert!(lines(&[]).contains("no line `DIMENSION"));
        assert!(lines(&["DIMENSION: 3"]).contains("no line `EDGE_WEIGHT_TYPE"));
        assert!(lines(&["DIMENSION: 65"]).contains("line 1: 65 cities; from 1 to 64"));
        assert!(lines(&["DIMENSION: many"]).contains("line 1: many cities"));
        assert!(lines(&["NAME: x", "TYPE: ATSP"]).contains("line 2: TYPE is ATSP; read here: TSP"));
        let head = HEAD.trim_end();
        assert!(lines(&[head, "EDGE_WEIGHT_TYPE: ATT"]).contains("line 4: EDGE_WEIGHT_TYPE is ATT; read here: EUC_2D"));
        let plane = ["EDGE_WEIGHT_TYPE: EUC_2D", "NODE_COORD_SECTION"].join("\n");
        assert!(lines(&[head, &plane, "1 0 0", "2 0 1", "2 1 1"]).contains("names city 2 again"));
        assert!(lines(&[head, &plane, "1 0 0", "2 0 1", "4 1 1"]).contains("names city 4 which does not exist"));
        assert!(lines(&[head, &plane, "1 0 0", "2 0 inf", "3 1 1"]).contains("inf is not a number"));
        let far = lines(&[head, &plane, "1 0 0", "2 0 16777215", "3 0 -1"]);
        assert!(far.contains("cities 2 and 3 are 16777216 apart, more than 16777215"), "{far}");
        let explicit = ["EDGE_WEIGHT_TYPE: EXPLICIT", "EDGE_WEIGHT_SECTION", "0 1 0 1 1 0"].join("\n");
        assert!(lines(&[head, &explicit]).contains("no line `EDGE_WEIGHT_FORMAT"));
        assert!(lines(&[head, "EDGE_WEIGHT_FORMAT: UPPER_ROW", &explicit]).contains("LOWER_DIAG_ROW, FULL_MATRIX"));
    }
}
