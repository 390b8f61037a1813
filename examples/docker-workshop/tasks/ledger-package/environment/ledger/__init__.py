from ledger.book import Ledger
from ledger.reader import load

__all__ = ["Ledger", "load"]
