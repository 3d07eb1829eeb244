#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Says what must be built for the tests that were chosen by options of ctest, in a folder where nothing is built yet.

usage: test_targets.py FOLDER [CTEST-OPTION]...
       test_targets.py --stems VERB STEM...
       test_targets.py --check FOLDER

The first form prints one target of ninja in each line, or `everything`. ctest itself chooses, among the tests that are
configured and those that the doctest programs will have, which are read from their sources: TEST_CASE,
TEST_CASE_FIXTURE, and TEST_CASE_TEMPLATE with its types. What a test needs stands in its command: files that ninja
makes, and such files that are named in lists that CMake wrote. A test that gets the whole build folder as an argument
needs everything.

The second form prints a regular expression for the tests whose names begin with one of the stems, and ends with status
2 where a stem names none. The third form compares the lists of the programs that are built with what was foreseen.
"""

import difflib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = "everything"

# ---- sources of doctest programs -------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/
    | (?P<raw>R"(?P<mark>[^(\s]*)\((?P<inside>.*?)\)(?P=mark)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | '(?:\\.|[^'\\\n])+'
    | (?P<word>\w[\w']*)
    | (?P<other>::|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t"}


def tokens_of(text):
    """The words, strings and other signs of a piece of C++, without comments. A string begins with a quotation mark."""
    for match in TOKEN.finditer(text):
        if match["raw"]:
            yield '"' + match["inside"]
        elif match["string"]:
            yield '"' + re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), match["string"][1:-1])
        elif match["word"] or match["other"]:
            yield match[0]


def split_arguments(tokens):
    """The arguments of a call, each a list of tokens, from what stands behind its opening parenthesis."""
    arguments, depth = [[]], 0
    for token in tokens:
        if token in "([{<":
            depth += 1
        elif token in ")]}>":
            depth -= 1
            if depth < 0:
                return arguments
        if token == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments


def string_in(argument):
    """The adjacent strings at the beginning of an argument."""
    text = ""
    for token in argument:
        if not token.startswith('"'):
            break
        text += token[1:]
    return text


class Source:
    """What a file says of test cases: the cases, macros that stand for lists of types, and names of types."""

    MACROS = ("TEST_CASE", "TEST_CASE_FIXTURE", "TEST_CASE_TEMPLATE", "TYPE_TO_STRING_AS")

    def __init__(self, text):
        self.cases = []  # a name and its types; None where it is no template
        self.macros = {}  # to lists of types; one that is defined twice has the types of both
        self.type_names = {}  # from a type without its namespaces to the names with which it is printed
        tokens = list(tokens_of(text))
        for place, token in enumerate(tokens):
            if token in Source.MACROS and tokens[place + 1 : place + 2] == ["("]:
                arguments = split_arguments(tokens[place + 2 :])
                if token == "TEST_CASE_FIXTURE":
                    del arguments[0]
                name = string_in(arguments[0])
                types = ["".join(argument) for argument in arguments[1:]]
                if token == "TYPE_TO_STRING_AS":
                    self.type_names.setdefault(plain(",".join(types)), set()).add(name)
                else:
                    self.cases.append((name, types[1:] if token == "TEST_CASE_TEMPLATE" else None))
        for macro, body in re.findall(r"^ *# *define (\w+)((?:\\\n|[^\n])*)", text, re.MULTILINE):
            arguments = split_arguments(tokens_of(body.replace("\\\n", " ")))
            self.macros.setdefault(macro, []).extend("".join(argument) for argument in arguments)


def plain(type_name):
    return re.sub(r"\w+::", "", type_name)


class Foreseen:
    """The tests that a program will have, from its source and from the headers of the tests."""

    def __init__(self, headers):
        self.headers = [Source(text) for text in headers]

    def types(self, source, given):
        """The types that a list stands for. A macro with parameters chooses some of its arguments; all are taken."""
        for each in given:
            name, parenthesis, inside = each.partition("(")
            expansions = [known.macros[name] for known in (source, *self.headers) if name in known.macros]
            if not expansions:
                yield each
            elif parenthesis:
                yield from self.types(source, ("".join(argument) for argument in split_arguments(tokens_of(inside))))
            else:
                yield from self.types(source, expansions[0])

    def type_names(self, source, each):
        for known in (source, *self.headers):
            if plain(each) in known.type_names:
                return known.type_names[plain(each)]
        return set()

    def names(self, text):
        """The names of the test cases of a source; and the types whose names are unknown, since no TYPE_TO_STRING_AS
        gives one."""
        source = Source(text)
        names, unknown = set(), set()
        for name, given in source.cases:
            if given is None:
                names.add(name)
                continue
            for each in self.types(source, given):
                type_names = self.type_names(source, each)
                names.update(f"{name}<{type_name}>" for type_name in type_names)
                if not type_names:
                    unknown.add(each)
        return names, unknown


# ---- what is configured ----------------------------------------------------------------------------------------------

ADDED = re.compile(r"^ *add_test\((.*)\)$", re.MULTILINE)
WORD = re.compile(r'\[(=*)\[(?P<bracket>.*?)\]\1\]|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<plain>[^\s"\[]\S*)', re.DOTALL)


def words_of(text):
    """The arguments of a command in a file that CMake wrote."""
    for match in WORD.finditer(text):
        if match["quoted"] is not None:
            yield re.sub(r"\\(.)", r"\1", match["quoted"])
        else:
            yield match["bracket"] if match["bracket"] is not None else match["plain"]


class Folder:
    """A folder in which CMake has configured."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        self.commands = {}  # of each test
        self.programs = {}  # from the stem of a doctest program to its target and its label
        self.lists = {}  # from such a stem to the file of its tests, which exists when the program is built
        if (self.path / "CTestTestfile.cmake").exists():
            self.read(self.path)

    def read(self, folder):
        text = (folder / "CTestTestfile.cmake").read_text()
        for below in re.findall(r'^subdirs\("(.*)"\)$', text, re.MULTILINE):
            self.read(folder / below)
        for added in ADDED.findall(text):
            name, *command = words_of(added)
            self.commands[name] = command
        for stem in re.findall(r'^include\(".*/test_(\w+)\.include\.cmake"\)$', text, re.MULTILINE):
            label = re.search(r"LABELS (\S+)\)", (folder / f"test_{stem}.include.cmake").read_text())
            self.programs[stem] = (f"test_{stem}", label[1])
            self.lists[stem] = folder / f"test_{stem}.ctest.cmake"

    def made(self):
        """From the whole path of each file that ninja can make to the target that makes it."""
        outputs = {}
        with open(self.path / "build.ninja") as rules:
            for rule in rules:
                if not rule.startswith("build "):
                    continue
                for output in rule[6:].split(": ")[0].split():
                    output = output.removeprefix("${cmake_ninja_workdir}")
                    outputs[str(self.path / output)] = output
        return outputs

    def needs(self, name, made):
        """The targets that a configured test needs; None where it needs everything."""
        needed = set()
        for word in self.commands[name]:
            if word == str(self.path):
                return None
            needed |= self.needs_of_word(word, made)
        return needed

    def needs_of_word(self, word, made):
        needed = set()
        for path in {word, word.partition("=")[2]}:
            if path in made:
                needed.add(made[path])
            elif path.startswith(f"{self.path}/") and path.endswith((".json", ".txt")) and Path(path).is_file():
                needed |= {made[each] for each in re.findall(r'[^\s"]+', Path(path).read_text()) if each in made}
        return needed


