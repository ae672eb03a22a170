"""Files and data sets of the Hub, made checked rows, and the report on them."""

from atenta.recipes.reading.load import DocumentArguments, about, encode, inspect, load, load_documents
from atenta.recipes.reading.splits import DataArguments, Rows

__all__ = ["DataArguments", "DocumentArguments", "Rows", "about", "encode", "inspect", "load", "load_documents"]
