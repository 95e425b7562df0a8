"""The demo: microdata of invented firms as files, and a job file over them, as a user would bring both."""

from __future__ import annotations

from pathlib import Path

from cellveil.datasets.business import BusinessData
from cellveil.errors import InputError
from cellveil.files import write_text

JOB = """\
# Turnover of firms in three linked tables: industry by region, industry by size class, region by size class.
# Whoever could be recognised is hidden, in all three together, and an audit shows that it stays hidden.
title = "Turnover by industry, region and size class"
output = "."
labels = "data/labels.csv"

[microdata]
file = "data/firms.csv"
contributor = "firm"
holding = "holding"
weight = "weight"
request = "request"
waiver = "waiver"

[dimensions.industry]          # two levels, told by two columns of the data
column = "division"
levels = ["section"]

[dimensions.region]            # two overlapping hierarchies: by administration, and coast against inland
hierarchy = ["data/hier_region.csv", "data/hier_region_coast.csv"]

[dimensions.size]
hierarchy = "data/hier_size.csv"

[[tables]]
dimensions = ["industry", "region"]
response = "turnover"

[[tables]]
dimensions = ["industry", "size"]
response = "turnover"

[[tables]]
dimensions = ["region", "size"]
response = "turnover"

# A cell is unsafe when any of these fires.
[[rules]]
rule = "p%"
p = 10
level = "holding"

[[rules]]
rule = "threshold"
minimum = 3
safety_range = 20

[suppress]
method = "auto"
seed = 1
time_limit = 30                # seconds; the cheapest certified pattern by then is taken

[release]
source = "Invented firms"
unit = "EUR 1,000"
"""


JOB_FILE = "job.toml"


def check_demo_folder(folder: Path) -> None:
    """Raise unless the folder is new, empty, or of an earlier demo: nothing of the user is overwritten."""
    folder = Path(folder)
    if folder.is_file():
        raise InputError("a file where a folder is needed", file=folder, remedy="Name another folder.")
    mark = JOB.splitlines()[0]
    job = folder / JOB_FILE
    is_ours = job.is_file() and mark in job.read_text(encoding="utf-8", errors="replace")
    if folder.is_dir() and any(folder.iterdir()) and not is_ours:
        raise InputError(
            "the folder holds files that are not of the demo",
            file=folder,
            remedy="Name a new folder with --out.",
        )


def write_demo_job(data: BusinessData, folder: Path) -> Path:
    """Write the firms, their hierarchies and a job file; return the job file."""
    folder = Path(folder)
    data.write(folder / "data")
    write_text(folder / JOB_FILE, JOB)
    return folder / JOB_FILE
