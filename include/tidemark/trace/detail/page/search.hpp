// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_SEARCH_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_SEARCH_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_search[] =
    "\n// Finds what a reader types: words that all must match. A word matches a command or a span of work if it is a "
    "part of\n// the name of its queue, engine, fence or work, if it is \"wait\", \"signal\" or \"work\", or if it is "
    "the command's value.\n// Of a number in a name, a word must be the whole number.\n\n/// The signs between a fence"
    " and a value in our own labels: a reader may paste one of them.\nconst SIGNS = new Set(['=', '>=', '\\u2265']);\n"
    "\n/// Returns for each word which names hold it: [[whether]].\nfunction namesWith(words, names) {\n  const lower "
    "= names.map((name) => name.toLowerCase()), numbers = lower.map((name) => new Set(name.match(/\\d+/g)));\n  return"
    " words.map((word) => /^\\d+$/.test(word)\n    \? numbers.map((all) => all.has(word)) : lower.map((name) => name.i"
    "ncludes(word)));\n}\n\n/// Returns the matches of a text in the order of time, as targets (placeOf() in model.mjs"
    "); null if it has no word.\nfunction findMatches(model, text) {\n  const words = text.toLowerCase().split(/\\s+/)"
    ".filter((word) => word !== '' && !SIGNS.has(word));\n  if (words.length === 0) return null;\n  const lanes = name"
    "sWith(words, model.lanes.map(({name, engine}) => `${name}\\n${engine}`));\n  const fences = namesWith(words, mode"
    "l.fences), names = namesWith(words, model.workNames);\n  const found = [];\n  model.walk.forEach((command) => {\n"
    "    const parts = model.commands[command], kind = parts[IS_WAIT] \? 'wait' : 'signal';\n    const matches = (word"
    ", i) =>\n      word === parts[VALUE] || word === kind || lanes[i][parts[LANE]] || fences[i][parts[FENCE]];\n    i"
    "f (words.every(matches)) found.push({command});\n  });\n  model.work.forEach((parts, work) => {\n    const matche"
    "s = (word, i) => word === 'work' || lanes[i][parts[WORK_LANE]] || names[i][parts[WORK_NAME]];\n    if (words.ever"
    "y(matches)) found.push({work});\n  });\n  const time = new Map(found.map((target) => [target, placeOf(model, targ"
    "et).to]));\n  return found.sort((a, b) => time.get(a) - time.get(b));\n}\n\n/// Returns the places of matches as "
    "a series for each lane; the numbers of their items are indices of `matches`.\nfunction matchSeries(model, matches"
    ") {\n  const items = model.lanes.map(() => []);\n  matches.forEach((target, index) => {\n    const {lane, from, t"
    "o} = placeOf(model, target);\n    items[lane].push([from, to, index]);\n  });\n  return items.map(makeSeries);\n}"
    "\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_SEARCH_HPP
