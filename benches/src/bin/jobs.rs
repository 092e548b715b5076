//! Runs the jobs: `jobs [OPTIONS] [NAME…]`, or prints the table or the picture that compares them with Flink:
//! `jobs --table OURS.jsonl FLINK.csv`, `jobs --plot …`.

#![expect(clippy::disallowed_methods, reason = "what a run takes is wall-clock time")]

use std::process::ExitCode;
use std::time::Instant;

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion_streaming_benches::jobs::{Job, Memory, Source};
use datafusion_streaming_benches::plot::svg;
use datafusion_streaming_benches::queries::Query;
use datafusion_streaming_benches::report::{Measured, compared, table};
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: jobs [OPTIONS] [NAME…]              run the jobs (all, where none is named); one JSON line a job
       jobs --list                         the names
       jobs --table OURS.jsonl FLINK.csv   compare with the results.csv of the Flink harness
       jobs --plot OURS.jsonl FLINK.csv    the same as a picture (SVG)
  --events N       events of a run (the job's own number)
  --runs N         measured runs, after one that is not (5)
  --parallelism N  partitions, and threads (1)
  --generate       generate the rows within the run, as Flink's harness does; else they are in memory
  --memory MIB     bytes of memory for state, in MiB (no limit)
  --disk           state that is larger goes to disk
  --explain        print the plans and run nothing";

struct Options {
    events: Option<u64>,
    runs: usize,
    parallelism: usize,
    source: Source,
    memory: Memory,
    explain: bool,
    queries: Vec<Query>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [command] if command == "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        [command] if command == "--list" => {
            Query::all().for_each(|query| println!("{}", query.name));
            Ok(())
        }
        [command, ours, flink] if command == "--table" || command == "--plot" => {
            let (ours, flink) = (lines(ours, Measured::from_json)?, lines(flink, Measured::from_flink)?);
            let jobs = compared(&ours, &flink);
            print!("{}", if command == "--plot" { svg(&jobs) } else { table(&jobs) });
            Ok(())
        }
        _ => measure(&parse(arguments)?),
    }
}

fn lines(path: &str, read: impl Fn(&str) -> Result<Measured>) -> Result<Vec<Measured>> {
    let text = std::fs::read_to_string(path).map_err(|error| exec_datafusion_err!("{path}: {error}"))?;
    text.lines().map(read).collect()
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        events: None,
        runs: 5,
        parallelism: 1,
        source: Source::Memory,
        memory: Memory::default(),
        explain: false,
        queries: vec![],
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || {
            let value = rest.next().and_then(|value| value.parse::<u64>().ok()).filter(|value| *value > 0);
            value.ok_or_else(|| exec_datafusion_err!("{argument} needs a positive number"))
        };
        match argument.as_str() {
            "--events" => options.events = Some(number()?),
            "--runs" => options.runs = number()? as usize,
            "--parallelism" => options.parallelism = number()? as usize,
            "--generate" => options.source = Source::Generator,
            "--memory" => options.memory.limit = Some((number()? as usize) << 20),
            "--disk" => options.memory.disk = true,
            "--explain" => options.explain = true,
            name => match Query::named(name) {
                Some(query) => options.queries.push(*query),
                None => return exec_err!("there is no job or option {name}"),
            },
        }
    }
    if options.queries.is_empty() {
        options.queries = Query::all().copied().collect();
    }
    Ok(options)
}

fn measure(options: &Options) -> Result<()> {
    let mut builder = match options.parallelism {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(options.parallelism).enable_all().build();
    let runtime = runtime.map_err(|error| exec_datafusion_err!("no runtime: {error}"))?;
    for query in &options.queries {
        let events = options.events.unwrap_or(query.events);
        let job = Job::with_memory(*query, events, options.source, options.parallelism, options.memory);
        let job = runtime.block_on(job)?;
        if options.explain {
            println!("{}\n{}\n", query.name, runtime.block_on(job.explain())?);
            continue;
        }
        let mut rows = runtime.block_on(job.run())?;
        let mut wall_s = vec![];
        for _ in 0..options.runs {
            let start = Instant::now();
            rows = runtime.block_on(job.run())?;
            wall_s.push(start.elapsed().as_secs_f64());
        }
        println!("{}", Measured::new(query.name, events, wall_s, rows as u64).to_json());
    }
    Ok(())
}
