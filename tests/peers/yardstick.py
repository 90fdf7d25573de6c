"""The contestants: how they are built, and how the instructions of one call are counted."""
import os, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent
# work: calls under callgrind
WORKS = {"W1": 200, "W6": 200, "W2": 200, "W3": 20, "W4": 100, "W5": 4}
# What would change a build or a count, and is set by whoever starts this.
SETTINGS = re.compile(r"^(CARGO_(TARGET_DIR|BUILD_|PROFILE_|ENCODED_RUSTFLAGS|INCREMENTAL)|RUSTFLAGS|RUSTC_|GLIBC_TUNABLES)")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not SETTINGS.match(name)}


def build(package, *features):
    """Builds one package in release and returns its program. One command for each, so that the cargo features of one
    contestant do not reach another."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", "-p", package, "--features", ",".join(features)]
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True)
    return ROOT / "target/release" / package


def python():
    """Returns the Python that has the frameworks of python/requirements.txt, installed on first use."""
    venv = ROOT / "target/python"
    wanted = (ROOT / "python/requirements.txt").read_text()
    have = venv / "requirements.txt"
    if not have.exists() or have.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", "-r", ROOT / "python/requirements.txt"], check=True)
        have.write_text(wanted)
    return venv / "bin/python"


def instructions(program, variant, work):
    """Returns the instructions of one call, or None if the variant does not have this work."""
    calls = WORKS[work]
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder, "counts")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", "--toggle-collect=*measured_region*"]
        subprocess.run([*command, program, "callgrind", variant, work, str(calls)], env=ENVIRONMENT, check=True, capture_output=True)
        total = int(re.findall(r"^(?:totals|summary): (\d+)", counts.read_text(), re.M)[-1])
    return total // calls or None
