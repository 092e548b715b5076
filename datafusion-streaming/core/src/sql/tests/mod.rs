//! Tests of the text side: what parses, what it becomes, and what DataFusion plans of it.

use super::*;

#[test]
fn smoke() {
    let script = "CREATE TABLE t (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'x');
      SET 'a' = 'b'; SELECT a + 1 FROM t LIMIT 5";
    let statements = parse(script).unwrap();
    assert_eq!(statements.len(), 3);
    for s in statements {
        println!("{s:?}");
        if let Statement::DataFusion(q) = s.statement {
            println!("{q}")
        }
    }
}
