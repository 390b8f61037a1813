from .convert import to_roman, from_roman
