import random
import sqlite3

draw = random.Random(2024)
people = [(f"Person {n}", f"person{n}@example.com") for n in range(40)]
shop = sqlite3.connect("/app/shop.db")
shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, email TEXT, placed_on TEXT, amount TEXT)")
for number in range(1, 601):
    name, email = draw.choice(people)
    email = draw.choice([email, email.upper(), email.title(), f" {email}", f"{email} "])
    name = draw.choice([name, name.upper(), name.replace("Person", "P.")])
    # No two orders of a day, so that the latest is one.
    day = f"{2020 + number % 4}-{1 + number // 4 % 12:02}-{1 + number // 48:02}"
    cents = draw.randint(5, 99999)
    shop.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", (number, name, email, day, f"{cents // 100}.{cents % 100:02}"))
shop.commit()
