//! Runs sqllogictest files on datafusion-streaming.

use std::process::ExitCode;

use datafusion_streaming_sqllogictest::StreamingEngine;
use datafusion_streaming_sqllogictest::cli::{self, Options};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprint!("slt: {error}\n\n{}", cli::USAGE);
            return ExitCode::from(2);
        }
    };
    match cli::run(StreamingEngine::default(), &options, &mut std::io::stdout()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("slt: {error}");
            ExitCode::from(2)
        }
    }
}
