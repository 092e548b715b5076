//! Lookup joins: `FOR SYSTEM_TIME AS OF` a processing time, against tables of DataFusion's kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::{Constraint, Constraints, DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming::tables::ChangelogTable;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, install};
use futures::StreamExt;
use parking_lot::Mutex;

/// A table `k name` that notes with which filters it is scanned, planning aside.
#[derive(Debug)]
struct Dim {
    rows: Mutex<Vec<(i64, &'static str)>>,
    takes_filters: bool,
    constraints: Constraints,
    scans: AtomicUsize,
    filters: Mutex<Vec<String>>,
}

impl Dim {
    fn new(rows: &[(i64, &'static str)], takes_filters: bool) -> Arc<Self> {
        Arc::new(Dim {
            rows: Mutex::new(rows.to_vec()),
            takes_filters,
            constraints: Constraints::new_unverified(vec![Constraint::PrimaryKey(vec![0])]),
            scans: AtomicUsize::new(0),
            filters: Mutex::default(),
        })
    }

    /// The filters of all scans so far; the first scan is that of the plan, which does not run.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.filters.lock())
    }
}

#[async_trait]
impl TableProvider for Dim {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, false),
            Field::new("name", DataType::Utf8, true),
        ]))
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = match self.takes_filters {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(vec![support; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.scans.fetch_add(1, Ordering::SeqCst) > 0 {
            let filters: Vec<_> = filters.iter().map(Expr::to_string).collect();
            self.filters.lock().push(filters.join(" AND "));
        }
        let (keys, names): (Vec<i64>, Vec<&str>) = self.rows.lock().iter().copied().unzip();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(keys)), Arc::new(StringArray::from(names))];
        let batch = RecordBatch::try_new(self.schema(), columns)?;
        MemTable::try_new(self.schema(), vec![vec![batch]])?.scan(session, projection, &[], None).await
    }
}

type Change = (RowKind, Option<i64>, i64);

fn changes(rows: &[Change]) -> Result<ChangelogBatch> {
    let keys: Int64Array = rows.iter().map(|(_, key, _)| *key).collect();
    let values = Int64Array::from_iter_values(rows.iter().map(|(_, _, value)| *value));
    let batch = RecordBatch::try_new(orders(), vec![Arc::new(keys), Arc::new(values)])?;
    ChangelogBatch::try_new(batch, rows.iter().map(|(kind, _, _)| *kind).collect())
}

fn orders() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("v", DataType::Int64, false),
    ]))
}

/// The changelog of a query over the tables `o`, with the processing time `p`, and `d`.
async fn answer(
    dim: &Arc<Dim>,
    mode: ChangelogMode,
    query: &str,
    input: Vec<Vec<Change>>,
) -> Result<Vec<String>> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    ctx.register_table("d", Arc::clone(dim) as Arc<dyn TableProvider>)?;
    let (table, sender) = ChangelogTable::new(orders(), mode, 1);
    ctx.register_table("t", Arc::new(table))?;
    ctx.flink_sql("CREATE TEMPORARY VIEW o AS SELECT k, v, PROCTIME() AS p FROM t").await?.collect().await?;
    let mut changelog = ctx.flink_sql(query).await?.execute_changelog().await?;
    let sending = tokio::spawn(async move {
        for rows in input {
            sender.send(changes(&rows)?).await?;
        }
        Result::<()>::Ok(())
    });
    let mut lines = vec![];
    while let Some(changes) = changelog.next().await {
        lines.extend(changelog_lines([&changes?])?);
    }
    sending.await.map_err(|error| DataFusionError::External(Box::new(error)))??;
    Ok(lines)
}

const INSERT: RowKind = RowKind::Insert;

fn two_batches() -> Vec<Vec<Change>> {
    vec![
        vec![(INSERT, Some(1), 10), (INSERT, Some(2), 20), (INSERT, Some(1), 11), (INSERT, None, 30)],
        vec![(INSERT, Some(2), 21)],
    ]
}

#[tokio::test]
async fn a_table_is_asked_once_a_batch_for_its_keys() -> Result<()> {
    let dim = Dim::new(&[(1, "one"), (3, "three")], true);
    let query = "SELECT o.v, d.name FROM o LEFT JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k";
    let lines = answer(&dim, ChangelogMode::INSERT_ONLY, query, two_batches()).await?;
    assert_eq!(lines, ["+I 10 one", "+I 20 NULL", "+I 11 one", "+I 30 NULL", "+I 21 NULL"]);
    assert_eq!(dim.asked(), ["k IN ([Int64(1), Int64(2)])", "k = Int64(2)"]);

    let inner = "SELECT o.v, x.name FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS x ON x.k = o.k";
    let lines = answer(&dim, ChangelogMode::INSERT_ONLY, inner, two_batches()).await?;
    assert_eq!(lines, ["+I 10 one", "+I 11 one"]);
    Ok(())
}

