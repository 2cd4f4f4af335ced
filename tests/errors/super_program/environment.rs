//! Invalid settings.

use crate::environment::started;
use aurora_core::Error;
use aurora_super::policy::Version;
use aurora_super::{Policy, Super, SuperProgram};

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
fn policies_that_are_unknown() {
    for value in ["x", "tial", "Remote", "S,R"] {
        let (is_fine, text) = text_of(&[("AURORA_SUPER_POLICY", value)]);
        assert!(!is_fine, "AURORA_SUPER_POLICY={value} is accepted");
        let words = format!("AURORA_SUPER_POLICY={value} is not valid: expected one of syn, S, R, SR, SS, tail, ect");
        assert!(text.contains(&words), "{value}: {text}");
    }
}

#[test]
fn the_variables_are_obeyed() {
    let (is_fine, text) = text_of(&[("AURORA_SUPER_WORKERS", "5"), ("AURORA_SUPER_IN_FLIGHT", "1")]);
    assert!(is_fine, "{text}");
}

#[test]
fn ranks_with_different_settings() {
    type Set = fn(Super, usize) -> Super;
    let sets: [(Set, [&str; 2]); 2] = [
        (|of, rank| of.policy(if rank == 1 { Policy::R } else { Policy::S }), ["policy S and", "policy R and"]),
        (
            |of, rank| if rank == 1 { of.speeds([1.0, 2.0, 1.0]) } else { of },
            ["equal speeds", "the speeds [1.0, 2.0, 1.0]"],
        ),
    ];
    for (set, words) in sets {
        let outcomes = crate::provoke::in_threads(3)
            .run(|world| set(Super::default(), world.rank().index()).start(world).map(drop));
        outcomes.all_say(&words);
        let is_mismatch = |outcome: &Option<Result<(), Error>>| matches!(outcome, Some(Err(Error::Mismatch { .. })));
        assert!(outcomes.ranks.iter().all(is_mismatch), "{outcomes:?}");
    }
}

#[test]
fn settings_of_the_program_that_cannot_be() {
    type Set = fn(Super) -> Super;
    const RANKS: &str = "expected one number above 0 and up to 1e290 for each of the 3 ranks";
    let sets: [(Set, &str); 9] = [
        (|of| of.policy(Policy { version: Version::Remote, ..Policy::TAIL }), "a policy of the version Remote"),
        (|of| of.speeds([1.0, 2.0]), RANKS),
        (|of| of.speeds([1.0; 4]), RANKS),
        (|of| of.speeds(Vec::new()), RANKS),
        (|of| of.speeds([1.0, 0.0, 1.0]), RANKS),
        (|of| of.speeds([1.0, -1.0, 1.0]), "Super::speeds=[1.0, -1.0, 1.0] is not valid"),
        (|of| of.speeds([1.0, f64::NAN, 1.0]), RANKS),
        (|of| of.workers(0), "Super::workers=0 is not valid"),
        (|of| of.in_flight(0), "Super::in_flight=0 is not valid"),
    ];
    for (set, words) in sets {
        let outcomes = crate::provoke::in_threads(3).run(|world| set(Super::default()).start(world).map(drop));
        outcomes.all_say(&[words]);
    }
}
