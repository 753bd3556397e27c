"""What plans reckon: reach, orders of nodes, periods of agents, what is left of an advice."""
from math import exp, log, sqrt

from help import Case
from noiselab_run import (acceptance_plan, advise_next, agent_record, agent_switched, document, plan,
                          schedule, settings, stability)


def rehearsed(rounds=400, half_ns=10**7, n_halves=30, pattern='periodic', design='lockin'):
    return document.of_program('{"design": "%s", "rounds": %d, "halves_per_round": %d, "half_ns": %d, '
                               '"treatments": [{"pattern": "periodic"}, {"pattern": "%s"}]}'
                               % (design, rounds, n_halves, half_ns, pattern))


class Reach(Case):
    def test_scatter(self):
        """the assumed scatter goes through its figures, straight in logarithms between them"""
        for half, figure in ((0.01, 0.5), (1, 2.1), (5, 4), (0.001, 0.5)):
            self.assertAlmostEqual(plan.assumed_scatter(half, False), figure)
        self.assertAlmostEqual(plan.assumed_scatter(0.1, False), sqrt(0.5 * 2.1))
        self.assertAlmostEqual(plan.assumed_scatter(10, False),
                               exp(log(4) + (log(4) - log(2.1)) / log(5) * log(2)))
        self.assertAlmostEqual(plan.assumed_scatter(0.01, True) * sqrt(2 / 0.01), 4)

    def test_reach(self):
        """a plan says what it takes and how small a slowdown can be seen, or how long would do"""
        # 400 pairs: (2.326 + 1.645) * 4 % / sqrt(400)
        self.assertEqual('400 pairs of 10 ms for each operation and level: by time a slowdown of 0.79 % '
                         'can be seen (assumed: pairs scatter by 4 %)', plan.reach(rehearsed(), 1))
        self.assertIn('400 pairs of 10 ms', plan.reach(rehearsed(100), 4))
        self.assertIn('scatter by 7.1 %', plan.reach(rehearsed(pattern='poisson'), 1))
        self.assertEqual('5 pairs of 10 ms for each operation and level: too few, a test at alpha 0.01 needs '
                         '7; --seconds 0.3 would do', plan.reach(rehearsed(5, n_halves=4), 1))
        self.assertIn('pairs of 500 us', plan.reach(rehearsed(half_ns=500000), 1))
        self.assertEqual(plan.reach(rehearsed(design='single'), 1), '')

    def test_forecast(self):
        """what launches take adds up, by parts and in total"""
        made = schedule.Plan()
        for label, seconds, settling in (('every 1s', '30', 10), ('every 1s', '30s', 10),
                                         ('every 9s', '90s', 45)):
            made.row('-', '-', '2', ['--seconds', seconds], settling * 10**9, label)
        made.before_s = 5
        forecast = plan.Forecast(made, 2, 10**8, 10)
        # three starts of 2 s; 1,500 segments of 100 ms, each with 0.3 ms
        self.assertEqual(forecast.say(), '3 launches, total 3 min 56 s: 5 s to record the agent, '
                         '2 min 30 s of measuring, 65 s of settling after switches, '
                         '6 s to start and switch, 10 s for the answer')
        self.assertEqual(forecast.say_parts(), 'every 1s: 2 launches, 60 s of measuring and 20 s of '
                         'settling; every 9s: 1 launch, 90 s of measuring and 45 s of settling')
        made.answer_s, made.start_s = 0, None
        self.assertAlmostEqual(plan.Forecast(made, 0, 0, 10).total_s, 5 + 150 + 65)
        made.parts = made.parts[:2]
        self.assertEqual(plan.Forecast(made, 0, 0, 10).say_parts(), '')

    def test_lost(self):
        """a value that is not there is named, and nothing is guessed"""
        self.refused("there is no value 'rounds'", plan.reach, document.of_program('{"design": "lockin"}'),
                     1, status=70)
        self.refused("there is no value 'treatments.*.pattern'",
                     document.of_program('{"treatments": [{}]}').all, 'treatments.*.pattern', status=70)
        self.refused('what a program printed: ', document.of_program, 'x', status=70)


