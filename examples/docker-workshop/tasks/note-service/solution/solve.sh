#!/bin/bash
set -euo pipefail

cat > /app/notes.py <<'END'
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

notes = {name: text.encode() for name, text in json.load(open("/app/seed.json", encoding="utf-8")).items()}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def name(self):
        return self.path.removeprefix("/notes/")

    def do_GET(self):
        if self.path == "/notes":
            return self.answer(200, json.dumps(sorted(notes)).encode())
        body = notes.get(self.name())
        self.answer(404) if body is None else self.answer(200, body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not re.fullmatch("[A-Za-z0-9-]+", self.name()):
            return self.answer(400)
        notes[self.name()] = body
        self.answer(204)

    def do_DELETE(self):
        self.answer(404 if notes.pop(self.name(), None) is None else 204)


ThreadingHTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
END
nohup setsid python3 /app/notes.py > /app/notes.log 2>&1 < /dev/null &
for _ in $(seq 600); do
  (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null && exit 0
  sleep 0.1
done
cat /app/notes.log
exit 1
