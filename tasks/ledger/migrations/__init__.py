"""How a ledger came to look as it does, a step a file in `versions/`.

`callsheet ledger upgrade` applies those that a ledger lacks.
"""
