#!/bin/bash
set -euo pipefail

sqlite3 -bail /app/shop.db <<'END'
BEGIN;
ALTER TABLE orders RENAME TO before;
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE);
INSERT INTO customers (name, email)
  SELECT name, address FROM (SELECT name, lower(trim(email)) AS address, max(placed_on) FROM before GROUP BY address);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id),
  placed_on TEXT NOT NULL, cents INTEGER NOT NULL);
INSERT INTO orders
  SELECT b.id, c.id, b.placed_on, CAST(replace(b.amount, '.', '') AS INTEGER)
  FROM before b JOIN customers c ON c.email = lower(trim(b.email));
DROP TABLE before;
CREATE VIEW spending AS
  SELECT c.email, count(*) AS orders, sum(o.cents) AS cents FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.id;
COMMIT;
END
