"""Calls a second, the server's CPU time a call and its memory, for MCP servers over HTTP with one tool. Every server has
the same client, on the same machine. Rounds are interleaved. Prints JSON lines.
Usage: bench.py [server ...]   (env ROUNDS=3 SECONDS=2 CONNECTIONS=1,16,64)"""
import collections, json, os, pathlib, socket, statistics, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from yardstick import ROOT, build, python

BIN = ROOT / "target/release"
ROUNDS, LENGTH = int(os.environ.get("ROUNDS", "3")), os.environ.get("SECONDS", "2")
CONNECTIONS = os.environ.get("CONNECTIONS", "1,16,64").split(",")
FASTMCP = [ROOT / "target/python/bin/python", ROOT / "python/fastmcp_server.py"]
# server: (command without its port, arguments after it, the mode of the client)
SERVERS = {
    "ours, sessions": ([BIN / "http-ours"], [], "session"),
    "ours, stateless": ([BIN / "http-ours"], [], "stateless"),
    "rmcp, sessions": ([BIN / "http-rmcp"], [], "session"),
    "rmcp, stateless, JSON": ([BIN / "http-rmcp"], ["json"], "stateless"),
    "rmcp, stateless, events": ([BIN / "http-rmcp"], [], "stateless"),
    "fastmcp, sessions": (FASTMCP, [], "session"),
    "fastmcp, stateless, JSON": (FASTMCP, ["json"], "stateless"),
}


def serve(command, more):
    """Starts a server on a free port and waits until it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*command, str(port), *more], stdout=subprocess.DEVNULL)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, port
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{command} does not listen")


def main():
    names = sys.argv[1:] or list(SERVERS)
    for package in ["http-load", "http-ours", "http-rmcp"]:
        build(package)
    if any("fastmcp" in name for name in names):
        python()
    runs = collections.defaultdict(list)
    for _ in range(ROUNDS):
        for name in names:
            command, more, mode = SERVERS[name]
            server, port = serve(command, more)
            try:
                for connections in CONNECTIONS:
                    load = [BIN / "http-load", str(port), mode, connections, LENGTH, str(server.pid)]
                    runs[name, connections].append(json.loads(subprocess.run(load, check=True, stdout=subprocess.PIPE, text=True).stdout))
            finally:
                server.terminate()
                server.wait()
    for (name, connections), rows in runs.items():
        median = {key: statistics.median(row[key] for row in rows) for key in ["calls_a_second", "server_us_a_call", "resident_kb"]}
        print(json.dumps({"kind": "http", "server": name, "connections": int(connections), **median}), flush=True)


if __name__ == "__main__":
    main()
