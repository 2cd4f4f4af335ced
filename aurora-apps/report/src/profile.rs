//! The profile of `Cargo.toml` with which Aurora is built: one for trying Aurora, another for measuring.

/// The profile of this build: `dev`, `release`, `measure`.
pub const HERE: &str = env!("AURORA_PROFILE");

/// The profile for figures to keep.
pub const MEASURE: &str = "measure";

/// Returns a warning about figures from a build by `profile`, or `None` if that is the profile for measuring, or
/// unknown.
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
