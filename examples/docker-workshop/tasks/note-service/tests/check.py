import concurrent.futures
import json
import urllib.error
import urllib.request


def ask(method, path, body=None):
    request = urllib.request.Request("http://127.0.0.1:8080" + path, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


assert ask("GET", "/notes/umlauts") == (200, "Grüße aus Köln".encode())
assert json.loads(ask("GET", "/notes")[1]) == ["to-do", "umlauts", "welcome"]
assert ask("PUT", "/notes/bytes", bytes(range(256)))[0] == 204
assert ask("GET", "/notes/bytes") == (200, bytes(range(256)))
assert ask("PUT", "/notes/a.b", b"x")[0] == 400
assert ask("GET", "/notes/nothing")[0] == 404
assert ask("DELETE", "/notes/welcome")[0] == 204
assert ask("DELETE", "/notes/welcome")[0] == 404
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert set(pool.map(lambda n: ask("PUT", f"/notes/n{n}", str(n).encode())[0], range(40))) == {204}
assert ask("GET", "/notes/n17") == (200, b"17")
assert len(json.loads(ask("GET", "/notes")[1])) == 43
