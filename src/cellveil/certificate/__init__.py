"""Certificates and their exact check. Nothing here imports a solver, an attack or a method."""

from cellveil.certificate.certificate import Certificate, read_certificate, write_certificate
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.certificate.verifier import Verification, verify

__all__ = ["Certificate", "NamedAttacker", "Verification", "read_certificate", "verify", "write_certificate"]
