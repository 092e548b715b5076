//! The queries of Nexmark that the baseline does not have.
//!
//! Where Nexmark takes a function of its own or a table that it does not generate: q12 and q13 read the view
//! `bid_now`, which is `bid` with a processing time; q13 looks up `side_input` of 10,000 keys; q14 counts
//! characters with CHAR_LENGTH.

use super::{M, Query, query};

/// `SUM`s and the like of the ranks of prices, as q16 and q17 have them.
macro_rules! by_rank {
    ($call:literal, $name:literal) => {
        concat!(
            $call,
            " FILTER (WHERE price < 10000) AS ",
            $name,
            "1, ",
            $call,
            " FILTER (WHERE price >= 10000 AND price < 1000000) AS ",
            $name,
            "2, ",
            $call,
            " FILTER (WHERE price >= 1000000) AS ",
            $name,
            "3"
        )
    };
}

/// The bids on each auction in each of q5's windows.
macro_rules! hot_items {
    () => {
        "SELECT auction, COUNT(*) AS num, window_start, window_end FROM TABLE(HOP(TABLE bid, \
         DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) \
         GROUP BY auction, window_start, window_end"
    };
}

/// Nexmark's number, its query, and how many events are measured.
pub(super) const QUERIES: [Query; 12] = [
    query("q0", 10 * M, 0, "SELECT auction, bidder, price, `dateTime`, extra FROM bid"),
    query(
        "q5",
        2 * M,
        0,
        concat!(
            "SELECT A.auction, A.num FROM (",
            hot_items!(),
            ") AS A JOIN \
             (SELECT MAX(num) AS maxn, window_start, window_end FROM (",
            hot_items!(),
            ") \
              GROUP BY window_start, window_end) AS M \
             ON A.window_start = M.window_start AND A.window_end = M.window_end AND A.num >= M.maxn"
        ),
    ),
    query(
        "q7",
        2 * M,
        0,
        "SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN \
         (SELECT MAX(price) AS maxprice, window_end AS wend FROM TABLE(TUMBLE(TABLE bid, \
          DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end) M \
         ON B.price = M.maxprice WHERE B.`dateTime` BETWEEN M.wend - INTERVAL '10' SECOND AND M.wend",
    ),
    query(
        "q9",
        2 * M,
        0,
        "SELECT id, itemName, description, initialBid, reserve, opened, expires, seller, category, extra, \
         auction, bidder, price, bid_time, bid_extra FROM (SELECT A.id, A.itemName, A.description, \
         A.initialBid, A.reserve, A.`dateTime` AS opened, A.expires, A.seller, A.category, A.extra, B.auction, \
         B.bidder, B.price, B.`dateTime` AS bid_time, B.extra AS bid_extra, \
         ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS rn \
         FROM auction A, bid B WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires) \
         WHERE rn <= 1",
    ),
    query(
        "q11",
        2 * M,
        0,
        "SELECT bidder, COUNT(*) AS bids, window_start, window_end FROM TABLE(SESSION(TABLE bid \
         PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) \
         GROUP BY bidder, window_start, window_end",
    ),
    query(
        "q12",
        2 * M,
        0,
        "SELECT bidder, COUNT(*) AS bids, window_start, window_end FROM TABLE(TUMBLE(TABLE bid_now, \
         DESCRIPTOR(p), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end",
    ),
    query(
        "q13",
        2 * M,
        0,
        "SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value` FROM bid_now AS B \
         JOIN side_input FOR SYSTEM_TIME AS OF B.p AS S ON MOD(B.auction, 10000) = S.`key`",
    ),
    query(
        "q14",
        2 * M,
        0,
        "SELECT auction, bidder, 0.908 * price AS price, \
         CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime' \
         WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bid_time, \
         `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts \
         FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    ),
    query(
        "q16",
        2 * M,
        0,
        concat!(
            "SELECT channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, \
             MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`, COUNT(*) AS n, ",
            by_rank!("COUNT(*)", "n"),
            ", COUNT(DISTINCT bidder) AS b, ",
            by_rank!("COUNT(DISTINCT bidder)", "b"),
            ", COUNT(DISTINCT auction) AS a, ",
            by_rank!("COUNT(DISTINCT auction)", "a"),
            " FROM bid GROUP BY channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
        ),
    ),
    query(
        "q17",
        2 * M,
        0,
        concat!(
            "SELECT auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, COUNT(*) AS n, ",
            by_rank!("COUNT(*)", "n"),
            ", MIN(price) AS lo, MAX(price) AS hi, AVG(price) AS mean, SUM(price) AS total \
             FROM bid GROUP BY auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
        ),
    ),
    query(
        "q18",
        2 * M,
        0,
        "SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (SELECT *, ROW_NUMBER() OVER \
         (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rn FROM bid) WHERE rn <= 1",
    ),
    query(
        "q19",
        2 * M,
        0,
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid) \
         WHERE rn <= 10",
    ),
];
