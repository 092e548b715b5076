//! What runs take, and the table that compares it with Flink.

use std::fmt::Write;

use datafusion::common::{Result, exec_datafusion_err};
use serde_json::{Value, json};

/// The measured runs of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The query's name.
    pub job: String,
    /// The events of a run.
    pub events: u64,
    /// Seconds of each run, ascending.
    pub wall_s: Vec<f64>,
    /// The changes that a run wrote.
    pub rows: u64,
}

impl Measured {
    /// The runs of a job, in any order.
    pub fn new(job: &str, events: u64, mut wall_s: Vec<f64>, rows: u64) -> Self {
        wall_s.sort_by(f64::total_cmp);
        Measured { job: job.to_string(), events, wall_s, rows }
    }

    /// Seconds of the median run.
    pub fn median(&self) -> f64 {
        self.wall_s.get(self.wall_s.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn range(&self) -> (f64, f64) {
        let at = |index: usize| self.wall_s.get(index).copied().unwrap_or(f64::NAN);
        (at(0), at(self.wall_s.len().saturating_sub(1)))
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        json!({"job": self.job, "events": self.events, "wall_s": self.wall_s, "rows": self.rows}).to_string()
    }

    /// Reads what [`Measured::to_json`] wrote. Errors where it is something else.
    pub fn from_json(line: &str) -> Result<Self> {
        let other = || exec_datafusion_err!("this is no line of measurements: {line}");
        let value: Value = serde_json::from_str(line).map_err(|_| other())?;
        let read = || {
            let wall_s = value["wall_s"].as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
            let (events, rows) = (value["events"].as_u64()?, value["rows"].as_u64()?);
            Some(Measured::new(value["job"].as_str()?, events, wall_s, rows))
        };
        read().ok_or_else(other)
    }

    /// Reads a line of the Flink harness's `results.csv`: name, events, runs, wall seconds (best, median,
    /// worst), CPU seconds (the same), other load, peak memory, changes. Errors where it is something else.
    pub fn from_flink(line: &str) -> Result<Self> {
        let other = || exec_datafusion_err!("this is no line of Flink's results.csv: {line}");
        let fields: Vec<&str> = line.split(',').collect();
        let [job, events, _, best, median, worst, .., counts] = fields.as_slice() else {
            return Err(other());
        };
        let seconds = |text: &str| text.parse::<f64>().map_err(|_| other());
        let count = |text: &str| text.parse::<u64>().map_err(|_| other());
        let rows = counts.split(' ').map(count).sum::<Result<u64>>()?;
        Ok(Measured::new(job, count(events)?, vec![seconds(best)?, seconds(median)?, seconds(worst)?], rows))
    }
}

/// A job that was measured on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared<'a> {
    /// Ours.
    pub ours: &'a Measured,
    /// Flink's.
    pub flink: &'a Measured,
}

impl Compared<'_> {
    /// How many times as long Flink takes, by the medians; of different numbers of events by event.
    pub fn ratio(&self) -> f64 {
        let scale = self.ours.events as f64 / self.flink.events as f64;
        self.flink.median() * scale / self.ours.median()
    }
}

/// The jobs that were measured on both sides, in the order of ours. Of a job with several measurements the
/// last counts.
pub fn compared<'a>(ours: &'a [Measured], flink: &'a [Measured]) -> Vec<Compared<'a>> {
    let last = |side: &'a [Measured], job: &str| side.iter().rfind(|measured| measured.job == job);
    let is_first = |place: usize| !ours[..place].iter().any(|before| before.job == ours[place].job);
    let jobs = (0..ours.len()).filter(|place| is_first(*place)).map(|place| ours[place].job.as_str());
    jobs.filter_map(|job| Some(Compared { ours: last(ours, job)?, flink: last(flink, job)? })).collect()
}

/// The geometric mean of the ratios.
pub fn mean(jobs: &[Compared<'_>]) -> f64 {
    (jobs.iter().map(|job| job.ratio().ln()).sum::<f64>() / jobs.len() as f64).exp()
}

/// A Markdown table of jobs with the ratios of their medians and the geometric mean of these.
pub fn table(jobs: &[Compared<'_>]) -> String {
    let mut text = String::from(
        "| job | events | ours, s (best–worst) | M events/s | Flink, s (best–worst) | ratio |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for job in jobs {
        let Compared { ours, flink } = job;
        let ((best, worst), (flink_best, flink_worst)) = (ours.range(), flink.range());
        let _ = writeln!(
            text,
            "| {} | {:.1}M | {:.3} ({best:.3}–{worst:.3}) | {:.1} | {:.2} ({flink_best:.2}–{flink_worst:.2}) | {:.1} |",
            ours.job,
            ours.events as f64 / 1e6,
            ours.median(),
            ours.events as f64 / 1e6 / ours.median(),
            flink.median(),
            job.ratio(),
        );
    }
    let _ = writeln!(text, "\nGeometric mean of {} ratios: {:.1}.", jobs.len(), mean(jobs));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_survive_their_json() {
        let measured = Measured::new("gb_64", 5_000_000, vec![0.3, 0.1, 0.2], 5);
        assert_eq!(measured.median(), 0.2);
        assert_eq!(Measured::from_json(&measured.to_json()).unwrap(), measured);
        assert!(Measured::from_json("{}").is_err());
    }

    #[test]
    fn the_table_has_what_both_sides_measured() {
        let flink =
            Measured::from_flink("gb_64,5000000,5,1.990,2.240,3.810,3.1,3.56,4.0,0.61,1627,64 0 4999936 0")
                .unwrap();
        assert_eq!((flink.median(), flink.rows), (2.24, 5_000_000));
        let ours = [
            Measured::new("gb_64", 5_000_000, vec![0.224], 5_000_000),
            Measured::new("other", 1, vec![1.0], 1),
        ];
        assert_eq!(
            table(&compared(&ours, &[flink])),
            "| job | events | ours, s (best–worst) | M events/s | Flink, s (best–worst) | ratio |\n\
             |---|---:|---:|---:|---:|---:|\n\
             | gb_64 | 5.0M | 0.224 (0.224–0.224) | 22.3 | 2.24 (1.99–3.81) | 10.0 |\n\n\
             Geometric mean of 1 ratios: 10.0.\n"
        );
    }
}
