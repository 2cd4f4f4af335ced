//! From computing that was measured alone and sharing that was measured on the emulated network to the speed-up on as
//! many machines: a model, as nodes that share cores cannot compute as fast as machines do.

/// The seconds that a program would take on `nodes` machines: computing that is divided among them, and the sharing
/// that was measured.
pub fn seconds(computing: f64, nodes: usize, sharing: f64) -> f64 {
    computing / nodes as f64 + sharing
}

/// The speed-up: the sequential program's seconds over those.
pub fn speed_up(computing: f64, nodes: usize, sharing: f64) -> f64 {
    computing / seconds(computing, nodes, sharing)
}

/// A speed-up over another's (the paper's normalised speed-up, there over MPICH's).
pub fn normalised(ours: f64, other: f64) -> f64 {
    ours / other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_figures() {
        // 704 x 704: 250.7 s of computing; 17.9 s on 16 nodes were 2.2 s more than ideal.
        let sharing = 17.9 - 250.7 / 16.0;
        assert!((speed_up(250.7, 16, sharing) - 14.0).abs() < 0.05);
        assert!((normalised(14.0, 9.94) - 1.41).abs() < 0.01);
    }

    #[test]
    fn without_sharing_it_is_the_number_of_nodes() {
        assert_eq!(speed_up(3.0, 8, 0.0), 8.0);
        assert!(speed_up(3.0, 8, 0.1) < 8.0);
        assert!(speed_up(0.01, 8, 0.1) < 1.0);
    }
}
