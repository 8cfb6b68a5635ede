#!/usr/bin/env python3
"""Holds loadproof against a real vLLM: are the bytes the engine's, are the counts the engine's?

    scripts/conformance.py ENGINE_URL MODEL [LOADPROOF]

The engine must run already, with --enable-per-request-metrics. LOADPROOF is the binary; without it,
target/release/loadproof. Each case is asked of the engine directly and through a loadproof of its own; what differs
between any two answers (creation times, ids, the engine's own times) is masked in both. What the engine counts comes from
its usage; where the case itself does not ask for usage, from the same request asked with it. Prints a table in
Markdown; exits with 1 if a case failed. Needs nothing but Python 3.10.
"""

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
TEXT = {"prompt": "The sea is", "max_tokens": 12, "temperature": 0}
TALK = {"messages": [{"role": "user", "content": "Count to ten."}], "max_tokens": 12, "temperature": 0}
USAGE = {"stream_options": {"include_usage": True}}
EACH = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}

# Name, path, body; `model` is added.
CASES = [
    ("completions, whole", COMPLETIONS, TEXT),
    ("completions, stream", COMPLETIONS, TEXT | {"stream": True}),
    ("completions, stream, usage", COMPLETIONS, TEXT | {"stream": True} | USAGE),
    ("completions, stream, continuous usage", COMPLETIONS, TEXT | {"stream": True} | EACH),
    ("completions, stream, token ids", COMPLETIONS, TEXT | {"stream": True, "return_token_ids": True}),
    ("completions, stream, logprobs", COMPLETIONS, TEXT | {"stream": True, "logprobs": 2} | USAGE),
    ("completions, stream, echo", COMPLETIONS, TEXT | {"stream": True, "echo": True} | USAGE),
    ("completions, stream, n = 3", COMPLETIONS, TEXT | {"stream": True, "n": 3, "seed": 1, "temperature": 0.5} | USAGE),
    ("completions, stream, three prompts", COMPLETIONS, TEXT | {"prompt": ["One", "Two", "Three"], "stream": True} | USAGE),
    ("completions, stream, prompt as ids", COMPLETIONS, TEXT | {"prompt": [1, 2, 3, 4], "stream": True}),
    ("chat, whole", CHAT, TALK),
    ("chat, stream", CHAT, TALK | {"stream": True}),
    ("chat, stream, usage", CHAT, TALK | {"stream": True} | USAGE),
    ("chat, stream, continuous usage", CHAT, TALK | {"stream": True} | EACH),
    ("chat, stream, token ids", CHAT, TALK | {"stream": True, "return_token_ids": True}),
    ("chat, stream, n = 3", CHAT, TALK | {"stream": True, "n": 3, "seed": 1, "temperature": 0.5} | USAGE),
    ("responses, whole", "/v1/responses", {"input": "Count to ten.", "max_output_tokens": 12, "temperature": 0}),
    ("responses, stream", "/v1/responses",
     {"input": "Count to ten.", "max_output_tokens": 12, "temperature": 0, "stream": True}),
    ("messages, whole", "/v1/messages", TALK),
    ("messages, stream", "/v1/messages", TALK | {"stream": True}),
]

TRIES = 5

# What differs between two answers to the same request.
MASKS = [
    (rb'"(created|created_at|completed_at|start_time)":\s*[0-9.]+', rb'"\1":0'),
    (rb'"metrics":\{[^{}]*\}', rb'"metrics":{}'),
    (rb'\b(resp|msg|cmpl|chatcmpl|rs|chatcmpl-tool)[-_][0-9a-f-]{8,}', rb"\1-id"),
    (rb'"cached_tokens":\d+', rb'"cached_tokens":0'),
]


