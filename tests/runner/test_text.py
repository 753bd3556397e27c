"""Words, times, quoting and orders."""
import os
import subprocess

from help import Case
from noiselab_run import text


class Text(Case):
    def test_quoted(self):
        """what is quoted is read by a shell, and by us, as it was"""
        words = ['a', '', "it's", 'two words', '$HOME', '`x`', '-x=1', 'a;b', "'", 'ü', '*', '\\']
        read = subprocess.run(['sh', '-c', 'printf "%s\\n" ' + text.quoted(words)],
                              stdout=subprocess.PIPE).stdout
        self.assertEqual(read.decode().split('\n')[:-1], words)
        self.assertEqual(text.unquoted(text.quoted(words)), words)
        self.assertEqual(text.quoted(['noiselab', '--op', 'a,b:8', "it's"]), "noiselab --op a,b:8 'it'\\''s'")

    def test_nanoseconds(self):
        """times are whole nanoseconds, exact to the ninth digit, and what is no time is 0"""
        known = {'1': 10**9, '1.5': 1500000000, '.5s': 500000000, '1.ms': 1000000, '0.000000001s': 1,
                 '0.1us': 100, '1.9ns': 1, '2min': 120 * 10**9,
                 '8760h': 8760 * 3600 * 10**9, '1e3': 0, '1m': 0, '-1s': 0, '': 0, 's': 0,
                 '123.456789ms': 123456789}
        self.assertEqual({each: text.nanoseconds(each) for each in known}, known)
        self.assertEqual([text.is_time(each) for each in ('1s', '1.5ms', '.5h', '1', 's', '1 s', '')],
                         [True] * 3 + [False] * 4)

    def test_say_time(self):
        """times for people are seconds, minutes to the nearest (halves to the even one), or hours and minutes
        """
        known = {0: '0 s', 119: '119 s', 120: '2 min', 150: '2 min', 151: '3 min', 210: '4 min',
                 7199: '120 min', 7200: '2 h 0 min', 9000: '2 h 30 min'}
        self.assertEqual({each: text.say_time(each) for each in known}, known)
        self.assertEqual([text.say_ns(ns) for ns in (1500, 2345678, 3 * 10**9)],
                         ['1.5 us', '2.346 ms', '3 s'])

    def test_decimals(self):
        """numbers have no more digits than it takes"""
        self.assertEqual([text.decimals(n, 10**9) for n in (0, 100000000, 10**9, 10 * 10**9, 1234567890)],
                         ['0', '0.1', '1', '10', '1.23456789'])

    def test_shuffled(self):
        """an order is that of the minimal standard generator, for each set its own, and holds every item once
        """
        def order(seed, n):
            # by hand: twenty numbers are passed over, then one is drawn for each place from the last one on
            state = seed + 1
            for _ in range(20):
                state = 16807 * state % (2**31 - 1)
            items = list(range(n))
            for i in range(n - 1, 0, -1):
                state = 16807 * state % (2**31 - 1)
                j = int((i + 1) * state / (2**31 - 1))
                items[i], items[j] = items[j], items[i]
            return items
        for seed in (1, 5, 1795877107):
            self.assertEqual([int(item) for _, item in text.shuffled(seed, 1, [str(i) for i in range(9)])],
                             order(seed, 9))
        many = text.shuffled(3, 40, ['a', 'b', 'c'])
        self.assertEqual([turn for turn, _ in many], [i for i in range(1, 41) for _ in range(3)])
        self.assertEqual({''.join(sorted(item for turn, item in many if turn == i)) for i in range(1, 41)},
                         {'abc'})
        self.assertEqual(len({''.join(item for turn, item in many if turn == i) for i in range(1, 41)}), 6)
        self.assertEqual(text.shuffled(999999999999999999, 1, ['x']), [(1, 'x')])

    def test_lists(self):
        """lists of ranks, and lists with empty parts"""
        self.assertEqual([text.powers_of_two(first, last) for first,
                          last in ((1, 8), (2, 6), (1, 1), (2, 1))], ['1,2,4,8', '2,4,6', '1', '1'])
        self.refused("--x: 'a,,b' has an empty part (try 1,2)", text.parts_of, '--x', 'a,,b', '1,2')

    def test_refusals(self):
        """what is no number, seed, level or margin is refused"""
        for value in ('0', '01', '-1', '1.5', 'x', '', '１'):
            self.refused('is not a positive whole number', text.whole, '--x', value)
        self.refused('more than 18 digits', text.countable, '1234567890123456789')
        for value in ('0', '.', '', '1%', '1e3', '-1'):
            self.refused('is not a level in percent above 0 (try 5)', text.check_level, '--x', value, '5')
        for value in ('1', '0.5%', '.5', '1%:nodes=1000,every=1ms', '2:every=10us,nodes=7',
                      '1%:nodes=1000,every=1ms,unseen=2ms'):
            text.check_margin(value)
        for value in ('0', 'x', '1%%', '1%:nodes=1000', '1%:every=1ms', '1%:nodes=0,every=1ms',
                      '1%:nodes=5,every=0ms', '1%:nodes=5,every=1ms,', '1%:', '1%:unseen=2ms',
                      '1%:nodes=5,every=1ms,unseen=2', '1%:nodes=5,every=1ms,unseen=0ms'):
            self.refused('--margin: ', text.check_margin, value)
        # a program has a step of its own
        text.check_margin('1%:nodes=1000', True)
        self.refused('--margin: ', text.check_margin, '1%:every=1ms', True)

    def test_note(self):
        """what is said holds nothing that a terminal would obey, and bytes that are no text stay"""
        read, write = os.pipe()
        kept = os.dup(2)
        os.dup2(write, 2)
        text.note('a\033]0;b\007', os.fsdecode(b'\xff\xc3\xbc'), 'c\td')
        os.dup2(kept, 2)
        os.close(kept)
        os.close(write)
        self.assertEqual(os.read(read, 100), b'noiselab-run: a?]0;b? \xff\xc3\xbc c\td\n')
        os.close(read)

    def test_lines(self):
        """of what programs print one line is said"""
        self.assertEqual(text.first_line('\n  \nfoo\nbar'), 'foo')
        self.assertEqual(text.first_line(''), '')
        self.assertEqual(text.first_line_with_letters('-----\n 1 2\nsaid'), 'said')
        self.assertEqual(text.last_words('a\nb ' + 'x' * 300 + '\n----\n'), 'b ' + 'x' * 198)
        self.assertEqual(text.without_name('noiselab-record: no: way\nmore'), 'no: way')
