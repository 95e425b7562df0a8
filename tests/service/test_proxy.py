"""The reverse proxy of the docs, for real: nginx with TLS in front of a service."""

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.service import FIRMS, JOB, ServiceClient
from helpers.started_service import list_of_users, started_service, unhurried
from helpers.tls import NAME, certificate_in
from helpers.waiting import PATIENCE, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def configured(folder: Path, upstream: str, port: int) -> str:
    """The configuration of the docs, with ports and files of this test, for a user without rights."""
    [block] = re.findall(r"```nginx\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("http://127.0.0.1:8765", upstream.rstrip("/")),
        ("/etc/ssl/tables.pem", str(folder / "cert.pem")),
        ("/etc/ssl/tables.key", str(folder / "key.pem")),
        ("client_header_timeout 20s", "client_header_timeout 600s"),
    ):
        assert block.count(old) == 1, old
        block = block.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    head = f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
    return f"{head}http {{\n{places}{block}}}\n"


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Address of the proxy, and the token of a user."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("there is no nginx")
    certificate_in(tmp_path)
    token = list_of_users(tmp_path / "users.txt", "ann")["ann"]
    given = ["--users", str(tmp_path / "users.txt"), "--state", str(tmp_path / "state")]
    with started_service("--behind-proxy", "--name", NAME, *given, *unhurried()) as upstream:
        port = free_port()
        (tmp_path / "nginx.conf").write_text(configured(tmp_path, upstream, port))
        process = subprocess.Popen([program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
        try:
            wait_until(lambda: process.poll() is not None or is_open(port))
            assert process.poll() is None, (tmp_path / "error.log").read_text()
            yield f"https://127.0.0.1:{port}", token
        finally:
            process.terminate()
            process.wait(60)


def is_open(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def test_a_job_through_the_proxy_of_the_docs(proxied: tuple[str, str], tmp_path: Path) -> None:
    url, token = proxied
    port = url.rpartition(":")[2]
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    headers = {
        "Authorization": f"Bearer {token}", "Host": f"{NAME}:{port}", "Origin": f"https://{NAME}:{port}"
    }  # fmt: skip
    with ServiceClient(base_url=f"{url}/api/v1", verify=trusting, timeout=PATIENCE, headers=headers) as ann:
        ann.event_hooks["request"] = [lambda asked: asked.extensions.update(sni_hostname=NAME)]
        assert ann.get(f"{url}/").status_code == 200
        assert ann.get("/about", headers={"Authorization": ""}).status_code == 401
        assert ann.get("/about", headers={"Origin": "https://elsewhere.org"}).status_code == 403
        large = FIRMS + "".join(f"g{n},N1,small,{n % 90}\n" for n in range(150_000))
        files = {"data/firms.csv": ann.send_file("firms.csv", large)["id"]}
        id = ann.submit(JOB, files)
        with ann.stream("GET", f"/jobs/{id}/events") as events:
            kinds = [line for line in events.iter_lines() if line.startswith("event: ")]
        assert kinds[-1] == "event: end"
        assert ann.job(id)["safe"]
        assert ann.get(f"/jobs/{id}/downloads/job.zip").content[:2] == b"PK"


def test_the_proxy_of_the_docs_limits_the_connections_of_an_address(
    proxied: tuple[str, str], tmp_path: Path
) -> None:
    """Of those whose head has come: the others have their time-out."""
    url, token = proxied
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    port = int(url.rpartition(":")[2])
    post = f"POST /api/v1/files?name=a HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer {token}\r\n"
    lines = []
    try:
        for _ in range(101):
            plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            lines.append(trusting.wrap_socket(plain, server_hostname=NAME))
            lines[-1].sendall(f"{post}Content-Length: 5000\r\n\r\nabc".encode())
        for line in lines:
            line.settimeout(0)
        wait_until(lambda: any(_has_503(line) for line in lines))
    finally:
        for line in lines:
            line.close()


def _has_503(line: ssl.SSLSocket) -> bool:
    try:
        return b" 503 " in line.recv(1000)
    except ssl.SSLWantReadError:
        return False
