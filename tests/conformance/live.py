"""The script of the example `voice_agent`: each message of its server is one that Gemini Live's types know."""

import json
import pathlib

from google.genai import types as genai

from providers import types

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "voice_agent" / "script.json"


def check() -> list[str]:
    sent = [step["send"] for connection in json.loads(SCRIPT.read_text()) for step in connection if "send" in step]
    awaited = {step["await"] for connection in json.loads(SCRIPT.read_text()) for step in connection if "await" in step}
    problems = [f"voice_agent: {problem}: {message}" for message in sent
                for problem in types.problems(genai.LiveServerMessage, message) or kept(message)]
    known = {field.alias or name for name, field in genai.LiveClientMessage.model_fields.items()}
    problems += [f"voice_agent: no client says {name}" for name in awaited if name not in known]
    return problems if sent else ["voice_agent: the script is empty"]


def kept(message) -> list[str]:
    """A type may drop what it does not know."""
    read = genai.LiveServerMessage.model_validate(message).model_dump(mode="json", by_alias=True, exclude_none=True)
    return [f"`{name}` is not kept" for name in message if name not in read]
