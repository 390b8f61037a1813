#!/bin/bash
set -euo pipefail

cat > /app/server.py <<'END'
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/health"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(b"ok" if found else b"")

server = HTTPServer(("127.0.0.1", 0), Handler)
open("/app/port", "w").write(str(server.server_port))
server.serve_forever()
END
nohup setsid python3 /app/server.py > /app/server.log 2>&1 &
for _ in $(seq 50); do [ -s /app/port ] && exit 0; sleep 0.1; done
exit 1
