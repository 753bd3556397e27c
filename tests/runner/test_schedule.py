"""Schedules: rows, tasks, heads, damaged files, and which launches are complete."""
import json
import os

from help import Case
from noiselab_run import schedule
from noiselab_run.schedule import COLUMNS, Plan, Row, Schedule

HEAD = ('# schema: 1\n# experiment: sensitivity\n# margin_percent: -\n# lost: a n1\n# lost: b n2,n3\n'
        '# command: x: y')


class TheSchedule(Case):
    def made(self, *rows, head=HEAD):
        self.write('schedule.tsv', '\n'.join([head, COLUMNS] + list(rows)) + '\n')
        made = Schedule(self.folder)
        made.load()
        return made

    def complete(self, launch, text=None):
        self.write(launch + '/launch.json', text
                   or json.dumps({'launch': launch, 'ended': 'complete', 'ranks': 1}))

    def test_rows(self):
        """a plan has a line for each launch, numbered on, with its words between tabs"""
        plan = Plan()
        plan.number = 7
        plan.row('-', 'n1,n2', '4', ['--op', 'a b'])
        plan.suffix = '-selfcheck'
        plan.before = ['--follow=x']
        plan.row('3', '-', '-', ['--seed', '1'])
        self.assertEqual(plan.lines, ['%s-0008\t-\tn1,n2\t4\t--op\ta b' % plan.prefix,
                                      '%s-0009-selfcheck\t3\t-\t-\t--follow=x\t--seed\t1' % plan.prefix])
        for word in ('', 'a\tb', 'a\nb'):
            self.refused('cannot be kept in the schedule', plan.row, '-', '-', '1', [word])

    def test_times(self):
        """a launch takes what its last --seconds says"""
        self.assertEqual(Row('a\t-\t-\t1\t--seconds\t5\t--x\t--seconds\t1.5ms').measuring_ns, 1500000)
        self.assertEqual(Row('a\t-\t-\t1\t--x').measuring_ns, 0)
        self.assertEqual(Row('a\t-\tn1\t1\t--agent-cmd\ta  b').words, ['--agent-cmd', 'a  b'])

    def test_tasks(self):
        """launches of a set are one task, and any other launch is one"""
        rows = [Row('%s\t%s\t-\t1\t--seconds\t%d' % row)
                for row in (('a', '-', 1), ('b', '4', 2), ('c', '-', 4), ('d', '4', 8), ('e', '5', 16))]
        self.assertEqual(schedule.tasks_of(rows), 4)
        self.assertEqual([row.task for row in rows], [1, 2, 3, 2, 4])
        whole = Schedule(self.folder)
        whole.rows = rows
        self.assertEqual([whole.longest_seconds(True, 2), whole.longest_seconds(False, 2)], [19, 19])
        whole.rows = rows[:4]
        self.assertEqual([whole.longest_seconds(True, 2), whole.longest_seconds(False, 2)], [15, 11])

    def test_head(self):
        """keys of the head, which may come again; - is nothing"""
        made = self.made('a\t-\t-\t1\t--x')
        self.assertEqual([made.value(key) for key in ('schema', 'margin_percent', 'lost', 'command', 'none')],
                         ['1', '', 'a n1\nb n2,n3', 'x: y', ''])
        self.assertEqual(made.text() + '\n', open(self.folder + '/schedule.tsv').read())

    def test_damaged(self):
        """a line that is no launch of its own is named by its number"""
        good = 'a\t-\t-\t1\t--x'
        for bad in (good, 'b\t-\t-\t1', '.b\t-\t-\t1\t--x', '', 'b/c\t-\t-\t1\t--x'):
            self.assertEqual(self.made(good, bad).damaged, 9)
        self.assertEqual(self.made(good, head='x').damaged, 1)
        self.assertEqual(self.made(good).damaged, 0)

    def test_complete(self):
        """a launch is complete when it says so; one that was cut off is not, and what says nothing of its end
        is of another version"""
        made = self.made('a\t-\t-\t1\t--seconds\t1', 'b\t-\t-\t1\t--seconds\t2', 'c\t-\t-\t1\t--seconds\t4')
        self.complete('a')
        self.complete('b', '{"launch": "b", "en')
        self.complete('c', '{"launch": "c", "ended": null}')
        made.count()
        self.assertEqual((made.complete, made.n_planned, made.n_complete, made.left_ns),
                         ({'a'}, 3, 1, 6 * 10**9))
        self.assertEqual([schedule.is_complete(self.folder, launch) for launch in 'abcd'],
                         [True, False, False, False])
        self.complete('c', '{"launch": "c"}')
        self.refused("there is no value 'ended'", made.count, status=70)

    def test_change(self):
        """lines are changed in the schedule and in the one with the words as they are"""
        made = self.made('a\t-\t-\t1\t--x\t***')
        self.write('schedule.private.tsv', HEAD + '\n' + COLUMNS + '\na\t-\t-\t1\t--x\tsecret\n')
        made.add_to_head('# looks: 3')
        for name, word in (('schedule.tsv', '***'), ('schedule.private.tsv', 'secret')):
            self.assertEqual(open(os.path.join(self.folder, name)).read(),
                             '%s\n# looks: 3\n%s\na\t-\t-\t1\t--x\t%s\n' % (HEAD, COLUMNS, word))
        self.assertEqual(made.value('looks'), '3')
