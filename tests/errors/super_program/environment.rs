//! Invalid settings.

use crate::environment::started;
use aurora_super::{Super, SuperProgram};

#[test]
#[ignore = "only for the next ones to start"]
fn a_super_program() {
    let ran = aurora_core::run(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        sp.each(6, |a: &mut u32| *a += 1, move |i| (a.at(i),))?;
        assert_eq!(sp.report()?.total().workers, 15);
        sp.value(a.at(3))
    });
    assert_eq!(ran.unwrap_or_else(|error| panic!("refused: {error}")), 4);
}

fn text_of(variables: &[(&str, &str)]) -> (bool, String) {
    let variables = [&[("AURORA_RANKS", "3"), ("AURORA_ROUTE", "local")], variables].concat();
    let output = started("true", "super_program::environment::a_super_program", &variables);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text.into_owned())
}

#[test]
fn numbers_of_threads_and_instructions_that_cannot_be() {
    for name in ["AURORA_SUPER_WORKERS", "AURORA_SUPER_IN_FLIGHT"] {
        for value in ["0", "x", "-1", "4294967296"] {
            let (is_fine, text) = text_of(&[(name, value)]);
            assert!(!is_fine, "{name}={value} is accepted");
            let words = format!("refused: {name}={value} is not valid: expected a number from 1");
            assert!(text.contains(&words), "{name}={value}: {text}");
        }
    }
}

#[test]
fn the_variables_are_obeyed() {
    let (is_fine, text) = text_of(&[("AURORA_SUPER_WORKERS", "5"), ("AURORA_SUPER_IN_FLIGHT", "1")]);
    assert!(is_fine, "{text}");
}

#[test]
fn settings_of_the_program_that_cannot_be() {
    type Set = fn(Super) -> Super;
    let sets: [(Set, &str); 2] = [
        (|of| of.workers(0), "AURORA_SUPER_WORKERS=0 is not valid"),
        (|of| of.in_flight(0), "AURORA_SUPER_IN_FLIGHT=0 is not valid"),
    ];
    for (set, words) in sets {
        let told = crate::provoke::in_threads(3).run(|world| set(Super::default()).start(world).map(drop));
        told.all_say(&[words]);
    }
}
