"""A service that is open to other machines, for real: it speaks TLS, to its users, under its name."""

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from helpers.service import ServiceClient
from helpers.started_service import list_of_users, started_service, unhurried
from helpers.waiting import PATIENCE

NAME = "tables.example.org"


def certificate_in(folder: Path) -> list[str]:
    """Make a certificate that nobody else has signed, with its key; returns the options that name them."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl to make a certificate with")
    made = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-noenc",
        "-days",
        "2",
    ]
    names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([program, *made, *names, *files], check=True, capture_output=True)
    return ["--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem")]


def test_a_public_service_speaks_tls_to_its_users(tmp_path: Path) -> None:
    options = [*certificate_in(tmp_path), "--host", "0.0.0.0", "--public", "--name", NAME, *unhurried()]
    token = list_of_users(tmp_path / "users.txt", "ann")["ann"]
    files = ["--users", str(tmp_path / "users.txt"), "--state", str(tmp_path / "state")]
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    with started_service(*options, *files) as address:
        assert address.startswith("https://")
        port = address.rstrip("/").rpartition(":")[2]
        asked = {"headers": {"Host": NAME}, "extensions": {"sni_hostname": NAME}}
        url = f"https://127.0.0.1:{port}"
        with ServiceClient(base_url=url, verify=trusting, timeout=PATIENCE) as client:
            page = client.get("/", **asked)
            assert page.status_code == 200 and "strict-transport-security" in page.headers
            assert client.get("/api/v1/about", **asked).status_code == 401
            assert client.get("/", **(asked | {"headers": {"Host": "elsewhere.org"}})).status_code == 421
            session = client.post("/api/v1/session", json={"token": token}, **asked)
            assert session.json()["user"] == "ann" and "secure" in session.headers["set-cookie"].lower()
        with pytest.raises(httpx.ConnectError):  # whoever does not know the certificate
            httpx.get(url, timeout=PATIENCE)
        with pytest.raises(httpx.RemoteProtocolError):  # and without TLS
            httpx.get(f"http://127.0.0.1:{port}", timeout=PATIENCE)
