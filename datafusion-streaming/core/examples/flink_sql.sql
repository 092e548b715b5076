-- Orders as they come in, one JSON object a line. The watermark is five seconds behind the latest order.
CREATE TABLE orders (
  order_id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  ordered_at TIMESTAMP(3),
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');

-- A running total for each customer: every order updates a row.
SELECT customer, COUNT(*) AS orders, SUM(amount) AS total
FROM orders
GROUP BY customer;

-- Totals by the minute: one final row a window, when the watermark has passed its end. Order 6 is late.
SELECT window_start, window_end, COUNT(*) AS orders, SUM(amount) AS total
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered_at), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;

-- The stock of a shop as its database changes: inserts, updates and deletes captured by Debezium.
CREATE TABLE stock (
  item STRING,
  shelf STRING,
  pieces INT
) WITH ('connector' = 'filesystem', 'path' = 'data/stock_changes.jsonl', 'format' = 'debezium-json');

-- An aggregate of a changelog takes back what is no longer true. Shelf B is empty in the end.
SELECT shelf, COUNT(*) AS items, SUM(pieces) AS pieces, MAX(pieces) AS most
FROM stock
GROUP BY shelf;

-- The same as a table: what is there when the changes end.
SET 'sql-client.execution.result-mode' = 'table';

SELECT shelf, COUNT(*) AS items, SUM(pieces) AS pieces, MAX(pieces) AS most
FROM stock
GROUP BY shelf;
