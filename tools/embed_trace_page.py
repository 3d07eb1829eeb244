#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes the header include/tidemark/trace/detail/trace_page.hpp from the files in tools/trace_page/.

usage: embed_trace_page.py [--check] [--root FOLDER]

  --check        writes nothing; fails if the header is not what the files make
  --root FOLDER  of the repository; default: the folder above this program

Run it after each change below tools/trace_page/ and commit what it writes, so that users of the headers need no build
step. tools/trace_page/page.html is the page. In it are replaced:

  the link to the style sheet       by its text
  the script                        by the texts of all modules that it imports, each after those that it imports itself
  'self' in the security policy     by the hashes of both, so that a browser runs nothing else
  the data                          by that of a trace, when the page is written (trace_export.hpp)

The modules may use one form of import, `import {a, b} from './file.mjs';`, and export declarations only. Then the
imports can be left out, because in the page all modules share one scope, whose names must therefore differ.

Exit status: 0 if the header is as it should be, 1 if --check found that it is not, 2 for anything else.
"""

import argparse
import base64
import hashlib
import re
import sys
from pathlib import Path

SOURCE = "tools/trace_page"
TARGET = "include/tidemark/trace/detail/trace_page.hpp"
MOST_COLUMNS = 120  # as tests/house/check_lines.py has it
ESCAPES = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}  # of ?, because two of them begin a trigraph
MOST_BYTES = 16000  # of a string literal; some compilers take no more than 16,380

STYLE_LINK = '<link rel="stylesheet" href="page.css">\n'
SCRIPT = re.compile(r'<script type="module" src="(\w+\.mjs)"></script>\n')
DATA = re.compile(r'(?<=<script type="application/json" id="data">\n).*?(?=</script>\n)', re.DOTALL)
POLICY = " style-src 'self'; script-src 'self'"
IMPORT = re.compile(r"^import \{([\w\s,]+)\} from '\./(\w+\.mjs)';\n", re.MULTILINE)


class Problem(Exception):
    """Something in the files that this program can't handle."""


def split_once(text, separator, what):
    """Returns the text before and after `separator`, which must occur exactly once."""
    if text.count(separator) != 1:
        raise Problem(f"page.html must hold {what} exactly once")
    return text.split(separator)


def read_modules(folder, first):
    """Returns {stem: text} of the module `first` and all that it imports, without imports and exports."""
    modules = {}
    pending = []

    def visit(name):
        if Path(name).stem in modules:
            return
        if name in pending:
            raise Problem(f"{name} imports itself: {' -> '.join([*pending, name])}")
        pending.append(name)
        text = (folder / name).read_text(encoding="utf-8")
        for _, imported in IMPORT.findall(text):
            visit(imported)
        pending.pop()
        modules[Path(name).stem] = plain_script(name, text)

    visit(first)
    unused = sorted(path.name for path in folder.glob("*.mjs") if path.stem not in modules)
    if unused:
        raise Problem(f"{first} does not import {', '.join(unused)}")
    return modules


