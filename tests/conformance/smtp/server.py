"""A real SMTP server, aiosmtpd, for the tests of the e-mail toolset (examples/tests/email.rs, which starts it).

    python tests/conformance/smtp/server.py

Needs `pip install aiosmtpd trustme`. Prints a line of JSON with its ports and the certificate to trust, then one for each
message that arrived, as Python's own `email` package reads it. Ends when its standard input does.

By the name of the recipient it refuses, is busy, hangs or hangs up: see `Handler` and `Server`.
"""

import asyncio
import base64
import json
import ssl
import sys
from email import message_from_bytes, policy

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword, syntax

USER, PASSWORD = b"ada", "correct horse äöü".encode()


def say(line) -> None:
    print(json.dumps(line), flush=True)


class Handler:
    """Answers by the recipient's name, and tells of what it took."""

    AT_RECIPIENT = {
        "unknown": "550 5.1.1 No such user here",
        "relay": "554 5.7.1 Relay access denied",
        "flood": "450 4.7.28 Too many messages, slow down",
        "quota": "550 5.4.5 Daily user sending quota exceeded",
        "full": "452 4.2.2 The mailbox is over its quota",
        "login": "530 5.7.0 Authentication required",
        "closing": "421 4.3.2 Service shutting down",
    }
    AT_END = {
        "spam": "554 5.7.1 This looks like spam",
        "busy": "451 4.3.0 Try again later",
        "throttled": "454 4.7.0 Throttling failure: Maximum sending rate exceeded.",
    }

    def __init__(self):
        self.greylisted = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.partition("@")[0]
        if name in self.AT_RECIPIENT:
            return self.AT_RECIPIENT[name]
        if name.startswith("grey") and address not in self.greylisted:
            self.greylisted.add(address)
            return "451 4.7.1 Greylisted, please try again in a minute"
        if name == "stuck":
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].partition("@")[0]
        if name in self.AT_END:
            return self.AT_END[name]
        if name == "hang":
            await asyncio.sleep(3600)
        if name == "gone":
            server.transport.abort()
        tls = session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None
        say(arrived(session, envelope, tls))
        return "250 2.0.0 Taken"


def arrived(session, envelope, tls: bool) -> dict:
    """What there is to compare, decoded by the `email` package."""
    message = message_from_bytes(envelope.content, policy=policy.default)
    body = message.get_payload(decode=True)
    return {
        "mail_from": envelope.mail_from,
        "rcpt_tos": envelope.rcpt_tos,
        "options": envelope.mail_options,
        "user": session.auth_data.decode() if session.auth_data else None,
        "tls": tls,
        "headers": {name.lower(): str(value) for name, value in message.items()},
        "names": [name for name, _ in message.items()],
        "type": message.get_content_type(),
        "charset": message.get_content_charset(),
        "defects": [repr(defect) for defect in message.defects],
        "body": body.decode(),
        "longest_line": max(len(line) for line in envelope.content.split(b"\r\n")),
    }


def authenticate(server, session, envelope, mechanism, data) -> AuthResult:
    right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER, PASSWORD)
    return AuthResult(success=True, auth_data=data.login) if right else AuthResult(success=False, handled=False)


class Server(SMTP):
    """One that echoes a password that it did not take, as no server should."""

    @syntax("AUTH <mechanism>")
    async def smtp_AUTH(self, arg):
        if self.echoes and arg and arg.upper().startswith("PLAIN "):
            password = base64.b64decode(arg.split()[1]).split(b"\0")[2].decode()
            return await self.push(f"535 5.7.8 I do not know {password}")
        return await super().smtp_AUTH(arg)

    echoes = False


def server(handler, echoes: bool = False, **options):
    def make():
        made = Server(handler, hostname="localhost", authenticator=authenticate, **options)
        made.echoes = echoes
        return made

    return make


async def main() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    handler, utf8 = Handler(), {"enable_SMTPUTF8": True}
    login = utf8 | {"auth_required": True, "auth_require_tls": False}
    kinds = {
        "plain": (server(handler, **utf8), None),
        "ascii": (server(handler), None),
        "login": (server(handler, **login), None),
        "login_only": (server(handler, auth_exclude_mechanism=["PLAIN"], **login), None),
        "echo": (server(handler, echoes=True, **login), None),
        "starttls": (server(handler, tls_context=context, require_starttls=True, **utf8, auth_required=True), None),
        "tls": (server(handler, **login), context),
        # Takes connections and never greets.
        "silent": (asyncio.Protocol, None),
    }
    loop, ports, servers = asyncio.get_running_loop(), {}, []
    for kind, (factory, tls) in kinds.items():
        servers.append(await loop.create_server(factory, "localhost", 0, ssl=tls, family=2))
        ports[kind] = servers[-1].sockets[0].getsockname()[1]
    say({"ports": ports, "certificate": authority.cert_pem.bytes().decode()})
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
