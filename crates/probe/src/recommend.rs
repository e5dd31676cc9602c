//! The stages of the survey that end in a recommendation: reads in parallel, scans, writes in parallel.

use crate::advice::{self, Choice};
use crate::chunk::Area;
use crate::confirm::{self, Measured};
use crate::grid::{Cell, Grid, Ground};
use crate::load::Load;
use crate::options::Effort;
use crate::rig::Rig;
use crate::survey::{FILL_BYTES, Survey};
use crate::words;
use crate::writes::{self, Before};
use flashlane_measure::Interruption;
use flashlane_result::probe::{Finding, Recommendation, Status};

/// The part of a drive that is written for reads to be measured on, where the drive was not written before: several
/// times what a drive caches.
const GROUND_BYTES: u64 = 512 << 20;

/// A point; where none meets the bound on the latency, the one that comes nearest and what it showed.
type Chosen = Result<Choice, (Cell, Measured)>;

impl Survey<'_, '_> {
    /// Advice on random reads and on scans.
    pub(crate) fn advise_on_reads(&mut self) -> Result<(), Interruption> {
        let ground = self.prepare_ground()?;
        for load in [Load::RandomRead, Load::Scan] {
            let lead_in_bytes = if load == Load::Scan { 4 << 20 } else { 0 };
            let budget = self.budget;
            let mut confirm =
                |rig: &mut Rig<'_>, cell: &Cell| confirm::reads(rig, load, ground, budget, cell);
            let area = ground.unwrap_or(self.whole());
            self.advise(
                load,
                Ground { area, bytes_each: self.bytes_each(), lead_in_bytes },
                ground,
                &mut confirm,
            )?;
        }
        Ok(())
    }

    /// Advice on random writes, all over the device; `buffer` is the finding on the write buffer, and `page_bytes` the page's
    /// size, or a usual one.
    pub(crate) fn advise_on_writes(&mut self, buffer: &Finding, page_bytes: u64) -> Result<(), Interruption> {
        let buffer_bytes = match buffer.status {
            Status::Found => buffer.number(),
            Status::Absent => Some(0),
            Status::NotDetermined => None,
        };
        let stale_bytes = self.rig.changed().stale_bytes(page_bytes);
        let (effort, budget) = (self.effort, self.budget);
        let mut before =
            Before { effort, budget, buffer_bytes, stale_bytes, written_bytes: 0, steady_since_bytes: 0 };
        let ground = Ground {
            area: self.whole(),
            bytes_each: self.bytes_each(),
            lead_in_bytes: before.lead_in_bytes(),
        };
        let filled = self.is_filled.then_some(ground.area);
        self.warn_of_random_writes();
        let size = self.page_bytes.unwrap_or(writes::SIZE_BYTES).next_multiple_of(self.rig.unit_bytes(true));
        writes::settle(&mut self.rig, &mut before, size)?;
        let (mut grid, mut chosen) = self.choose_writes(ground, &mut before)?;
        let mut rates = None;
        for attempt in 1.. {
            let Ok(choice) = &mut chosen else { break };
            let estimate = choice.measured.bandwidth_bytes_per_s;
            choice.measured = writes::sustained(&mut self.rig, &mut before, &choice.cell, page_bytes)?;
            // The choice was made on a drive that could not keep up what it showed: now it is worn, so choose again.
            if choice.measured.bandwidth_bytes_per_s >= writes::KEPT_UP * estimate
                || attempt == writes::CHOICES
            {
                break;
            }
            (grid, chosen) = self.choose_writes(ground, &mut before)?;
        }
        if let Ok(choice) = &mut chosen {
            let burst = writes::burst(&mut self.rig, &mut before, &choice.cell)?;
            // A buffer that takes a burst no faster than flash takes writes is of no use to know.
            let burst = burst.filter(|burst| {
                burst.bandwidth_bytes_per_s > writes::BURST_GAIN * choice.measured.bandwidth_bytes_per_s
            });
            rates = Some(writes::both(&choice.measured, before, burst));
        }
        self.record(&grid, chosen, filled);
        if let (Some(rates), Some(point)) = (rates, self.recommendation.get_mut(Load::RandomWrite.name())) {
            point.reason += &words::of_writes(&rates, self.capacity_bytes);
            point.writes = Some(rates);
        }
        Ok(())
    }

