import sqlite3

shop = sqlite3.connect("/app/shop.db")
shop.execute("create table customers (id integer primary key, name text)")
shop.execute("create table orders (id integer primary key, customer_id integer, cents integer)")
for number, name in enumerate(["Ada", "Brook", "Chris", "Dana", "Eli"], 1):
    shop.execute("insert into customers values (?, ?)", (number, name))
for number in range(1, 41):
    shop.execute("insert into orders values (?, ?, ?)", (number, number * number % 4 + 1, number * 37 % 500))
shop.commit()
