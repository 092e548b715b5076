//! The queries of the Flink baseline.

use super::{M, Query, query};

const fn bundled(name: &'static str, query: Query) -> Query {
    Query { name, mini_batch: true, ..query }
}

/// `COUNT(*), SUM(v), MAX(v)` of the windows of a table function.
macro_rules! windows {
    ($function:literal) => {
        concat!(
            "SELECT k, window_start, window_end, COUNT(*), SUM(v), MAX(v) FROM TABLE(",
            $function,
            ") GROUP BY k, window_start, window_end"
        )
    };
}

/// The rows of `kv` by their number within a key.
macro_rules! ranked {
    ($columns:literal, $order:literal, $condition:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ",
            $order,
            ") AS rn FROM kv) WHERE ",
            $condition
        )
    };
}

/// `SUM(v)` and `COUNT(*)` over a frame.
macro_rules! over {
    ($frame:literal, $more:literal) => {
        concat!(
            "SELECT k, v, ts, SUM(v) OVER w, COUNT(*) OVER w",
            $more,
            " FROM kv WINDOW w AS (PARTITION BY k ORDER BY ts ",
            $frame,
            ")"
        )
    };
}

const GROUP_BY: &str = "SELECT k, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY k";

const GB_64: Query = query("gb_64", 5 * M, 64, GROUP_BY);
const GB_4096: Query = query("gb_4096", 5 * M, 4096, GROUP_BY);
const GB_1M: Query = query("gb_1m", 5 * M, M, GROUP_BY);
const GB_DISTINCT: Query =
    query("gb_distinct_4096", 2 * M, 4096, "SELECT k, COUNT(DISTINCT v) FROM kv GROUP BY k");
const RETRACT_SUM: Query = query(
    "retract_sum",
    2 * M,
    4096,
    "SELECT g, COUNT(*), SUM(t) FROM (SELECT k, MOD(k, 16) AS g, SUM(v) AS t FROM kv GROUP BY k) GROUP BY g",
);
const RETRACT_MAX: Query = query(
    "retract_max",
    2 * M,
    4096,
    "SELECT g, COUNT(*), MAX(t) FROM (SELECT k, MOD(k, 16) AS g, SUM(v) AS t FROM kv GROUP BY k) GROUP BY g",
);
const Q4: Query = query(
    "q4",
    2 * M,
    0,
    "SELECT category, AVG(final) FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid B \
     WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires GROUP BY A.id, A.category) \
     GROUP BY category",
);

