"""The gate and the public files: a release is made only from what an audit has shown safe."""

from cellveil.publishing.publication import Labels, Publication, TablePart
from cellveil.publishing.releasing import FORMATS, Release, check_room, release, write_release

__all__ = [
    "FORMATS",
    "Labels",
    "Publication",
    "Release",
    "TablePart",
    "check_room",
    "release",
    "write_release",
]
