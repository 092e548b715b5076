//! Runs the files under `test_files` in every mode, two at a time; in the mode `disk` only where there is a folder in memory
//! for it.
//!
//! Each suite may have a `pending.txt`, the list of what is known not to pass yet: anything else that
//! fails fails the test, and so does anything listed that passes, if it does so in several runs. An argument runs only the files
//! whose name contains it (answers in `open.txt` depend on timing and are not judged): `cargo test --test suites -- sum_avg`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion_streaming_sqllogictest::{
    FileReport, MEMORY_FOLDER, Mode, Pending, Runner, StreamingEngine, slt_files,
};
use futures::{StreamExt, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SUITES: [&str; 2] = ["flink", "streaming"];
const JOBS: usize = 2;

/// How often a file is run again before what contradicts its list counts. In which order two inputs are
/// read, or partitions come together, is open, and a few answers depend on it.
const MORE_RUNS: usize = 4;

/// How many tests, a file in a mode each, ended how.
#[derive(Default)]
struct Summary {
    passed: usize,
    failed: usize,
    filtered_out: usize,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    if !Path::new(MEMORY_FOLDER).is_dir() {
        println!("without the mode disk: there is no {MEMORY_FOLDER}");
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let mut summary = Summary::default();
    for suite in SUITES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_files").join(suite);
        if let Err(error) = run_suite(&folder, filter.map_or("", String::as_str), &mut summary).await {
            println!("{error}");
            summary.failed += 1;
        }
    }
    let Summary { passed, failed, filtered_out } = summary;
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {filtered_out} filtered out\n"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the files of a suite whose name contains `filter`.
async fn run_suite(folder: &Path, filter: &str, summary: &mut Summary) -> Result<()> {
    let pending = Pending::read(&folder.join("pending.txt"))?;
    for file in pending.files().filter(|file| !folder.join(file).is_file()) {
        println!("{} is in the pending list, but there is no such file", file.display());
        summary.failed += 1;
    }
    // answers that are known to depend on timing are not judged
    let open = std::fs::read_to_string(folder.join("open.txt")).unwrap_or_default();
    let open: Vec<String> =
        open.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line} ")).collect();
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let all = slt_files([folder])?;
    let files: Vec<PathBuf> = all.iter().filter(|path| name(path).contains(filter)).cloned().collect();
    summary.filtered_out += (all.len() - files.len()) * modes().count();

    let runner = Arc::new(Runner::new(StreamingEngine::default()));
    let runs = files.iter().flat_map(|path| modes().map(move |mode| (path.clone(), mode)));
    let mut reports = stream::iter(runs)
        .map(|(path, mode)| {
            let runner = Arc::clone(&runner);
            tokio::spawn(async move { runner.run(&path, mode).await })
        })
        .buffered(JOBS);
    while let Some(report) = reports.next().await {
        let report = report.map_err(|error| datafusion::error::DataFusionError::External(Box::new(error)))?;
        let mut contradictions = pending.contradictions(folder, &report)?;
        contradictions.retain(|contradiction| {
            let relative =
                contradiction.strip_prefix(&format!("{}/", folder.display())).unwrap_or(contradiction);
            !open.iter().any(|open| relative.starts_with(open.as_str()))
        });
        for _ in 0..MORE_RUNS {
            if contradictions.is_empty() {
                break;
            }
            let again = runner.run(&report.path, report.mode).await;
            let again = pending.contradictions(folder, &again)?;
            contradictions
                .retain(|contradiction| again.iter().any(|other| place(other) == place(contradiction)));
        }
        let ok = contradictions.is_empty();
        println!("test {} {} ... {}", name(&report.path), report.mode, outcome(&report, ok));
        for contradiction in contradictions {
            println!("{contradiction}\n");
        }
        *if ok { &mut summary.passed } else { &mut summary.failed } += 1;
    }
    Ok(())
}

/// All modes; without [`Mode::Disk`] where its files would go to a disk, which takes ten times as long.
fn modes() -> impl Iterator<Item = Mode> {
    let has_memory_folder = Path::new(MEMORY_FOLDER).is_dir();
    Mode::ALL.into_iter().filter(move |mode| *mode != Mode::Disk || has_memory_folder)
}

/// What a contradiction is about: its record and mode.
fn place(contradiction: &str) -> &str {
    contradiction.split_once(']').map_or(contradiction, |(place, _)| place)
}

fn outcome(report: &FileReport, ok: bool) -> String {
    let (passed, failed) = (report.passed(), report.failures().count());
    let what = if ok { "ok" } else { "FAILED" };
    format!("{what} ({passed} passed, {failed} failed)")
}
