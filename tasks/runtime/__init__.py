"""What every part runs on: settings, errors, logs, retries. Knows no sheet and no ledger."""
