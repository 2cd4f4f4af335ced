//! The chapters of the book that have programs.

macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        $(#[doc = include_str!(concat!("../../docs/src/", $file))]
        mod $name {})*
    };
}

chapters! {
    accumulate: "behaviours/accumulate.md",
    batched_reads: "behaviours/batched-reads.md",
    halo_cache: "behaviours/halo-cache.md",
    owner_computes: "behaviours/owner-computes.md",
    paged: "behaviours/paged.md",
    parts: "behaviours/parts.md",
    read_cache_blocks: "behaviours/read-cache-blocks.md",
    read_cache_release_c: "behaviours/read-cache-release-c.md",
    read_cache: "behaviours/read-cache.md",
    release_alone: "behaviours/release-alone.md",
    release_c: "behaviours/release-c.md",
    errors: "errors.md",
    first_program: "first-program.md",
    litmus: "litmus.md",
    maps: "maps.md",
    own_types: "own-types.md",
    reductions: "reductions.md",
    scalars: "scalars.md",
    super_programs: "super-programs.md",
    threads: "threads.md",
    vectors: "vectors.md",
}
