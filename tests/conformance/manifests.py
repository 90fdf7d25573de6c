"""The files of examples/deploy, so that they cannot name what is not there.

    cargo build --all-features --bin tool-gateway --example mcp_server
    python tests/conformance/manifests.py

- the manifests, by the schemas of Kubernetes (`kubernetes-validate`), and each name in one that another has to have
- the Dockerfile: its toolchain, packages, programs and features, and the paths that one stage takes from another
- compose: its targets, files, secrets and programs
- the policy and the servers' file, by `tool-gateway --check`
- the times: what a container is given to end, against `limits.drain`

No image is built and no container is started.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "examples" / "deploy"
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
# The schemas of the oldest and of the newest Kubernetes. `preStop.sleep` is in use from 1.30 on.
VERSIONS = ("1.30", kubernetes_validate.latest_version())
# The time for the answers of cancelled calls and for open connections, after `limits.drain`.
LAST_ANSWERS = 5 + 10
# What all workers of a database share.
WORKER_VARIABLES = ("WORKER_DATABASE", "WORKER_SIGNING_KEY", "TOOL_SECRETS_KEYS")

problems: list[str] = []


def expect(holds: bool, problem: str) -> None:
    if not holds:
        problems.append(problem)


def cargo_packages() -> dict[str, dict]:
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return {package["name"]: package for package in metadata["packages"]}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, without comments, each with its arguments on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines()]


class Stage:
    def __init__(self, base: str):
        self.base = base
        self.programs: set[str] = set()
        self.environment: dict[str, str] = {}
        self.user = ""
        self.entry: list[str] = []
        self.arguments: list[str] = []


def check_build(command: str, packages: dict[str, dict]) -> str:
    """Checks one `cargo build`, and returns the program that it builds."""
    words = command.split()
    option = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("-")}
    package = packages.get(option.get("-p", ""))
    if package is None:
        problems.append(f"Dockerfile: no package of `{command}`")
        return ""
    for feature in option.get("--features", "").split(","):
        expect(feature in package["features"], f"Dockerfile: {package['name']} has no feature `{feature}`")
    kind = "example" if "--example" in option else "bin"
    name = option.get(f"--{kind}", "")
    built = next((target for target in package["targets"] if target["name"] == name and kind in target["kind"]), None)
    expect(built is not None, f"Dockerfile: {package['name']} has no {kind} `{name}`")
    needed = set((built or {}).get("required-features", []))
    missing = needed - set(option.get("--features", "").split(","))
    expect(not missing, f"Dockerfile: `{name}` needs the features {missing}")
    expect("--locked" in words and "--release" in words, f"Dockerfile: `{command}` is no locked release build")
    return f"/examples/{name}" if kind == "example" else f"/{name}"


def check_dockerfile(packages: dict[str, dict]) -> dict[str, Stage]:
    channel = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    stages: dict[str, Stage] = {}
    stage = Stage("")
    built: set[str] = set()
    installed: set[str] = set()
    for name, arguments in instructions((DEPLOY / "Dockerfile").read_text()):
        if name == "FROM":
            base, _, stage_name = arguments.partition(" AS ")
            inherited = stages.get(base)
            stage = Stage(base)
            if inherited:
                stage.user = inherited.user
            stages[stage_name] = stage
            if base.startswith("rust:"):
                expect(base.startswith(f"rust:{channel}-"), f"Dockerfile: `{base}` is not Rust {channel}")
        elif name == "RUN" and "cargo build" in arguments:
            for command in arguments.split("&&"):
                if "cargo build" in command:
                    built.add("target/release" + check_build(command[command.index("cargo") :], packages))
                elif "install " in command:
                    sources = command.split("/out", 1)[1].split()
                    for source in sources:
                        expect(source in built, f"Dockerfile: nothing builds {source}")
                        installed.add("/out/" + source.rsplit("/", 1)[1])
        elif name == "COPY" and arguments.startswith("--from="):
            source, target = arguments.split()[1:]
            expect(source in installed, f"Dockerfile: the first stage has no {source}")
            expect(target == "/usr/local/bin/", f"Dockerfile: {target} is not in PATH")
            stage.programs.add(source.rsplit("/", 1)[1])
        elif name == "ENV":
            stage.environment.update(pair.split("=", 1) for pair in arguments.split())
        elif name == "USER":
            stage.user = arguments
        elif name == "ENTRYPOINT":
            stage.entry = json.loads(arguments)
        elif name == "CMD":
            stage.arguments = json.loads(arguments)
    for target in ("gateway", "worker"):
        stage = stages.get(target) or Stage("")
        program = (stage.entry or [""])[0]
        expect(program in stage.programs, f"Dockerfile: the stage {target} has no program `{program}`")
        expect(stage.user.isdigit() and stage.user != "0", f"Dockerfile: {target} runs as `{stage.user}`, not as a number")
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
    expect("examples/deploy/secrets" in ignored, "Dockerfile.dockerignore: secrets would be in the image")
    return stages


def help_text(program: pathlib.Path) -> str:
    return subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout


def check_gateway(policy: dict) -> set[str]:
    """Checks the policy by the program itself, and returns the secrets that it reads."""
    text = (DEPLOY / "policy.toml").read_text()
    secrets = set(re.findall(r"\$\{file:secrets/([\w-]+)\}", text))
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "secrets").mkdir()
        for name in ("policy.toml", "mcp.json"):
            (place / name).write_text((DEPLOY / name).read_text())
        for secret in secrets:
            (place / "secrets" / secret).write_text(secret.encode().hex().ljust(64, "0")[:64] + "\n")
        environment = {
            "PATH": f"{TARGET / 'debug' / 'examples'}:{os.environ['PATH']}",
            "TOOL_GATEWAY_CONFIG": str(place / "mcp.json"),
            "TOOL_GATEWAY_POLICY": str(place / "policy.toml"),
        }
        checked = subprocess.run([TARGET / "debug" / "tool-gateway", "--check", "--http"], env=environment, capture_output=True, text=True)
    expect(checked.returncode == 0, f"tool-gateway --check: {checked.stdout}{checked.stderr}")
    # A rule that matches no tool, for example.
    expect("warning" not in (checked.stdout + checked.stderr).lower(), f"tool-gateway --check: {checked.stdout}{checked.stderr}")
    expect("0.0.0.0:" in policy["http"]["listen"], "policy.toml: no other machine reaches `http.listen`")
    return secrets


def seconds(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def check_compose(stages: dict[str, Stage], secrets: set[str], policy: dict) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    for name in ("gateway", "worker"):
        service = services[name]
        build = service["build"]
        expect((DEPLOY / build["context"]).resolve() == ROOT, f"compose: the context of {name} is not the project's root")
        expect((ROOT / build["dockerfile"]).is_file(), f"compose: no {build['dockerfile']}")
        expect(build["target"] in stages, f"compose: no stage {build['target']}")
        grace = seconds(service["stop_grace_period"])
        least = seconds(policy["limits"]["drain"]) + LAST_ANSWERS
        expect(grace >= least, f"compose: {name} is killed after {grace} s, and needs {least} s to end")
    environment = services["worker"]["environment"]
    expect(set(environment) == set(WORKER_VARIABLES), f"compose: the worker gets {sorted(environment)}, and needs {sorted(WORKER_VARIABLES)}")
    expect("volumes" not in services["worker"], "compose: the workers keep files that the others do not have")
    gateway = services["gateway"]
    mounted = {entry["target"] for entry in gateway["configs"] + gateway["secrets"]}
    for path in stages["gateway"].environment.values():
        expect(path in mounted, f"compose: the gateway has no {path}")
    folder = stages["gateway"].environment["TOOL_GATEWAY_POLICY"].rsplit("/", 1)[0]
    for secret in secrets:
        expect(f"{folder}/secrets/{secret}" in mounted, f"compose: the gateway has no secret {secret}")
    for kind in ("configs", "secrets"):
        used = [entry for service in services.values() for entry in service.get(kind, [])]
        used = {entry if isinstance(entry, str) else entry["source"] for entry in used}
        expect(used == set(compose[kind]), f"compose: {kind} are {sorted(compose[kind])}, used are {sorted(used)}")
    for config in compose["configs"].values():
        expect((DEPLOY / config["file"]).is_file(), f"compose: no {config['file']}")
    port = policy["http"]["listen"].rsplit(":", 1)[1]
    expect(any(entry.endswith(f":{port}") for entry in gateway["ports"]), f"compose: the gateway listens on {port}")
    for volume in compose["volumes"]:
        is_used = any(entry.startswith(f"{volume}:") for service in services.values() for entry in service.get("volumes", []))
        expect(is_used, f"compose: nothing uses the volume {volume}")


def pod_of(document: dict) -> dict:
    return document["spec"]["template"]["spec"]


def check_pods(deployment: dict, stage: Stage, policy: dict) -> None:
    name = deployment["metadata"]["name"]
    pod = pod_of(deployment)
    [container] = pod["containers"]
    security = {**pod["securityContext"], **container["securityContext"]}
    expect(security["runAsNonRoot"] and security["readOnlyRootFilesystem"], f"{name}: it may be root, or write its image")
    expect(not security["allowPrivilegeEscalation"] and security["capabilities"]["drop"] == ["ALL"], f"{name}: it has capabilities")
    expect(str(security["runAsUser"]) == stage.user, f"{name}: user {security['runAsUser']} is not the image's {stage.user}")
    expect(container["args"] == stage.arguments, f"{name}: the arguments {container['args']} are not the image's")
    sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    least = sleep + seconds(policy["limits"]["drain"]) + LAST_ANSWERS
    grace = pod["terminationGracePeriodSeconds"]
    expect(grace >= least, f"{name}: it is killed after {grace} s, and needs {least} s to end")
    known = help_text(TARGET / "debug" / "tool-gateway") + help_text(TARGET / "debug" / "examples" / "worker")
    known += (DEPLOY / "policy.toml").read_text()
    for variable in container.get("env", []):
        expect(variable["name"] in known, f"{name}: nothing reads the variable {variable['name']}")


def check_probes(deployment: dict, policy: dict) -> None:
    [container] = pod_of(deployment)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    listens = int(policy["http"]["listen"].rsplit(":", 1)[1])
    routes = (ROOT / "tool-adapters/gateway/src/health.rs").read_text()
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        request = container[kind]["httpGet"]
        expect(ports.get(request["port"]) == listens, f"{kind}: the gateway does not listen on {request['port']}")
        expect(f'.route("{request["path"]}"' in routes, f"{kind}: the gateway has no {request['path']}")
        host = next((header["value"] for header in request["httpHeaders"] if header["name"] == "Host"), "")
        expect(host in policy["http"]["hosts"], f"{kind}: the policy refuses the host `{host}`")
    expect(container["livenessProbe"]["httpGet"]["path"] != container["readinessProbe"]["httpGet"]["path"], "one path for both probes")


def check_kubernetes(stages: dict[str, Stage], secrets: set[str], policy: dict) -> None:
    kustomization = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    documents = []
    for resource in kustomization["resources"]:
        expect((DEPLOY / resource).is_file(), f"kustomization: no {resource}")
        documents += list(yaml.safe_load_all((DEPLOY / resource).read_text()))
    left_out = {path.name for path in (DEPLOY / "kubernetes").iterdir()} - {pathlib.Path(name).name for name in kustomization["resources"]}
    expect(not left_out, f"kustomization: it leaves out {left_out}")
    for document in documents:
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                problems.append(f"{document['kind']} {document['metadata']['name']}, Kubernetes {version}: {error}")

    if problems:
        # What follows reads documents of the right form.
        return
    of = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    gateway, worker = of["Deployment", "tool-gateway"], of["Deployment", "tool-worker"]
    check_pods(gateway, stages["gateway"], policy)
    check_pods(worker, stages["worker"], policy)
    check_probes(gateway, policy)

    labels = gateway["spec"]["template"]["metadata"]["labels"]
    service = of["Service", "tool-gateway"]["spec"]
    ports = {port["name"] for port in pod_of(gateway)["containers"][0]["ports"]}
    selectors = {
        "the Deployment": gateway["spec"]["selector"]["matchLabels"],
        "the Service": service["selector"],
        "the PodDisruptionBudget": of["PodDisruptionBudget", "tool-gateway"]["spec"]["selector"]["matchLabels"],
        "the spread": pod_of(gateway)["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    }
    for name, selector in selectors.items():
        expect(selector.items() <= labels.items(), f"{name} selects no pod of the gateway: {selector}")
    expect({port["targetPort"] for port in service["ports"]} <= ports, "the Service has another port")
    scaled = of["HorizontalPodAutoscaler", "tool-gateway"]["spec"]["scaleTargetRef"]
    expect((scaled["kind"], scaled["name"]) in of, f"the HorizontalPodAutoscaler scales {scaled}")
    expect("replicas" not in gateway["spec"], "the Deployment and the HorizontalPodAutoscaler set the replicas")

    [volume] = pod_of(gateway)["volumes"]
    maps = {source["configMap"]["name"] for source in volume["projected"]["sources"] if "configMap" in source}
    made = {entry["name"]: entry["files"] for entry in kustomization["configMapGenerator"]}
    expect(maps == set(made), f"the gateway mounts {maps}, and kustomization makes {set(made)}")
    [secret] = [source["secret"] for source in volume["projected"]["sources"] if "secret" in source]
    paths = {item["path"] for item in secret["items"]}
    expect(paths == {f"secrets/{name}" for name in secrets}, f"the policy reads {sorted(secrets)}, mounted are {sorted(paths)}")
    [mount] = pod_of(gateway)["containers"][0]["volumeMounts"]
    files = {f"{mount['mountPath']}/{name}" for name in made.get("tool-gateway", [])}
    expect(files == set(stages["gateway"].environment.values()), f"mounted are {files}")
    for name in made.get("tool-gateway", []):
        expect((DEPLOY / name).is_file(), f"kustomization: no {name}")
    images = {image["name"] for image in kustomization["images"]}
    used = {pod_of(document)["containers"][0]["image"] for document in (gateway, worker)}
    expect(images == used, f"kustomization names the images {images}, and the pods {used}")
    check_workers(worker, of["PodDisruptionBudget", "tool-worker"])


def check_workers(worker: dict, budget: dict) -> None:
    """Several pods share one database, so none may keep anything, and all have the same keys."""
    spec, pod = worker["spec"], pod_of(worker)
    expect(spec["replicas"] >= 2, "one pod of the worker is no help when it dies")
    expect("volumes" not in pod, "the pods of the worker keep files that the others do not have")
    labels = spec["template"]["metadata"]["labels"]
    selectors = [spec["selector"], budget["spec"]["selector"], pod["topologySpreadConstraints"][0]["labelSelector"]]
    for selector in selectors:
        expect(selector["matchLabels"].items() <= labels.items(), f"{selector} selects no pod of the worker")
    [container] = pod["containers"]
    secrets = {variable["name"]: variable["valueFrom"]["secretKeyRef"]["key"] for variable in container["env"]}
    expect(set(secrets) == set(WORKER_VARIABLES), f"the worker gets {sorted(secrets)}, and needs {sorted(WORKER_VARIABLES)}")
    text = (DEPLOY / "README.md").read_text()
    made = text.split("kubectl create secret generic tool-worker", 1)[1].split("kubectl", 1)[0]
    for key in secrets.values():
        expect(f"={key}=" in made or f"=secrets/{key}" in made, f"README.md: the Secret of the worker lacks {key}")


def check_readme(secrets: set[str]) -> None:
    text = (DEPLOY / "README.md").read_text()
    for secret in secrets:
        expect(f"> {secret}\n" in text, f"README.md: it does not say how to make {secret}")
        expect(f"--from-file=secrets/{secret}" in text, f"README.md: the Secret lacks {secret}")
    for name in re.findall(r"^\| `((?:TOOL|WORKER)_\w+)`", text, re.M):
        files = [path.read_text() for path in DEPLOY.rglob("*") if path.is_file() and path.name != "README.md"]
        named = any(name in file for file in files) or name in help_text(TARGET / "debug" / "tool-gateway")
        expect(named, f"README.md: nothing reads {name}")


def main() -> None:
    policy = tomllib.loads((DEPLOY / "policy.toml").read_text())
    stages = check_dockerfile(cargo_packages())
    secrets = check_gateway(policy)
    check_compose(stages, secrets, policy)
    check_kubernetes(stages, secrets, policy)
    check_readme(secrets)
    if problems:
        sys.exit("\n".join(problems))
    print(f"examples/deploy: Kubernetes {' and '.join(VERSIONS)}, {len(secrets)} secrets, {len(stages)} stages: no problem")


if __name__ == "__main__":
    main()
