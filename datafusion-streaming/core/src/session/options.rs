//! Flink's option keys and the extension's own.

use datafusion::common::config::{ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::prelude::SessionContext;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::time::LocalZone;

use crate::formats::suggestion;
use crate::sql::parse_duration;

/// What an option of Flink's is here.
enum Meaning {
    /// An option of the extension, with the same values.
    Same(&'static str),
    /// An option of the extension in milliseconds; Flink's value is a duration.
    Duration(&'static str),
    /// A [`RestartStrategy`](datafusion_streaming_physical_plan::config::RestartStrategy) under any of Flink's
    /// names.
    Restart,
    /// The number of restarts, or Flink's `infinite`.
    Attempts,
    /// The number of partitions.
    Parallelism,
    /// The session's time zone.
    Zone,
    /// Accepted: what it sets is so here anyway, or has no counterpart.
    Accepted,
    /// Accepted with these values; another is an error.
    Only(&'static [&'static str]),
}

/// The options of Flink's that `SET` knows.
const FLINK_OPTIONS: &[(&str, Meaning)] = &[
    ("execution.checkpointing.dir", Meaning::Same("checkpoint_dir")),
    ("execution.checkpointing.incremental", Meaning::Accepted),
    ("execution.checkpointing.interval", Meaning::Duration("checkpoint_interval")),
    ("execution.checkpointing.max-concurrent-checkpoints", Meaning::Only(&["1"])),
    ("execution.checkpointing.min-pause", Meaning::Duration("checkpoint_min_pause")),
    ("execution.checkpointing.mode", Meaning::Only(&["exactly_once"])),
    ("execution.checkpointing.num-retained", Meaning::Same("checkpoints_retained")),
    ("execution.checkpointing.savepoint-dir", Meaning::Same("savepoint_dir")),
    ("execution.checkpointing.timeout", Meaning::Duration("checkpoint_timeout")),
    ("execution.checkpointing.unaligned.enabled", Meaning::Only(&["false"])),
    ("execution.runtime-mode", Meaning::Only(&["streaming"])),
    ("execution.savepoint.ignore-unclaimed-state", Meaning::Same("ignore_unclaimed_state")),
    ("execution.savepoint.path", Meaning::Same("restore_path")),
    ("execution.state-recovery.ignore-unclaimed-state", Meaning::Same("ignore_unclaimed_state")),
    ("execution.state-recovery.path", Meaning::Same("restore_path")),
    ("parallelism.default", Meaning::Parallelism),
    ("pipeline.auto-watermark-interval", Meaning::Accepted),
    ("pipeline.name", Meaning::Same("job_name")),
    ("pipeline.object-reuse", Meaning::Accepted),
    ("restart-strategy", Meaning::Restart),
    ("restart-strategy.exponential-delay.attempts-before-reset-backoff", Meaning::Attempts),
    ("restart-strategy.exponential-delay.backoff-multiplier", Meaning::Same("restart_backoff_multiplier")),
    ("restart-strategy.exponential-delay.initial-backoff", Meaning::Duration("restart_initial_backoff")),
    ("restart-strategy.exponential-delay.jitter-factor", Meaning::Same("restart_jitter_factor")),
    ("restart-strategy.exponential-delay.max-backoff", Meaning::Duration("restart_max_backoff")),
    (
        "restart-strategy.exponential-delay.reset-backoff-threshold",
        Meaning::Duration("restart_reset_threshold"),
    ),
    ("restart-strategy.fixed-delay.attempts", Meaning::Same("restart_attempts")),
    ("restart-strategy.fixed-delay.delay", Meaning::Duration("restart_delay")),
    ("restart-strategy.type", Meaning::Restart),
    ("sql-client.execution.max-table-result.rows", Meaning::Accepted),
    ("sql-client.execution.result-mode", Meaning::Same("result_mode")),
    ("state.backend", Meaning::Same("state_backend")),
    ("state.backend.incremental", Meaning::Accepted),
    ("state.backend.local-dir", Meaning::Same("state_local_dir")),
    ("state.backend.rocksdb.localdir", Meaning::Same("state_local_dir")),
    ("state.backend.type", Meaning::Same("state_backend")),
    ("state.checkpoints.dir", Meaning::Same("checkpoint_dir")),
    ("state.checkpoints.num-retained", Meaning::Same("checkpoints_retained")),
    ("state.savepoints.dir", Meaning::Same("savepoint_dir")),
    ("table.dml-sync", Meaning::Accepted),
    ("table.exec.async-lookup.buffer-capacity", Meaning::Same("lookup_concurrency")),
    ("table.exec.async-lookup.output-mode", Meaning::Accepted),
    ("table.exec.async-lookup.timeout", Meaning::Duration("lookup_timeout")),
    (
        "table.exec.deduplicate.mini-batch.compact-changes-enabled",
        Meaning::Same("deduplicate_compact_changes"),
    ),
    ("table.exec.emit.allow-lateness", Meaning::Duration("emit_allow_lateness")),
    ("table.exec.emit.early-fire.delay", Meaning::Duration("emit_early_fire_delay")),
    ("table.exec.emit.early-fire.enabled", Meaning::Same("emit_early_fire")),
    ("table.exec.emit.late-fire.delay", Meaning::Duration("emit_late_fire_delay")),
    ("table.exec.emit.late-fire.enabled", Meaning::Same("emit_late_fire")),
    ("table.exec.mini-batch.allow-latency", Meaning::Duration("mini_batch_latency")),
    ("table.exec.mini-batch.enabled", Meaning::Same("mini_batch")),
    ("table.exec.mini-batch.size", Meaning::Same("mini_batch_size")),
    ("table.exec.resource.default-parallelism", Meaning::Parallelism),
    ("table.exec.sink.upsert-materialize", Meaning::Same("upsert_materialize")),
    ("table.exec.source.cdc-events-duplicate", Meaning::Same("cdc_events_duplicate")),
    ("table.exec.source.idle-timeout", Meaning::Duration("source_idle_timeout")),
    ("table.exec.state.ttl", Meaning::Duration("state_ttl")),
    ("table.local-time-zone", Meaning::Zone),
    ("table.optimizer.agg-phase-strategy", Meaning::Same("agg_phase_strategy")),
    ("table.optimizer.distinct-agg.split.bucket-num", Meaning::Same("distinct_agg_buckets")),
    ("table.optimizer.distinct-agg.split.enabled", Meaning::Same("distinct_agg_split")),
    ("table.optimizer.multi-join.enabled", Meaning::Accepted),
    ("table.optimizer.non-deterministic-update.strategy", Meaning::Same("non_deterministic_update")),
    ("table.sql-dialect", Meaning::Only(&["default"])),
];

/// The options of the extension that `SET` takes as durations, such as `5 s`.
const OWN_DURATIONS: &[&str] = &["window.allowed_lateness"];

/// `SET 'key' = 'value'`.
pub(super) fn set(ctx: &SessionContext, key: &str, value: &str) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    apply(state.config_mut().options_mut(), key, value)
}

fn apply(config: &mut ConfigOptions, key: &str, value: &str) -> Result<()> {
    if let Some(own) = key.strip_prefix("streaming.") {
        let result = match OWN_DURATIONS.contains(&own) {
            true => parse_duration(value).and_then(|millis| set_own(config, own, &millis.to_string())),
            false => set_own(config, own, value),
        };
        return result.map_err(|error| error.context(format!("SET '{key}'")));
    }
    let Some((_, meaning)) = FLINK_OPTIONS.iter().find(|(name, _)| *name == key) else {
        if key.starts_with("datafusion.") {
            return config.set(key, value);
        }
        let near = suggestion(key, FLINK_OPTIONS.iter().map(|(name, _)| *name));
        return plan_err!("there is no option '{key}'; {near}");
    };
    let result = match meaning {
        Meaning::Same(own) => set_own(config, own, value),
        Meaning::Duration(own) => {
            parse_duration(value).and_then(|millis| set_own(config, own, &millis.to_string()))
        }
        Meaning::Restart => match value.to_ascii_lowercase().as_str() {
            "none" | "off" | "disable" => set_own(config, "restart_strategy", "none"),
            "fixeddelay" | "fixed-delay" => set_own(config, "restart_strategy", "fixed-delay"),
            "exponentialdelay" | "exponential-delay" => {
                set_own(config, "restart_strategy", "exponential-delay")
            }
            _ => plan_err!("'{value}' is not one of none, fixed-delay, exponential-delay"),
        },
        Meaning::Attempts if value.eq_ignore_ascii_case("infinite") => {
            set_own(config, "restart_attempts_before_reset", "0")
        }
        Meaning::Attempts => set_own(config, "restart_attempts_before_reset", value),
        Meaning::Parallelism => match value.parse::<i64>() {
            Ok(-1) => set_own(config, "parallelism", "0"),
            Ok(partitions @ 1..=128) => set_own(config, "parallelism", &partitions.to_string()),
            _ => plan_err!("'{value}' is not a number of partitions from 1 to 128"),
        },
        Meaning::Zone => LocalZone::parse(value).and_then(|_| set_own(config, "local_time_zone", value)),
        Meaning::Accepted => Ok(()),
        Meaning::Only(values) if values.iter().any(|known| known.eq_ignore_ascii_case(value)) => Ok(()),
        Meaning::Only(values) => plan_err!("'{value}' is not one of {}", values.join(", ")),
    };
    result.map_err(|error| error.context(format!("SET '{key}'")))
}

fn set_own(config: &mut ConfigOptions, key: &str, value: &str) -> Result<()> {
    let options = config
        .extensions
        .get_mut::<StreamingOptions>()
        .ok_or_else(|| plan_datafusion_err!("the streaming extension is not installed in this session"))?;
    let known: Vec<String> =
        options.entries().into_iter().map(|entry| format!("streaming.{}", entry.key)).collect();
    let full = format!("streaming.{key}");
    if !known.contains(&full) {
        let near = suggestion(&full, known.iter().map(String::as_str));
        return plan_err!("there is no option '{full}'; {near}");
    }
    options.set(key, value)
}

/// `RESET 'key'`, or `RESET` for all options of the extension.
pub(super) fn reset(ctx: &SessionContext, key: Option<&str>) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    let config = state.config_mut().options_mut();
    let Some(key) = key else {
        config.extensions.insert(StreamingOptions::default());
        return Ok(());
    };
    let own = match FLINK_OPTIONS.iter().find(|(name, _)| *name == key) {
        Some((_, Meaning::Same(own) | Meaning::Duration(own))) => own,
        Some((_, Meaning::Restart)) => "restart_strategy",
        Some((_, Meaning::Attempts)) => "restart_attempts_before_reset",
        Some((_, Meaning::Parallelism)) => "parallelism",
        Some((_, Meaning::Zone)) => "local_time_zone",
        Some((_, Meaning::Accepted | Meaning::Only(_))) => return Ok(()),
        None => match key.strip_prefix("streaming.") {
            Some(own) => own,
            None => {
                let near = suggestion(key, FLINK_OPTIONS.iter().map(|(name, _)| *name));
                return plan_err!("there is no option '{key}'; {near}");
            }
        },
    };
    let mut options = StreamingOptions::default();
    if !options.entries().iter().any(|entry| entry.key == own) {
        return set_own(config, own, "");
    }
    for entry in StreamingOptions::of(config).entries() {
        if let Some(value) = entry.value.filter(|_| entry.key != own) {
            ExtensionOptions::set(&mut options, &entry.key, &value)?;
        }
    }
    config.extensions.insert(options);
    Ok(())
}

/// All options of the extension with their values.
pub(super) fn list(ctx: &SessionContext) -> Vec<(String, String)> {
    let options = StreamingOptions::of(ctx.state().config_options());
    let entry = |entry: datafusion::common::config::ConfigEntry| {
        (format!("streaming.{}", entry.key), entry.value.unwrap_or_default())
    };
    options.entries().into_iter().map(entry).collect()
}
