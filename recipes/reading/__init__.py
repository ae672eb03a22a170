"""Rows read from files or Hub data sets and checked, a report on them, and their encoding."""
