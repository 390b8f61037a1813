PAIRS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
         (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def to_roman(number):
    text = ""
    for value, letters in PAIRS:
        while number > value:
            text += letters
            number -= value
    return text


def from_roman(text):
    number = 0
    for value, letters in PAIRS:
        while text.startswith(letters):
            number += value
            text = text[1:]
    if text:
        raise ValueError(text)
    return number
