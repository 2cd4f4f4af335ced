//! The rules of policies and versions, in words.

/// Returns the rule of a policy, or of a version of a super-program.
pub fn policy(name: &str, version: bool) -> &'static str {
    match (name, version) {
        ("S", true) => "simple update: one node writes a result, and takes the next untouched result",
        ("R", true) => {
            "remote update: nodes without untouched results send their contributions to the node of a result"
        }
        ("D", true) => "distributed update: nodes without untouched results share results, whose parts are merged",
        ("M", true) => "mixture: as S until no result is untouched, then as D",
        ("G", true) => "as S, and a node prefers results whose operands it has used (schedule SSP)",
        ("N", true) => "as M, and a node prefers results whose operands it has used (schedule SSP)",
        ("R ssp", true) => "as R, and a node prefers results whose operands it has used",
        ("D ssp", true) => "as D, and a node prefers results whose operands it has used",
        ("syn", _) => {
            "synchronous: as S, but in each step every node runs one instruction, and all wait for the slowest"
        }
        ("S", _) => "static: each node computes its own part of the result",
        ("R", _) => "random: a free node takes any untouched block of the result",
        ("SR", _) => {
            "smart, random seed: it takes one in a row and a column that it has worked in; the first is random"
        }
        ("SS", _) => "smart, static seed: as SR, but the first is of its own part",
        ("tail", _) => "as S; a node that has completed its part joins the block with most instructions left",
        ("ect", _) => "as tail, by earliest completion time: slow nodes leave the last instructions to faster ones",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::own::name;
    use super::*;
    use aurora_super::Policy;
    use aurora_super::sim::SuperProgram;

    #[test]
    fn each_policy_and_version_is_explained() {
        for (known, _) in Policy::ALL {
            assert!(!policy(known, false).is_empty(), "{known}");
        }
        for smart in [false, true] {
            for version in SuperProgram::ALL {
                let known = name(&SuperProgram { smart, ..version });
                assert!(!policy(known, true).is_empty(), "{known}");
            }
        }
    }
}
