import unittest

from roman import from_roman, to_roman


class RomanTest(unittest.TestCase):
    def test_there_and_back(self):
        for number in range(1, 4000):
            self.assertEqual(from_roman(to_roman(number)), number)

    def test_known(self):
        self.assertEqual(to_roman(1994), "MCMXCIV")

    def test_refuses(self):
        with self.assertRaises(ValueError):
            from_roman("ABC")
