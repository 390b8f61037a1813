import random
import sqlite3

draw = random.Random(2024)
people = [(f"Person {n}", f"person{n}@example.com") for n in range(40)]
orders, latest = {}, {}
for number in range(1, 601):
    name, email = draw.choice(people)
    draw.choice(range(5))
    name = draw.choice([name, name.upper(), name.replace("Person", "P.")])
    day = f"{2020 + number % 4}-{1 + number // 4 % 12:02}-{1 + number // 48:02}"
    orders[number] = (email, day, draw.randint(5, 99999))
    latest[email] = max(latest.get(email, ("", "")), (day, name))

shop = sqlite3.connect("/app/shop.db")
rows = shop.execute("SELECT o.id, c.email, o.placed_on, o.cents FROM orders o JOIN customers c ON c.id = o.customer_id")
assert {number: tuple(rest) for number, *rest in rows} == orders
assert dict(shop.execute("SELECT email, name FROM customers")) == {email: name for email, (_, name) in latest.items()}
spent = {}
for email, _, cents in orders.values():
    count, total = spent.get(email, (0, 0))
    spent[email] = (count + 1, total + cents)
assert {email: (count, cents) for email, count, cents in shop.execute("SELECT email, orders, cents FROM spending")} == spent
columns = {table: [row[1] for row in shop.execute(f"PRAGMA table_info({table})")] for table in ("customers", "orders")}
assert columns == {"customers": ["id", "name", "email"], "orders": ["id", "customer_id", "placed_on", "cents"]}
assert [row[2] for row in shop.execute("PRAGMA foreign_key_list(orders)")] == ["customers"]
try:
    shop.execute("INSERT INTO customers (name, email) VALUES ('Twice', 'person1@example.com')")
    raise SystemExit("an address may stand twice")
except sqlite3.IntegrityError:
    pass
