-- Representative statements: all parse, and DataFusion plans all queries of them.

CREATE TABLE bids (
  id INT, k STRING, price DECIMAL(10, 2), v BIGINT, d DOUBLE, b BOOLEAN, c CHAR(3), dt DATE, tm TIME(0),
  ts TIMESTAMP(3), z TIMESTAMP_LTZ(3), arr ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y ROW<z STRING>>, bin BYTES,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'data/bids.jsonl', 'format' = 'json');
CREATE TABLE people (id INT, name STRING, born TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'x');

SELECT id + 1, -id, price * 2, price * 0.5, v / 3, d * 1e3, id % 3, k || 'x' FROM bids;
SELECT id, id, 1, 1 FROM bids WHERE id IN (1, 2, -3) AND price BETWEEN 1 AND 2.5 OR NOT b;
SELECT CAST(id AS BIGINT), CAST(id AS STRING), CAST(k AS CHAR(3)), TRY_CAST(k AS INT), CAST(ts AS TIMESTAMP(6)),
  CAST(k AS TIMESTAMP_LTZ(3)), CAST(NULL AS ROW<a INT, b ARRAY<STRING>>), CAST(id AS DECIMAL(5, 1)), CAST(k AS BYTES) FROM bids;
SELECT id FROM bids WHERE ts > TIMESTAMP '2024-01-01 00:00:00' AND dt < DATE '2024-02-01' AND tm <> TIME '10:00:00'
  AND ts + INTERVAL '1 02:03:04.5' DAY TO SECOND < TIMESTAMP '2024-01-01 00:00:00.123' AND dt - INTERVAL '1-2' YEAR TO MONTH < dt;
SELECT CASE id WHEN 1, 2 THEN 'few' ELSE 'many' END, CASE WHEN b THEN 1 END, COALESCE(id, 0), NULLIF(id, 5) FROM bids;
SELECT arr[1], m['a'], r.x, r.y.z, bids.r.x, ARRAY[1, 2][1], ARRAY['a', 'b'], MAP['a', 1, 'b', 2] FROM bids;
SELECT EXTRACT(YEAR FROM ts), SUBSTRING(k FROM 2 FOR 1), TRIM(BOTH 'x' FROM k), TRIM(k), CEIL(d), FLOOR(d), UPPER(k) FROM bids;
SELECT id FROM bids WHERE k LIKE 'a!%%' ESCAPE '!' AND k NOT LIKE '%b' AND k SIMILAR TO 'a|b' AND k IS NOT DISTINCT FROM c AND b IS NOT TRUE;
SELECT COUNT(*), COUNT(DISTINCT k), SUM(v) FILTER (WHERE id > 1), MAX(price) FROM bids;
SELECT k, COUNT(*) AS n FROM bids GROUP BY k HAVING COUNT(*) > 1 ORDER BY n DESC, k LIMIT 3 OFFSET 1;
SELECT UPPER(k) AS k, MAX(v) AS v FROM bids GROUP BY k HAVING MAX(v) > 1 ORDER BY v;
SELECT k, b, SUM(v) FROM bids GROUP BY GROUPING SETS ((k, b), (k), ());
SELECT k, b, SUM(v) FROM bids GROUP BY ROLLUP ((k, b), id);
SELECT k, SUM(v), COUNT(*) FROM bids GROUP BY k ORDER BY SUM(v) DESC, COUNT(*), 1;
SELECT DISTINCT id + 1 FROM bids ORDER BY id + 1;
SELECT id + 1 AS x, v FROM bids ORDER BY x, v + 1, price;
SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM bids QUALIFY rn = 1;
SELECT DISTINCT k FROM bids FETCH FIRST 5 ROWS ONLY;
SELECT id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY tm DESC) AS rn FROM bids) WHERE rn <= 2;
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW),
  COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW), LAG(v, 1) OVER (ORDER BY ts) FROM bids;
SELECT id, SUM(v) OVER w FROM bids WINDOW w AS (PARTITION BY k ORDER BY ts);
SELECT id FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) = 1;
SELECT b.id, p.name FROM bids AS b LEFT JOIN people p ON b.id = p.id AND p.born BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts;
SELECT id, name FROM bids FULL JOIN people USING (id);
SELECT * FROM (SELECT id, v FROM bids) FULL JOIN people USING (id);
SELECT b.id, b.id FROM bids b, people WHERE b.id = people.id;
SELECT id FROM bids WHERE id IN (SELECT id FROM people) AND NOT EXISTS (SELECT 1 FROM people p WHERE p.name = k);
SELECT id FROM bids WHERE (id, k) IN (SELECT id, name FROM people) AND (id, k) NOT IN (SELECT id, name FROM people);
SELECT id, (SELECT MAX(born) FROM people) FROM bids WHERE id > ANY (1, 2);
SELECT id FROM bids UNION ALL SELECT id FROM people UNION SELECT 1 ORDER BY id;
(SELECT id FROM bids) EXCEPT SELECT id FROM people;
SELECT id FROM bids INTERSECT SELECT id FROM people;
WITH w AS (SELECT id, k FROM bids), x (i) AS (SELECT id FROM w) SELECT w.k FROM w JOIN x ON w.id = x.i;
SELECT EXPR$0, a FROM (VALUES (1, 'x'), (2, 'y')) AS t (a, b) CROSS JOIN (VALUES (3));
VALUES (1, 'a'), (2, NULL);
TABLE bids;
SELECT /*+ STATE_TTL('b' = '1 d') */ b.* FROM bids /*+ OPTIONS('a' = 'b') */ AS b;
SELECT k, FLOOR(ts TO HOUR), TIMESTAMPDIFF(DAY, ts, born), TIMESTAMPADD(MONTH, 1, ts) FROM bids JOIN people ON TRUE;
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), COUNT(*) FROM bids GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND);
SELECT JSON_VALUE(k, '$.a' RETURNING INTEGER), k IS JSON, JSON_OBJECT('a' VALUE id), ROW(id, k), (id, k) FROM bids;
INSERT INTO people SELECT id, k, ts FROM bids;
INSERT INTO people VALUES (1, 'x', TIMESTAMP '2024-01-01 00:00:00');
INSERT INTO people (id, born) SELECT x, ts FROM bids, (VALUES (1)) AS v (x);
