"""The demo: invented firms as files, and a job file over them, as a user would bring both."""

from __future__ import annotations

from pathlib import Path

from cellveil.datasets.business import BusinessData
from cellveil.files import write_text

JOB = """\
# Turnover of firms by industry, region and size: who can be recognised is hidden, and that is proven.
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

[dimensions.industry]
column = "industry"
hierarchy = "data/hier_division.csv"

[dimensions.region]
column = "region"
hierarchy = ["data/hier_province.csv", "data/hier_province_coast.csv"]

[dimensions.size]
hierarchy = "data/hier_size.csv"

[[tables]]
dimensions = ["industry", "region", "size"]
response = "turnover"
decimals = 0

# A cell is unsafe when any of these fires.
[[rules]]
rule = "p%"
p = 15
level = "holding"

[[rules]]
rule = "threshold"
minimum = 3
safety_range = 20

[suppress]
method = "auto"
seed = 1
"""


def write_demo_job(data: BusinessData, folder: Path) -> Path:
    """Write the firms, their hierarchies and a job file; return the job file."""
    folder = Path(folder)
    data.write(folder / "data")
    job = folder / "job.toml"
    write_text(job, JOB)
    return job
