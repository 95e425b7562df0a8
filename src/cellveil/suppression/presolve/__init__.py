"""Before a method sees the problem: fewer demands, cells at no cost, tied cells merged."""
