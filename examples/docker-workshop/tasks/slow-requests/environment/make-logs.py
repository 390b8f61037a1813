import gzip
import os
import random

draw = random.Random(5)
paths = {"/search": 40, "/login": 25, "/export": 300, "/cart": 60, "/rare": 5000}
os.makedirs("/app/logs")
for day in range(1, 6):
    lines = []
    for number in range(400):
        path = draw.choice(list(paths)[:4]) if number % 100 else "/rare"
        hour = draw.randrange(24)
        stamp = f"2024-05-{day:02}T{hour:02}:{draw.randrange(60):02}:{draw.randrange(60):02}"
        request = f"req={day}{number:03x}"
        bad = draw.random() < (0.5 if (day, hour) == (3, 14) else 0.03)
        status = draw.choice([500, 502, 503]) if bad else draw.choice([200, 200, 200, 204, 404])
        took = int(draw.expovariate(1 / paths[path])) + 1
        if draw.random() < 0.1:
            lines.append(f"{stamp}.000Z [INFO] {request} GET {path} 503 {took * 9}ms")
            lines.append(f"{stamp}.001Z [WARN] {request} retry")
        lines.append(f"{stamp}.002Z [INFO] {request} GET {path} {status} {took}ms")
        if bad:
            lines.append("Traceback (most recent call last):\n  File \"app.py\", line 9\nTimeoutError: 504 999ms")
    text = "\n".join(lines) + "\n"
    if day < 4:
        with gzip.GzipFile(f"/app/logs/2024-05-{day:02}.log.gz", "wb", mtime=0) as file:
            file.write(text.encode())
    else:
        open(f"/app/logs/2024-05-{day:02}.log", "w").write(text)
