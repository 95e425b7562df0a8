"""A service that is open to other machines, for real: it speaks TLS, to its users, under its name."""

import ssl
from pathlib import Path

import httpx
import pytest

from helpers.service import ServiceClient
from helpers.started_service import list_of_users, started_service, unhurried
from helpers.tls import NAME, certificate_in
from helpers.waiting import PATIENCE


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
            assert session.json()["user"] == "ann"
        with pytest.raises(httpx.ConnectError):  # whoever does not know the certificate
            httpx.get(url, timeout=PATIENCE)
        with pytest.raises(httpx.RemoteProtocolError):  # and without TLS
            httpx.get(f"http://127.0.0.1:{port}", timeout=PATIENCE)
