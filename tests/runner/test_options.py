"""The table of options and how words are read."""
from help import Case
from noiselab_run.options import Options, rows_of

TABLE = '''
value op seconds stop-when=ends_when
maybe compare-replay
flag shell
list reference=references
'''


def read(*words):
    options = Options('sensitivity', TABLE)
    options.read(words, lambda name: None, lambda word: None)
    return options


class TheOptions(Case):
    def test_rows(self):
        """the first row of a name holds, and a name with dashes is a variable with underscores"""
        rows = rows_of(TABLE, 'seen stop-when\nflag no-report')
        self.assertEqual(rows['--stop-when'], ('--stop-when', 'value', 'ends_when'))
        self.assertEqual(rows['--no-report'].variable, 'no_report')
        self.assertEqual(Options('x', TABLE)['stop_when'], '')

    def test_words(self):
        """ours are taken out, and all others stay in their order, with their values"""
        options = read('--kind', 'spin', '--op', 'barrier', '--seconds=5', 'stray', '--shell', '--warmup=0s',
                       '--dry-run')
        self.assertEqual(options.words, ['--kind', 'spin', 'stray', '--warmup=0s', '--dry-run'])
        self.assertEqual((options['op'], options['seconds'], options['shell'], options['dry_run']),
                         ('barrier', '5', 'yes', 'yes'))
        self.assertEqual(options.foreign, ['--kind', '--warmup'])
        self.assertTrue(options.was_given('--kind') and not options.was_given('--levels'))

    def test_kinds(self):
        """a list comes again, a flag has no value, and one that may have one has it by ="""
        self.assertEqual(read('--reference', 'a b', '--reference=c')['references'], 'a b\nc')
        self.assertEqual([read(*words)['compare_replay']
                          for words in ([], ['--compare-replay'], ['--compare-replay=5s'])],
                         ['', 'yes', '5s'])
        self.refused('--shell takes no value', read, '--shell=no')
        self.refused('--op needs a value (see noiselab run sensitivity --help)', read, '--op')

    def test_program(self):
        """what stands behind -- is a program, whatever it looks like"""
        options = read('--op', 'x', '--', 'mpirun', '--op', "it's")
        self.assertEqual((options.program, options['op']), ("mpirun --op 'it'\\''s'", 'x'))

    def test_unknown(self):
        """an option of nobody is refused with what was meant; the beginning of one will do"""
        options = read('--kin', 'spin', '--levls=1')
        self.refused("'--levls': unknown option (see noiselab run sensitivity --help), --op and --kind",
                     options.refuse_unknown, ['--kind'],
                     lambda word, words: ', %s and %s' % (words[0], words[-1]))
        options.refuse_unknown(['--kind', '--levlsx'], lambda word, words: '')

    def test_as_words(self):
        """options given are words again, as a shell reads them"""
        options = read('--op', 'a b', '--shell', '--compare-replay=5 s', '--reference', 'x', '--reference',
                       'y z', '--kind', 'spin', '--seconds', '1')
        self.assertEqual(options.as_words({'seconds'}),
                         ["--op 'a b'", "--compare-replay='5 s'", '--shell', '--reference x',
                          "--reference 'y z'"])
