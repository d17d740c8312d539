"""The ledger of reservations between passes: its files, what ends a reservation, and its rounds."""
