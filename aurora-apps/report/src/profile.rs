//! By which profile of `Cargo.toml` a build was made: one for who tries Aurora, another for who measures it.

/// That of this build: `dev`, `release`, `measure`.
pub const HERE: &str = env!("AURORA_PROFILE");

/// That of figures to keep.
pub const MEASURE: &str = "measure";

/// What to know of figures that a build by `profile` has taken; nothing if it is the one for that, or not on record.
pub fn notice(profile: &str) -> Option<String> {
    let other = !(profile.is_empty() || profile == MEASURE);
    other.then(|| format!("built by the profile `{profile}`; for figures to keep: `cargo build --profile {MEASURE}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_knows_its_profile_and_only_one_is_for_figures_to_keep() {
        assert!(["dev", "release", MEASURE].contains(&HERE), "{HERE}");
        assert_eq!((notice(MEASURE), notice("")), (None, None));
        assert!(notice("release").is_some_and(|text| text.contains("`release`") && text.contains("--profile measure")));
    }
}
