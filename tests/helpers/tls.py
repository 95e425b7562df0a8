"""A certificate that only its maker trusts, for services and proxies that speak TLS."""

import shutil
import subprocess
from pathlib import Path

import pytest

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