# ---- what is chosen --------------------------------------------------------------------------------------------------

# Options of ctest that choose tests, by their names. Those with numbers of tests, or with the result of the last run,
# can't be foreseen.
CHOOSING = re.compile(
    r"-(R|E|L|LE|FA|FS|FC)|--(tests-regex|exclude-regex|label-regex|label-exclude|fixture-exclude-(any|setup|cleanup))"
)
UNFORESEEN = re.compile(
    r"-[IUDMTS]|--(tests-information|union|rerun-failed|build-and-test|dashboard|test-model|test-action|script)"
)


def choice_of(options):
    """The options that choose, and whether the chosen tests can be foreseen."""
    chosen, foreseen, takes_value = [], True, False
    for option in options:
        name = option.split("=")[0]
        if takes_value:
            chosen.append(option)
            takes_value = False
        elif CHOOSING.fullmatch(name):
            chosen.append(option)
            takes_value = "=" not in option
        elif UNFORESEEN.fullmatch(name):
            foreseen = False
    return chosen, foreseen


def bracket(text):
    return f"[====[{text}]====]"


def chosen_tests(folder, foreseen, options):
    """The names of the tests that ctest chooses, among those that are configured and those that are foreseen."""
    lines = [f"subdirs({bracket(folder.path)})"]
    for stem, names in foreseen.items():
        for name in sorted(names):
            test = bracket(f"{stem}: {name}")
            lines.append(f"add_test({test} {bracket(sys.executable)})")
            lines.append(f"set_tests_properties({test} PROPERTIES LABELS {bracket(folder.programs[stem][1])})")
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        command = ["ctest", "--test-dir", work, "--show-only=json-v1", *options]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [test["name"] for test in json.loads(listing)["tests"]]


