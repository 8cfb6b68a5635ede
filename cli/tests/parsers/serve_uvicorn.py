"""uvicorn with one of its two HTTP parsers, on the listening socket that is standard input.

    .venv/bin/python serve_uvicorn.py h11|httptools < SOCKET

Prints its version, then each request that it has read to its end, as a line of JSON, and answers with the same line.
Bytes are written as the characters U+0000 to U+00FF.
"""

import importlib.metadata
import json
import socket
import sys

import uvicorn


async def report(scope, receive, send):
    body = b""
    more = True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return
        body += event.get("body", b"")
        more = event.get("more_body", False)
    target = scope["raw_path"]
    if scope["query_string"]:
        target += b"?" + scope["query_string"]
    line = json.dumps(
        {
            "method": scope["method"],
            "target": target.decode("latin-1"),
            "fields": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]],
            "body": body.decode("latin-1"),
            "connection": str(scope["client"][1]),
        }
    )
    print(line, flush=True)
    answer = line.encode()
    length = str(len(answer)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": answer})


def main():
    parser = sys.argv[1]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("uvicorn", parser)]
    print("version " + " with ".join(versions), flush=True)
    config = uvicorn.Config(
        report, http=parser, ws="none", lifespan="off", access_log=False, log_level="error", timeout_keep_alive=60
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=0)])


main()
