"""What happened to every row: the names other packages may use.

Each is loaded with its own file when someone asks for it first."""