# ---- names of tests --------------------------------------------------------------------------------------------------


def sources_of_programs(root):
    """From the stem of each doctest program to its source. The rooms of the tests are those of the headers."""
    folders = [root / "tests", *(root / "tests" / room.name for room in (root / "include" / "tidemark").glob("*/"))]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.cpp"))}


def foreseen_names(root, stems):
    """From the stem of each doctest program to the names of its test cases, where `not built` is the one that it has
    then; and from some to types whose names are unknown."""
    foreseen = Foreseen(path.read_text() for path in sorted((root / "tests").rglob("*.hpp")))
    sources = sources_of_programs(root)
    names, unknown = {}, {}
    for stem in stems:
        its_names, its_unknown = foreseen.names(sources[stem].read_text())
        names[stem] = its_names | {"not built"}
        if its_unknown:
            unknown[stem] = its_unknown
    return names, unknown


def stems_of(root):
    """Everything that a name of a test may begin with: programs of tests and model checks, mutants, kinds of tests."""
    stems = {"house", "soak", "fuzz", "example", "audit", "trace_page", *sources_of_programs(root)}
    for table in root.glob("tests/model/programs.table"):
        rows = [line.split("|") for line in table.read_text().split("\n") if not line.startswith("#")]
        stems.update(row[0].strip() for row in rows if len(row) > 1)
    stems.update(path.stem for path in root.glob("tests/model/*/mutants/*.mutant"))
    return stems


def wrong_stem(given, stems):
    """What to say of the first of the given stems that is none, or nothing."""
    for stem in given:
        if stem not in stems:
            near = difflib.get_close_matches(stem, sorted(stems), 3)
            near += sorted(each for each in stems if stem and stem in each and each not in near)[: 6 - len(near)]
            return f"there are no tests of '{stem}'" + (f"; do you mean {', '.join(near)}?" if near else "")
    return ""


def expression_for(stems):
    """The regular expression of ctest for the tests of some stems."""
    names = "|".join(stems)
    return f"^(({names}): |(model|twin) ({names})($|[ ,:]))"


# ---- the program -----------------------------------------------------------------------------------------------------


def program_of(name, folder):
    """The stem of the doctest program to which a test belongs, or nothing."""
    stem = name.split(": ")[0]
    return stem if stem in folder.programs and name not in folder.commands else ""


def targets_of(folder, root, options):
    """The targets that the chosen tests need; None where that is everything."""
    options, can_be_foreseen = choice_of(options)
    if not can_be_foreseen or not options or not folder.commands:
        return None
    foreseen, unknown = foreseen_names(root, folder.programs)
    made = folder.made()
    needed = {folder.programs[stem][0] for stem in unknown}  # perhaps
    for name in chosen_tests(folder, foreseen, options):
        stem = program_of(name, folder)
        needs = {folder.programs[stem][0]} if stem else folder.needs(name, made)
        if needs is None:
            return None
        needed |= needs
    return needed


def unforeseen(folder, root):
    """What was not foreseen of the tests that built programs have."""
    foreseen, unknown = foreseen_names(root, folder.programs)
    for stem, types in sorted(unknown.items()):
        yield f"{stem}: no TYPE_TO_STRING_AS gives a name to {', '.join(sorted(types))}"
    for stem in sorted(folder.programs):
        if not folder.lists[stem].exists():
            continue
        for added in ADDED.findall(folder.lists[stem].read_text()):
            name = next(words_of(added))
            if name.removeprefix(f"{stem}: ") not in foreseen[stem]:
                yield f"this test was not foreseen: {name}"


def main(arguments):
    if not arguments or arguments == ["--help"]:
        print(__doc__)
        return 0 if arguments else 2
    if arguments[0] == "--stems":
        verb, stems = arguments[1], arguments[2:]
        wrong = wrong_stem(stems, stems_of(ROOT))
        if wrong:
            print(f"dev: {verb}: {wrong}", file=sys.stderr)
            return 2
        print(expression_for(stems))
        return 0
    if arguments[0] == "--check":
        complaints = list(unforeseen(Folder(arguments[1]), ROOT))
        print("\n".join(complaints) or "all tests of the programs that are built were foreseen")
        return 1 if complaints else 0
    targets = targets_of(Folder(arguments[0]), ROOT, arguments[1:])
    print("\n".join([EVERYTHING] if targets is None else sorted(targets)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
