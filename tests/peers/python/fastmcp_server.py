"""FastMCP's server over HTTP. Usage: fastmcp_server.py PORT [json]; with `json` it answers in JSON, without sessions."""
import logging
import sys
from dataclasses import dataclass

from fastmcp import FastMCP

mcp = FastMCP("calendar")
made = 0


@dataclass
class Created:
    id: int
    title: str
    end: str


@mcp.tool
async def create_event(title: str, start_time: str, duration_minutes: int, attendees: list[str], description: str | None = None) -> Created:
    """Create a calendar event"""
    global made
    made += 1
    t = (int(start_time[11:13]) * 60 + int(start_time[14:16]) + duration_minutes) % 1440
    return Created(100 + made % 900, title, f"{start_time[:11]}{t // 60:02}:{t % 60:02}{start_time[16:]}")


logging.disable(logging.CRITICAL)
json = len(sys.argv) > 2
mcp.run("http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp", show_banner=False, json_response=json, stateless_http=json,
        uvicorn_config={"log_level": "critical", "access_log": False, "timeout_keep_alive": 60})
