"""The internal report on suppression, audit and adjustment: figures as text, JSON and a page."""

from cellveil.report.report import Report, build_report

__all__ = ["Report", "build_report"]
