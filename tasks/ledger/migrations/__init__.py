"""How a ledger came to look as it does, a step a file in `versions/`.

Each says in `works_with` the oldest schema whose programs work on what it makes: that of the step
before where it expands (columns that may be empty or fill themselves, tables, indexes), and the
release before it where it contracts, which drops what an earlier one names in `leaves` alone.
`tests/guards/test_migrations_expand.py` holds them to that; docs/decisions.md says why.
"""
