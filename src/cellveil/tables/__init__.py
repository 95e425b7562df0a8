"""Tables as cells and relations: hierarchies, building, linking, tabulating."""