def plain_script(name, text):
    """Returns the text of a module without its imports and the word `export`."""
    text = IMPORT.sub("", text)
    text = re.sub(r"^export (?=(?:const|function|class)\b)", "", text, flags=re.MULTILINE)
    left = re.search(r"^\s*(?:import|export)\b.*", text, flags=re.MULTILINE)
    if left:
        raise Problem(f"{name}: this form of import or export is not understood: {left.group().strip()}")
    text = re.sub(r"\A// SPDX-License-Identifier: [^\n]+\n//\n", "", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def check_names(modules):
    """Fails if two modules declare the same name."""
    owner = {}
    for module, text in modules.items():
        names = re.findall(r"^(?:function\*?|class) (\w+)", text, flags=re.MULTILINE)
        for declaration in re.findall(r"^(?:const|let) (.*?);\n", text, flags=re.MULTILINE | re.DOTALL):
            names += re.findall(r"(?:^|, )\s*(\w+) = ", declaration)
        for name in names:
            if owner.setdefault(name, module) != module:
                raise Problem(f"{module}.mjs and {owner[name]}.mjs both declare {name}")


def hash_of(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def make_pieces(folder):
    """Returns the page as two dictionaries {name: text}: the pieces before and after the data."""
    page = (folder / "page.html").read_text(encoding="utf-8")
    style = (folder / "page.css").read_text(encoding="utf-8")
    found = DATA.findall(page)
    if len(found) != 1:
        raise Problem("page.html must hold one block of data")
    start, tail = split_once(page, found[0], "its data")
    start, head_end = split_once(start, STYLE_LINK, STYLE_LINK.strip())
    script = SCRIPT.search(tail)
    if not script:
        raise Problem("page.html must load its script after the data")
    modules = read_modules(folder, script.group(1))
    check_names(modules)
    all_scripts = "\n" + "\n".join(modules.values())
    before, after = split_once(start, POLICY, POLICY)
    start = f"{before}\n style-src {hash_of(style)};\n script-src {hash_of(all_scripts)}{after}"
    first, *others = modules
    pieces = {first: f'{tail[:script.start()]}<script type="module">\n{modules[first]}'}
    pieces.update({module: "\n" + modules[module] for module in others})
    pieces["tail"] = "</script>\n" + tail[script.end():]
    return {"head": start + "<style>", "style": style, "body": "</style>\n" + head_end}, pieces


def literal_lines(name, text):
    """Returns the lines of a string literal. They are as long as they may be: lines are what a header costs."""
    for forbidden in ("\r", "\t"):
        if forbidden in text:
            raise Problem(f"{name}: the text must not hold {forbidden!r}")
    if len(text.encode("utf-8")) > MOST_BYTES:
        raise Problem(f"{name}: more than {MOST_BYTES} bytes; split the file")
    lines = [""]
    for character in text:
        written = ESCAPES.get(character, character)
        if len(lines[-1]) + len(written) > MOST_COLUMNS - len('    "";'):
            lines.append("")
        lines[-1] += written
    return [f'    "{line}"' for line in lines]


HEADER = """// SPDX-License-Identifier: BSL-1.0
//
// The trace page, in pieces: those before the data, and those after it.
//
// Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_TRACE_PAGE_HPP
#define TIDEMARK_TRACE_DETAIL_TRACE_PAGE_HPP

namespace tidemark::detail {{

// clang-format off
{}
// clang-format on

}}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_TRACE_PAGE_HPP
"""


def array(name, pieces):
    lines = [f"inline constexpr const char* {name}[] = {{"]
    lines += [f"    trace_page_{piece}," for piece in pieces]
    return [*lines, "};"]


def make_header(root):
    before, after = make_pieces(root / SOURCE)
    body = []
    for name, text in {**before, **after}.items():
        body += [f"inline constexpr const char trace_page_{name}[] =", *literal_lines(name, text)]
        body[-1] += ";"
        body.append("")
    body += [*array("trace_page_before_data", before), "", *array("trace_page_after_data", after)]
    return HEADER.format("\n".join(body))


def read(path):
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main():
    parser = argparse.ArgumentParser(description="Makes the header of the trace page.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the header is out of date")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="of the repository")
    arguments = parser.parse_args()
    try:
        header = make_header(arguments.root)
    except (OSError, UnicodeDecodeError, Problem) as problem:
        print(f"embed_trace_page.py: {problem}", file=sys.stderr)
        return 2
    path = arguments.root / TARGET
    is_current = read(path) == header
    if arguments.check:
        print(f"{TARGET} is what {SOURCE}/ makes" if is_current
              else f"{TARGET} is not what {SOURCE}/ makes; run tools/embed_trace_page.py")
        return 0 if is_current else 1
    if not is_current:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(header)
        print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
