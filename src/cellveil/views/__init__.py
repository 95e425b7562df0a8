"""What people see of tables in notebooks: frames of their cells, and coloured views that fold."""

from cellveil.views.table_views import view_of

__all__ = ["view_of"]