#[tokio::test]
async fn a_table_that_takes_no_filters_is_scanned_and_joined() -> Result<()> {
    let dim = Dim::new(&[(1, "one"), (2, "two"), (2, "zwei"), (3, "three")], false);
    let query = "SELECT o.v, d.name FROM o JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k";
    let lines = answer(&dim, ChangelogMode::INSERT_ONLY, query, two_batches()).await?;
    assert_eq!(lines, ["+I 10 one", "+I 20 two", "+I 20 zwei", "+I 11 one", "+I 21 two", "+I 21 zwei"]);
    assert_eq!(dim.asked(), ["", ""]);
    Ok(())
}

#[tokio::test]
async fn conditions_and_views_go_into_the_lookup() -> Result<()> {
    let dim = Dim::new(&[(1, "one"), (2, "two"), (3, "three")], true);
    let ctx = SessionContext::new();
    install(&ctx)?;
    ctx.register_table("d", Arc::clone(&dim) as Arc<dyn TableProvider>)?;
    let (table, sender) = ChangelogTable::new(orders(), ChangelogMode::INSERT_ONLY, 4);
    ctx.register_table("t", Arc::new(table))?;
    for statement in [
        "CREATE TEMPORARY VIEW o AS SELECT k, v, PROCTIME() AS p FROM t",
        "CREATE TEMPORARY VIEW w AS SELECT k, UPPER(name) AS upper_name FROM d WHERE name <> 'two'",
    ] {
        ctx.flink_sql(statement).await?.collect().await?;
    }
    let query = "SELECT o.v, d.upper_name FROM o LEFT JOIN w FOR SYSTEM_TIME AS OF o.p AS d \
        ON o.k = d.k AND d.k < 3 AND o.v < 11";
    let mut changelog = ctx.flink_sql(query).await?.execute_changelog().await?;
    sender.send(changes(&two_batches()[0])?).await?;
    drop(sender);
    let mut lines = vec![];
    while let Some(changes) = changelog.next().await {
        lines.extend(changelog_lines([&changes?])?);
    }
    assert_eq!(lines, ["+I 10 ONE", "+I 20 NULL", "+I 11 NULL", "+I 30 NULL"]);
    let asked = dim.asked();
    assert!(
        asked.len() == 1
            && asked[0].contains("name != Utf8(\"two\")")
            && asked[0].contains("k IN ([Int64(1), Int64(2)])"),
        "{asked:?}"
    );
    Ok(())
}

#[tokio::test]
async fn changes_of_the_stream_are_looked_up_and_taken_back() -> Result<()> {
    let dim = Dim::new(&[(1, "one"), (2, "two")], true);
    let query = "SELECT o.k, o.v, d.name FROM o JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k";
    let input = vec![
        vec![(INSERT, Some(1), 10)],
        vec![(RowKind::UpdateBefore, Some(1), 10), (RowKind::UpdateAfter, Some(2), 10)],
        vec![(RowKind::Delete, Some(2), 10), (INSERT, Some(9), 1)],
    ];
    let lines = answer(&dim, ChangelogMode::ALL, query, input).await?;
    assert_eq!(lines, ["+I 1 10 one", "-U 1 10 one", "+U 2 10 two", "-D 2 10 two"]);
    Ok(())
}

