//! Tells the crate the profile of `Cargo.toml` with which it is built. Cargo does not report the profile, but builds
//! each profile in its own folder.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    // `.../PROFILE/build/PACKAGE/out`
    let folder = Path::new(&out).ancestors().skip_while(|folder| !folder.ends_with("build")).nth(1);
    let profile = match folder.and_then(Path::file_name).and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => "unknown",
    };
    println!("cargo::rustc-env=AURORA_PROFILE={profile}");
    println!("cargo::rerun-if-changed=build.rs");
}
