use super::*;
use crate::nand::PageType;
use crate::profile::load;
use flashlane_base::Seed;

#[test]
fn gc_moves_flash_pages_then_erases() {
    let config = load("msr-32g", &[]).expect("a shipped profile");
    let timing = Timing::new(&config, Seed(1));
    let steps = GcStepRules { copyback: true, preemptible: true, units_per_program: 4, unit_bytes: 4096 };
    let gc = Gc {
        moves: 6,
        pages_read: 4,
        summaries: 0,
        erases: 1,
        moved_from: PageType::MEAN,
        planes: 1,
        is_paced_step: false,
    };
    let (mut left, mut seen) = (gc, Vec::new());
    loop {
        let (step, time) = steps.next(&left, false, &timing);
        seen.push((step, time.total()));
        if step == GcStep::Erase {
            break;
        }
        assert!(!steps.page_moved(&mut left), "an erase is left");
    }
    let (read, program, erase) = (timing.read, timing.program, timing.erase);
    let pages = [(GcStep::Move, read * 3 + program), (GcStep::Move, read + program)];
    assert_eq!(seen, [pages[0], pages[1], (GcStep::Erase, erase)]);
    let whole = GcStepRules { preemptible: false, ..steps };
    let all = ArrayTime { read: read * 4, program: program * 2, erase };
    assert_eq!(whole.next(&gc, false, &timing), (GcStep::Whole, all));
    let mut step = Gc { moves: 4, pages_read: 4, erases: 0, is_paced_step: true, ..gc };
    assert!(steps.page_moved(&mut step));
}
