"""Rows read from files or Hub data sets and checked, a report on them, and their encoding."""

from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.splits import DataArguments, RowFormat, Rows

__all__ = ["DataArguments", "RowFormat", "Rows", "describe_data", "encode_rows", "load_rows", "report_rows"]