def ask(url, path, body):
    """Status and body of one request."""
    request = urllib.request.Request(
        url + path,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", "x-request-id": "conformance"},
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def masked(body, request):
    for pattern, replacement in MASKS:
        body = re.sub(pattern, replacement, body)
    if request.get("n", 1) > 1 or isinstance(request.get("prompt"), list):
        # The engine sends the events of several choices in the order in which they come about.
        body = b"\n\n".join(sorted(body.split(b"\n\n")))
    return body


def usage_of(body):
    """Prompt and output tokens that an answer states for the whole, streamed or not."""
    found = None
    texts = [line[5:] for line in body.split(b"\n") if line.startswith(b"data:")] or [body]
    for text in texts:
        try:
            told = json.loads(text)
        except ValueError:
            continue
        told = told.get("response") or told.get("message") or told
        usage = told.get("usage")
        if usage:
            found = {**(found or {}), **{key: value for key, value in usage.items() if value is not None}}
    if not found:
        return None
    prompt = found.get("prompt_tokens", found.get("input_tokens"))
    if "prompt_tokens" not in found:
        prompt += found.get("cache_read_input_tokens", 0) if "cache_read_input_tokens" in found else 0
    return prompt, found.get("completion_tokens", found.get("output_tokens"))


class Loadproof:
    """The binary in front of the engine, on ports of the system's choice."""

    def __init__(self, binary, engine, *settings):
        command = [binary, "proxy", "--upstream", engine, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        for setting in settings:
            command += ["--set", setting]
        command += ["--log-format", "json"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            fields = json.loads(line).get("fields", {})
            if fields.get("message") == "listening":
                self.url, self.admin = (f"http://{fields[name]}" for name in ("listen", "admin"))
                return
        sys.exit("loadproof did not start")

    def totals(self):
        """Sums of the counters and histogram sums that matter, by name and labels."""
        with urllib.request.urlopen(self.admin + "/metrics") as page:
            lines = page.read().decode().splitlines()
        totals = {}
        for line in lines:
            if line.startswith("loadproof_") and " " in line:
                key, value = line.rsplit(" ", 1)
                totals[key] = float(value)
        return totals

    def measured(self, path, body):
        """The answer, and what the counters moved by."""
        before = self.totals()
        answer = ask(self.url, path, body)
        for _ in range(100):
            after = self.totals()
            moved = {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}
            if any(key.startswith("loadproof_requests_total") for key in moved):
                return answer, moved
            time.sleep(0.05)
        return answer, {}

    def stop(self):
        self.process.terminate()
        self.process.wait()


def total(moved, name):
    return sum(value for key, value in moved.items() if key.split("{")[0] == name)


def sources(moved):
    """The sources that the output tokens were counted by."""
    found = []
    for key in moved:
        if key.startswith("loadproof_output_tokens_total"):
            found.append(re.search(r'source="([^"]*)"', key).group(1))
    return " + ".join(sorted(found))


def case(loadproof, engine, name, path, body):
    """One row of the table, and whether it is as it should be."""
    status, direct = ask(engine, path, body)
    if status != 200:
        return f"| {name} | the engine refuses it ({status}) | | | |", True
    expected = usage_of(direct)
    if expected is None:
        expected = usage_of(ask(engine, path, body | USAGE)[1])
    # A reader that lags behind the engine gets outputs merged, so that two answers may be cut into events differently.
    for _ in range(TRIES):
        (status, through), moved = loadproof.measured(path, body)
        same = status == 200 and masked(through, body) == masked(direct, body)
        if same:
            break
        direct = ask(engine, path, body)[1]
    ours = total(moved, "loadproof_input_tokens_total"), total(moved, "loadproof_output_tokens_total")
    asks = "stream" not in body or "stream_options" in body or "usage" in name or path not in (COMPLETIONS, CHAT)
    # Without usage the prompt is unknown, unless it was given as ids or comes back as ids.
    input_right = ours[0] == expected[0] or (not asks and ours[0] == 0)
    right = same and input_right and ours[1] == expected[1]
    input_shown = int(ours[0]) if ours[0] or expected[0] == 0 else "unknown"
    return (
        f"| {name} | {'equal' if same else 'DIFFERENT'} | {expected[0]} / {input_shown} "
        f"| {expected[1]} / {int(ours[1])} | {sources(moved)} |",
        right,
    )


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    engine, model = sys.argv[1].rstrip("/"), sys.argv[2]
    binary = sys.argv[3] if len(sys.argv) == 4 else "target/release/loadproof"
    with urllib.request.urlopen(engine + "/version") as answer:
        version = json.load(answer)["version"]
    print(f"vLLM {version}\n")
    print("| case | bytes | prompt tokens, engine / loadproof | output tokens, engine / loadproof | counted by |")
    print("| --- | --- | --- | --- | --- |")
    failed = 0
    loadproof = Loadproof(binary, engine, "engine.kind=vllm")
    for name, path, body in CASES:
        row, right = case(loadproof, engine, name, path, body | {"model": model})
        failed += not right
        print(row if right else row + " **wrong**", flush=True)
    differences = {key: value for key, value in loadproof.totals().items() if "engine_time_difference" in key}
    loadproof.stop()
    loadproof = Loadproof(binary, engine, "engine.kind=vllm", "engine.usage=inject")
    for name, path, body in CASES:
        if "stream_options" in body or not body.get("stream") or path not in (COMPLETIONS, CHAT):
            continue
        body = body | {"model": model}
        # The first of a route goes as it is.
        loadproof.measured(path, body)
        row, right = case(loadproof, engine, name + ", usage injected", path, body)
        failed += not right
        print(row if right else row + " **wrong**", flush=True)
    loadproof.stop()
    print("\nOur times beside the engine's own:\n")
    for quantity in sorted({re.search(r'quantity="([^"]*)"', key).group(1) for key in differences}):
        of = {key: value for key, value in differences.items() if f'quantity="{quantity}"' in key}
        count = sum(value for key, value in of.items() if "_count" in key)
        sums = {
            re.search(r'ours="([^"]*)"', key).group(1): value for key, value in of.items() if "_seconds_sum" in key
        }
        mean = (sums.get("longer", 0) - sums.get("shorter", 0)) / count if count else 0
        print(f"- {quantity}: {int(count)} requests, ours longer by {mean * 1e3:.2f} ms on average")
    sys.exit(1 if failed else 0)


main()