#[tokio::test]
async fn a_materialized_table_is_looked_up_as_it_is_kept_up_to_date() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let (table, sender) = ChangelogTable::new(orders(), ChangelogMode::INSERT_ONLY, 1);
    ctx.register_table("t", Arc::new(table))?;
    for statement in [
        "CREATE TABLE m (k BIGINT, name STRING, PRIMARY KEY (k) NOT ENFORCED) \
         WITH ('connector' = 'materialized', 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '10')",
        "INSERT INTO m VALUES (1, 'one'), (2, 'two')",
    ] {
        ctx.flink_sql(statement).await?.collect().await?;
    }
    let query = "SELECT o.v, m.name FROM (SELECT k, v, PROCTIME() AS p FROM t) AS o \
        LEFT JOIN m FOR SYSTEM_TIME AS OF o.p ON o.k = m.k";
    let plan = ctx.flink_sql(&format!("EXPLAIN {query}")).await?.collect().await?;
    let plan = datafusion::arrow::util::pretty::pretty_format_batches(&plan)?.to_string();
    assert!(
        plan.contains("LookupJoin: table=[m], type=[Left], lookup=[k@0=k@0], cache=[PARTIAL, max rows 10]"),
        "{plan}"
    );
    let mut changelog = ctx.flink_sql(query).await?.execute_changelog().await?;
    let mut next = async |key: i64| -> Result<String> {
        sender.send(changes(&[(INSERT, Some(key), key * 10)])?).await?;
        match changelog.next().await {
            Some(changes) => Ok(changelog_lines([&changes?])?.join(", ")),
            None => Ok("the end".to_string()),
        }
    };
    assert_eq!(next(1).await?, "+I 10 one");
    ctx.flink_sql("INSERT INTO m VALUES (1, 'uno'), (3, 'three')").await?.collect().await?;
    // one is in the cache, three is not
    assert_eq!(next(1).await?, "+I 10 one");
    assert_eq!(next(3).await?, "+I 30 three");
    Ok(())
}

#[tokio::test]
async fn a_hint_asks_for_a_cache() -> Result<()> {
    let dim = Dim::new(&[(1, "one"), (2, "two")], true);
    let query = "SELECT o.v, d.name FROM o \
        JOIN d /*+ OPTIONS('lookup.cache' = 'FULL', 'lookup.full-cache.periodic-reload.interval' = '1 h') */ \
        FOR SYSTEM_TIME AS OF o.p ON o.k = d.k";
    let lines = answer(&dim, ChangelogMode::INSERT_ONLY, query, two_batches()).await?;
    assert_eq!(lines, ["+I 10 one", "+I 20 two", "+I 11 one", "+I 21 two"]);
    // the whole table, once
    assert_eq!(dim.asked(), [""]);
    Ok(())
}

#[tokio::test]
async fn a_hint_looks_up_again_what_has_no_rows() -> Result<()> {
    let dim = Dim::new(&[(1, "one")], true);
    let hint = "/*+ LOOKUP('table' = 'x', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', \
        'fixed-delay' = '5 ms', 'max-attempts' = '10000') */";
    let query =
        format!("SELECT {hint} o.v, x.name FROM o LEFT JOIN d FOR SYSTEM_TIME AS OF o.p AS x ON o.k = x.k");
    let late = Arc::clone(&dim);
    let arrival = tokio::spawn(async move {
        while late.scans.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
        late.rows.lock().push((3, "three"));
    });
    let input = vec![vec![(INSERT, Some(1), 10), (INSERT, Some(3), 30)]];
    let lines = answer(&dim, ChangelogMode::INSERT_ONLY, &query, input).await?;
    arrival.await.unwrap();
    assert_eq!(lines, ["+I 10 one", "+I 30 three"]);
    let asked = dim.asked();
    assert_eq!(asked[0], "k IN ([Int64(1), Int64(3)])");
    assert!(asked.len() > 2 && asked[1..].iter().all(|filter| filter == "k = Int64(3)"), "{asked:?}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_looked_up_says_so() -> Result<()> {
    let dim = Dim::new(&[], true);
    for (query, expected) in [
        ("SELECT o.v FROM o JOIN d FOR SYSTEM_TIME AS OF o.p ON o.v > d.k", "needs a column of table d"),
        ("SELECT o.v FROM o JOIN d FOR SYSTEM_TIME AS OF o.v ON o.k = d.k", "v is none"),
        ("SELECT o.v FROM o RIGHT JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k", "RIGHT"),
    ] {
        let error = answer(&dim, ChangelogMode::INSERT_ONLY, query, vec![]).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{query}: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn volatile_functions_over_changes_are_refused() -> Result<()> {
    let dim = Dim::new(&[], true);
    let query = "SELECT k, UUID() AS u FROM o";
    let error = answer(&dim, ChangelogMode::ALL, query, vec![]).await.unwrap_err().to_string();
    assert!(error.contains("UUID()") && error.contains("taken back"), "{error}");
    // of rows that are only inserted it may be computed
    assert!(answer(&dim, ChangelogMode::INSERT_ONLY, query, vec![]).await?.is_empty());
    // the processing time is only looked at when it comes to a join
    let joined = "SELECT o.k, d.name FROM o JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k";
    assert!(answer(&dim, ChangelogMode::ALL, joined, vec![]).await?.is_empty());
    Ok(())
}
