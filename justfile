# What people run. `just` alone lists it.

_default:
    @just --list

# Everything the gate runs.
ci:
    .ci/run

# Format, lints, docs, the size of the crates and the words of their docs.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
    python3 tests/project/house.py

# All tests: ui tests and doc tests included.
test *args:
    cargo test {{args}}

# Accept new golden files, expansion snapshots and ui messages; read the diff before you commit it.
bless:
    UPDATE=1 UPDATE_EXPECT=1 cargo test -p tool-core -p tool-macros --lib
    TRYBUILD=overwrite cargo test -p tests --test ui

# What the macros make of the calendar example (needs cargo-expand).
expand:
    cargo expand -p examples --example calendar toolset

# The property tests, long.
fuzz cases="20000":
    PROPTEST_CASES={{cases}} cargo test --release -p tests --test property
    PROPTEST_CASES={{cases}} cargo test --release -p tool-core --lib

# Calls against the hand-written floor: instructions (needs valgrind), allocations, medians.
bench:
    cargo bench -p tests --bench instructions --bench allocations --bench medians --bench governed --bench sessions --bench throughput --bench protocol --bench declare --no-fail-fast

# Loading agents from the cache and from SQLite: medians.
bench-agents:
    cargo bench -p tests --features agents --bench agents

# The fault table with its full numbers: a million sessions, names and calls.
soak:
    CHAOS_COUNT=1000000 cargo test --release -p tests --test chaos -- memory spans

# Compile time and binary size of a tool against the derives by hand; about ten minutes.
bench-compile:
    python3 tests/benches/compile_time.py

# Schemas, declarations, messages and the MCP server against what is not ours: the providers' types, other validators,
# the protocol's own suites. `just conformance --provider gemini` looks at one provider only.
conformance *args:
    python3 -m venv target/conformance
    target/conformance/bin/pip install --quiet -r tests/conformance/requirements.txt
    target/conformance/bin/python tests/conformance/meta_schema.py
    cargo build --package examples --example conformance_driver --example mcp_conformance --example mcp_server
    target/conformance/bin/python tests/conformance/run.py --driver target/debug/examples/conformance_driver {{args}}
    target/conformance/bin/python tests/conformance/prices.py --driver target/debug/examples/conformance_driver
    target/conformance/bin/python tests/conformance/mcp/run.py
    cargo build --package examples --example otel --example metrics --example conformance_report
    target/conformance/bin/python tests/conformance/otel/run.py
    target/conformance/bin/python tests/conformance/metrics.py
    target/conformance/bin/python tests/conformance/report.py

# Take over the prices of the `genai-prices` release that `tests/conformance/requirements.txt` names; read the diff.
prices:
    python3 -m venv target/conformance
    target/conformance/bin/pip install --quiet -r tests/conformance/requirements.txt
    target/conformance/bin/python tests/conformance/prices.py --write

# Licences, sources and banned features of all dependencies (needs cargo-deny).
deny:
    cargo deny check licenses bans sources

# Spans to a real collector, Arize Phoenix, and back (855 MB of packages).
otel-phoenix:
    python3 -m venv target/phoenix
    target/phoenix/bin/pip install --quiet arize-phoenix==20.26.1
    cargo build --package examples --example otel
    target/phoenix/bin/python tests/conformance/otel/phoenix.py

# What a span costs with a collector on, and what calls pay for spans where nobody looks (needs valgrind).
bench-trace:
    cargo bench -p tests --bench trace
    python3 tests/benches/trace_off.py

# Eight writers and eight readers on each store of agents, in one process and in eight, and writers that are killed.
# PostgreSQL where POSTGRES_URL names a server: `.ci/postgres start FOLDER` makes one and prints its URL.
soak-agents seconds="60":
    SOAK_SECONDS={{seconds}} cargo test --release -p tool-adapters --test agents -- --nocapture --test-threads 1 soak:: killed::