    /// Chooses a point of random writes by short measurements of the drive as it is now.
    fn choose_writes(&mut self, ground: Ground, before: &mut Before) -> Result<(Grid, Chosen), Interruption> {
        let mut grid = self.grid(Load::RandomWrite, ground, self.page_bytes)?;
        before.written_bytes += grid.written_bytes;
        let mut confirm = |rig: &mut Rig<'_>, cell: &Cell| writes::once(rig, before, cell);
        let chosen = self.choose(&mut grid, &mut confirm)?;
        Ok((grid, chosen))
    }

    fn advise(
        &mut self,
        load: Load,
        ground: Ground,
        area: Option<Area>,
        confirm: &mut advice::Confirm<'_>,
    ) -> Result<(), Interruption> {
        // A scan reads as much at a time as suits the drive, whatever the size of a page.
        let page_bytes = self.page_bytes.filter(|_| load != Load::Scan);
        let mut grid = self.grid(load, ground, page_bytes)?;
        let chosen = self.choose(&mut grid, confirm)?;
        self.record(&grid, chosen, area);
        Ok(())
    }

    fn grid(&mut self, load: Load, ground: Ground, page_bytes: Option<u64>) -> Result<Grid, Interruption> {
        Grid::measure(&mut self.rig, load, ground, page_bytes, self.budget.cell)
    }

    fn choose(&mut self, grid: &mut Grid, confirm: &mut advice::Confirm<'_>) -> Result<Chosen, Interruption> {
        match self.p99.filter(|_| grid.load != Load::Scan) {
            Some(bound) => advice::within(&mut self.rig, grid, bound.as_ns() as f64, confirm),
            None => advice::cheapest(&mut self.rig, grid, confirm).map(Ok),
        }
    }

    /// Keeps what was chosen; where no point meets the bound, that is a piece of advice.
    fn record(&mut self, grid: &Grid, chosen: Chosen, area: Option<Area>) {
        self.figures.push(grid.figure());
        let bound = self.p99.filter(|_| grid.load != Load::Scan);
        match chosen {
            Ok(choice) => {
                let recommendation = self.recommendation_of(&choice, bound.is_some(), area);
                self.recommendation.insert(grid.load.name().into(), recommendation);
            }
            Err((cell, measured)) => {
                let bound = bound.expect("only a bound can be missed");
                self.advice.push(words::bound_missed(grid.load, bound, &cell, &measured));
            }
        }
    }

    fn recommendation_of(&self, choice: &Choice, bounded: bool, area: Option<Area>) -> Recommendation {
        let Choice { cell, measured, .. } = choice;
        Recommendation {
            request_bytes: cell.size,
            queue_depth: cell.depth,
            bandwidth_bytes_per_s: measured.bandwidth_bytes_per_s.round(),
            iops: measured.iops.round(),
            p50_ns: measured.p50_ns,
            p99_ns: measured.p99_ns,
            requests: measured.requests,
            steady: measured.steady,
            p99_bound_ns: self.p99.filter(|_| bounded).map(|bound| bound.as_ns() as f64),
            more_may_be_better: choice.deeper_may_be_better || choice.larger_may_be_better,
            state: self.state.name().into(),
            area_bytes: area.map(|area| area.length_bytes),
            workload: measured.workload.clone(),
            command: None,
            writes: None,
            reason: words::reason(choice, self.p99.filter(|_| bounded), area, self.state),
        }
    }

    /// Where reads are measured: the whole device where it was written, else a part that the probe writes. `None` is the
    /// whole device.
    fn prepare_ground(&mut self) -> Result<Option<Area>, Interruption> {
        if !self.may_write || self.state.is_written() {
            return Ok(None);
        }
        let filled = self.area.length_bytes;
        let wanted = GROUND_BYTES.min(self.capacity_bytes * 3 / 4) / FILL_BYTES * FILL_BYTES;
        if wanted > filled {
            self.rig.fill(filled, wanted - filled, FILL_BYTES)?;
        }
        Ok(Some(Area { offset_bytes: 0, length_bytes: wanted.max(filled) }))
    }

    fn whole(&self) -> Area {
        Area { offset_bytes: 0, length_bytes: self.capacity_bytes }
    }

    fn bytes_each(&self) -> u64 {
        if self.effort == Effort::Quick { 4 << 20 } else { 16 << 20 }
    }
}
