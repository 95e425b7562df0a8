"""Files of tau-ARGUS about tables: metadata, records, cells, hierarchies, recodings, statuses, results."""