class Plans(Case):
    def test_orders(self):
        """orders of nodes reach every node, and begin with another one each time"""
        for n in (1, 2, 3, 4, 6, 7, 12):
            firsts = set()
            for turn in range(n):
                first, step = map(int, acceptance_plan.order_of_nodes(turn, n, n).split(':'))
                self.assertEqual(sorted((first + i * step) % n for i in range(n)), list(range(n)))
                firsts.add(first)
            self.assertEqual(len(firsts), n)
        self.assertEqual([acceptance_plan.order_of_nodes(turn, 3, 7) for turn in range(3)],
                         ['0:1', '2:2', '4:3'])

    def test_self_check(self):
        """a self-check has its load, and ten times that for a short while where a CPU holds it"""
        known = {'': [('1', '40s', '1000ms'), ('10', '5000ms', '125ms')],
                 '2:10s': [('2', '10s', '250ms'), ('20', '3000ms', '100ms')], '6%': [('6', '40s', '1000ms')]}
        for wanted, launches in known.items():
            self.assertEqual([tuple(each)[:3] for each in acceptance_plan.SelfCheck(wanted).launches()],
                             launches)
        self.assertFalse(acceptance_plan.SelfCheck('none').is_on)

    def test_settling(self):
        """what is not measured after a start is at least a second, whole periods and a half one"""
        for period in (1, 3 * 10**8, 7 * 10**8, 2 * 10**9, 3 * 10**9):
            settle = agent_switched.settle_of(period)
            self.assertGreaterEqual(settle, 10**9)
            self.assertEqual((settle - (period + 1) // 2) % period, 0)
            self.assertTrue(settle - period < 10**9)
        self.assertEqual([agent_switched.settle_of(0), agent_switched.settle_of(4 * 10**9)],
                         [10**9, 2 * 10**9])

    def test_traces(self):
        """a recording without its start is as much shorter, and its share is of the time that is left"""
        trace = '# name: x\n# span_ns: 1000\n10 5 0 a\n400 50 3 a b\n900 25 3\n'
        rest = '# name: x\n# span_ns: 600\n0 50 3 a b\n500 25 3\n'
        self.assertEqual(agent_record.trimmed(trace, 400), rest)
        self.assertEqual(agent_record.share_of(trace), (4.0, ['0', '3']))
        self.assertEqual(agent_record.share_of(rest), (12.5, ['3']))
        self.assertEqual(agent_record.share_of('# span_ns: 1000\n'), (0.0, []))

    def test_counts(self):
        """blocks of so many operations take what the look says, for seven sets; too short ones are refused"""
        self.assertEqual(stability.of_count('4', '-', '10000', [2000.0, 4000.0], 10),
                         ('4', '-', '10000', 30001, 10, 4000))
        self.assertEqual(stability.of_count('4', '-', '1000000', [2000.0, 4000.0], 10)[4:], (133, 10000))
        self.refused('--counts: 1000 operations take about 2000 us with 4 rank(s)', stability.of_count, '4',
                     '-', '1000', [2000.0], 10)

    def test_sizes(self):
        """sizes are bytes; one that is none makes none of all"""
        self.assertEqual(settings.bytes_of_sizes('1,2KiB,3MiB,4B'), [1, 2048, 3145728, 4])
        for sizes in ('', '0', '1,', '1KB', '1234567890', '1.5KiB'):
            self.assertEqual(settings.bytes_of_sizes(sizes), [])
        words = settings.environment_of(settings.mapping_words('socket,rank-by-core'))
        self.assertEqual(words['PRTE_MCA_rmaps_default_mapping_policy'], 'package')


class Replanned(Case):
    LINES = ['# launches: 4', '# stages: 2,3,4', 'launch\tset\tnodes\tranks\targuments'] + [
        'ID-%04d\t-\t-\t2\t--rotate=%d\t--op\tall\t--seconds\t9s\t--seed\t%d' % (i, i, 70 + i)
        for i in range(1, 5)]

    def test_fewer(self):
        """launches that are left keep names, seeds and places, with the operations and the time that go on"""
        made = advise_next.replanned(self.LINES, {'ID-0001', 'ID-0002'},
                                {'op': 'some', 'seconds': '5', 'stages': '2,3', 'launches': '1'}, 2)
        self.assertEqual(made[:2] + made[3:5], ['# launches: 3', '# stages: 2,3'] + self.LINES[3:5])
        self.assertEqual(made[5:], ['ID-0003\t-\t-\t2\t--rotate=3\t--op\tsome\t--seconds\t5s\t--seed\t73'])

    def test_more(self):
        """more launches count on from the last one, in the places of the first ones"""
        made = advise_next.replanned(self.LINES, {'ID-0001', 'ID-0002'},
                                {'op': 'some', 'seconds': '5', 'stages': '9', 'launches': '5'}, 2)
        self.assertEqual([line.split('\t')[0] for line in made[3:]], ['ID-%04d' % i for i in range(1, 8)])
        self.assertEqual(made[6:], ['ID-%04d\t-\t-\t2\t--rotate=%d\t--op\tsome\t--seconds\t5s\t--seed\t%d'
                                    % (i, place, 70 + i)
                                    for i, place in ((4, 4), (5, 1), (6, 2), (7, 3))])

    def test_none(self):
        """where all is decided nothing goes on"""
        made = advise_next.replanned(self.LINES, {'ID-0001'}, {'launches': '0', 'stages': '1'}, 1)
        self.assertEqual([line for line in made if line.startswith('ID')], self.LINES[3:4])
