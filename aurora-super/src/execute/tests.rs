use super::*;

#[test]
fn no_operand_is_dropped_for_the_other() {
    let (program, speeds) = (crate::Product::new(3, 1, 3).unwrap(), [1e-9, 1.0]);
    let parts = Parts::by_speed(&speeds).unwrap();
    let limits = Limits { budget: Some(3), ..Limits::ONE };
    let mut node = Execute::new(0, program, &parts, owners(&program, &parts), limits);
    let mut fetched = Vec::new();
    // A of row 0 with B of columns 0 and 1, then A of row 1 with B of column 0: this B is the oldest copy here, and
    // needed.
    for group in [0, 1, 3] {
        let what = Run { group, run: 0..1, attempt: 0 };
        let grant = Grant { what, privilege: Privilege::Write, result_at: 0, value_at: None, joins: false };
        let mut out = Vec::new();
        node.handle(Event::Order(Order::Grant(grant)), &mut out);
        while let Some(at) = out.iter().position(|command| matches!(command, Command::Fetch { .. } | Command::Run(_))) {
            match out.remove(at) {
                Command::Fetch { block, .. } => {
                    fetched.push(block);
                    node.handle(Event::Arrived(block), &mut out);
                }
                Command::Run(task) => node.handle(Event::Ran { instruction: task.instruction, took: 0 }, &mut out),
                _ => {}
            }
        }
    }
    assert_eq!(fetched, [0, 3, 4, 1]);
}

#[test]
fn a_modifier_on_its_way_to_a_lost_node_does_not_stop_its_sender() {
    let (program, parts) = (crate::Product::new(1, 2, 1).unwrap(), Parts::by_speed(&[1.0; 2]).unwrap());
    let mut node = Execute::new(0, program, &parts, owners(&program, &parts), Limits::ONE);
    let (what, mut out) = (Run { group: 0, run: 0..1, attempt: 0 }, Vec::new());
    let grant = Grant { what, privilege: Privilege::RemoteUpdate, result_at: 1, value_at: None, joins: false };
    node.handle(Event::Order(Order::Grant(grant)), &mut out);
    while let Some(at) = out.iter().position(|command| matches!(command, Command::Fetch { .. })) {
        let Command::Fetch { block, .. } = out.remove(at) else { unreachable!("it is one") };
        node.handle(Event::Arrived(block), &mut out);
    }
    let [Command::Run(task)] = out[..] else { panic!("{out:?}") };
    out.clear();
    node.handle(Event::Order(Order::Lost(1)), &mut out);
    assert_eq!((&out[..], node.running()), (&[][..], 1));
    node.handle(Event::Ran { instruction: task.instruction, took: 0 }, &mut out);
    assert!(out.contains(&Command::Report(Report::Ask)) && node.running() == 0, "{out:?}");
}

#[test]
fn an_instruction_takes_little_memory_and_only_while_it_is_in_flight() {
    assert!(size_of::<Flight>() + size_of::<Granted>() <= 200);
}
