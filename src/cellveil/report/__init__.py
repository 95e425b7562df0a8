"""The internal report: figures for the office, as text, JSON and a page. It solves nothing."""

from cellveil.report.report import Report, build_report

__all__ = ["Report", "build_report"]
