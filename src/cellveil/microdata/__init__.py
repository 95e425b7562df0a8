"""From records to a table with all margins, by DuckDB and out of core."""
