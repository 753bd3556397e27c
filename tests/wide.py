"""wide.py FILE...: those that have lines of more than 110 columns (Markdown: 100, but for tables, code and
single links), on stdout."""
import re
import sys


def is_wide(path):
    is_page = path.endswith('.md')
    within = False  # a block of code
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            line = line.rstrip('\n')
            if is_page and line.startswith('```'):
                within = not within
            if not is_page and len(line) > 110:
                return True
            if is_page and len(line) > 100 and not within and not re.match(r'\||<!--|\s*\S+$', line):
                return True
    return False


for name in sys.argv[1:]:
    if is_wide(name):
        print(name)
