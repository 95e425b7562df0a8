"""Files of tables, patterns and publications: readers and writers of each format."""