/// The queries, in the order of the baseline.
pub(super) const QUERIES: [Query; 50] = [
    query("src_kv", 10 * M, 4096, "SELECT * FROM kv"),
    query("src_bid", 10 * M, 0, "SELECT * FROM bid"),
    query("src_auction", 10 * M, 0, "SELECT * FROM auction"),
    query("src_person", 10 * M, 0, "SELECT * FROM person"),
    query(
        "q1_project",
        10 * M,
        0,
        "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
    ),
    query("q2_filter", 10 * M, 0, "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    query(
        "q22_split",
        4 * M,
        0,
        "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, \
         SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid",
    ),
    GB_64,
    GB_4096,
    GB_1M,
    Query { name: "gb_4096_ub", update_before: true, ..GB_4096 },
    bundled("gb_64_mb", GB_64),
    bundled("gb_4096_mb", GB_4096),
    bundled("gb_1m_mb", GB_1M),
    query("gb_count_4096", 5 * M, 4096, "SELECT k, COUNT(*) FROM kv GROUP BY k"),
    query("gb_decimal_4096", 5 * M, 4096, "SELECT k, SUM(d), AVG(d), MIN(d) FROM kv GROUP BY k"),
    query("gb_string_1000", 5 * M, 4096, "SELECT s, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY s"),
    GB_DISTINCT,
    query("gb_first_last_4096", 5 * M, 4096, "SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM kv GROUP BY k"),
    bundled("gb_distinct_4096_mb", GB_DISTINCT),
    RETRACT_SUM,
    RETRACT_MAX,
    bundled("retract_sum_mb", RETRACT_SUM),
    bundled("retract_max_mb", RETRACT_MAX),
    Q4,
    bundled("q4_mb", Q4),
    query(
        "q15",
        2 * M,
        0,
        "SELECT DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, COUNT(*) AS total_bids, \
         COUNT(*) FILTER (WHERE price < 10000) AS r1, \
         COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS r2, \
         COUNT(*) FILTER (WHERE price >= 1000000) AS r3, \
         COUNT(DISTINCT bidder) AS db, \
         COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS db1, \
         COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS db2, \
         COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS db3, \
         COUNT(DISTINCT auction) AS da, \
         COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS da1, \
         COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS da2, \
         COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS da3 \
         FROM bid GROUP BY DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')",
    ),
    query("tumble", 5 * M, 4096, windows!("TUMBLE(TABLE kv, DESCRIPTOR(ts), INTERVAL '10' SECOND)")),
    query(
        "hop",
        5 * M,
        4096,
        windows!("HOP(TABLE kv, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)"),
    ),
    query(
        "cumulate",
        5 * M,
        4096,
        windows!("CUMULATE(TABLE kv, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)"),
    ),
    query(
        "session",
        2 * M,
        4096,
        windows!("SESSION(TABLE kv PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND)"),
    ),
    query("dedup_first", 5 * M, 4096, ranked!("k, v, d, s, ts", "ts ASC", "rn = 1")),
    query("dedup_last", 5 * M, 4096, ranked!("k, v, d, s, ts", "ts DESC", "rn = 1")),
    query("dedup_first_1m", 5 * M, M, ranked!("k, v, d, s, ts", "ts ASC", "rn = 1")),
    query("dedup_last_1m", 5 * M, M, ranked!("k, v, d, s, ts", "ts DESC", "rn = 1")),
    query("topn", 5 * M, 4096, ranked!("k, v, s, ts", "v DESC", "rn <= 10")),
    query("topn_rank", 5 * M, 4096, ranked!("k, v, s, ts, rn", "v DESC", "rn <= 10")),
    query("topn_latest", 2 * M, 4096, ranked!("k, v, s, ts, rn", "ts DESC", "rn <= 10")),
    query(
        "topn_retract",
        M / 2,
        4096,
        "SELECT g, k, t, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY t DESC) AS rn \
         FROM (SELECT k, MOD(k, 16) AS g, SUM(v) AS t FROM kv GROUP BY k)) WHERE rn <= 10",
    ),
    query(
        "q3",
        10 * M,
        0,
        "SELECT P.name, P.city, P.state, A.id FROM auction AS A JOIN person AS P ON A.seller = P.id \
         WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')",
    ),
    query(
        "q20",
        2 * M,
        0,
        "SELECT B.auction, B.bidder, B.price, B.channel, B.url, CAST(B.`dateTime` AS TIMESTAMP(3)), B.extra, \
         A.itemName, A.description, A.initialBid, A.reserve, CAST(A.`dateTime` AS TIMESTAMP(3)), A.expires, \
         A.seller, A.category, A.extra \
         FROM bid AS B JOIN auction AS A ON B.auction = A.id WHERE A.category = 10",
    ),
    query(
        "join_bid_auction",
        2 * M,
        0,
        "SELECT B.auction, B.bidder, B.price, A.seller, A.category \
         FROM bid AS B JOIN auction AS A ON B.auction = A.id",
    ),
    query(
        "interval_join",
        2 * M,
        0,
        "SELECT B.auction, B.bidder, B.price, B.`dateTime`, A.seller, A.category FROM bid AS B \
         JOIN auction AS A ON B.auction = A.id \
         AND B.`dateTime` BETWEEN A.`dateTime` AND A.`dateTime` + INTERVAL '10' SECOND",
    ),
    query(
        "q8",
        10 * M,
        0,
        "SELECT P.id, P.name, P.starttime FROM \
         (SELECT id, name, window_start AS starttime, window_end AS endtime \
          FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) \
          GROUP BY id, name, window_start, window_end) P JOIN \
         (SELECT seller, window_start AS starttime, window_end AS endtime \
          FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) \
          GROUP BY seller, window_start, window_end) A \
         ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime",
    ),
    query(
        "window_join",
        2 * M,
        0,
        "SELECT B.auction, B.bidder, B.price, A.seller, A.category, B.window_start FROM \
         (SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))) B JOIN \
         (SELECT * FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))) A \
         ON B.auction = A.id AND B.window_start = A.window_start AND B.window_end = A.window_end",
    ),
    query("over_rows_10", M / 2, 4096, over!("ROWS BETWEEN 9 PRECEDING AND CURRENT ROW", "")),
    query(
        "over_rows_10_max",
        M / 5,
        4096,
        over!("ROWS BETWEEN 9 PRECEDING AND CURRENT ROW", ", MAX(v) OVER w"),
    ),
    query(
        "over_range_5s",
        M / 2,
        4096,
        over!("RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW", ""),
    ),
    query("over_rows_all", M / 2, 4096, over!("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "")),
    query("over_range_all", M / 2, 4096, over!("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "")),
];
