"""What happened to every row. Names come from the module that owns them."""
