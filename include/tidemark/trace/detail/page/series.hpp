// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_SERIES_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_SERIES_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_series[] =
    "</script>\n<script type=\"module\">\n// A series holds what one lane shows of one kind, for example its waits, in"
    " arrays sorted by begin. Whatever is in view\n// is found by binary search, so a frame costs as many steps as the"
    " lane has pixels, however many items there are.\n//\n//   begin[i]   when item i begins; never falls from one i t"
    "o the next\n//   reach[i]   the greatest end of the items 0 to i\n//   item[i]    the number that the owner gave "
    "the item, for example the index of a command\n//   sum[i]     how long the items 0 to i - 1 are together\n//   tr"
    "ee       a binary tree of maxima over the ends; its leaves start at tree[size]\n\n/// Returns the first index fro"
    "m `low` on with values[index] >= value, or values.length. `values` must not fall.\nfunction lowerBound(values, va"
    "lue, low = 0) {\n  let first = low, last = values.length;\n  while (first < last) {\n    const middle = (first + "
    "last) >> 1;\n    if (values[middle] < value) first = middle + 1;\n    else last = middle;\n  }\n  return first;\n"
    "}\n\n/// Returns the series of `items`, each of which is [begin, end, number]. Sorts `items`; of those with one b"
    "egin, the\n/// longest is the first, so that the others are drawn on top of it, and can be picked.\nfunction make"
    "Series(items) {\n  items.sort((a, b) => a[0] - b[0] || b[1] - a[1]);\n  const size = items.length;\n  const serie"
    "s = {\n    size,\n    begin: new Float64Array(size),\n    reach: new Float64Array(size),\n    item: new Int32Arra"
    "y(size),\n    sum: new Float64Array(size + 1),\n    tree: new Float64Array(2 * size),\n  };\n  let reach = -Infin"
    "ity;\n  items.forEach(([begin, end, number], i) => {\n    reach = Math.max(reach, end);\n    series.begin[i] = be"
    "gin;\n    series.reach[i] = reach;\n    series.item[i] = number;\n    series.sum[i + 1] = series.sum[i] + end - b"
    "egin;\n    series.tree[size + i] = end;\n  });\n  for (let i = size - 1; i > 0; --i) series.tree[i] = Math.max(se"
    "ries.tree[2 * i], series.tree[2 * i + 1]);\n  return series;\n}\n\n/// Returns when item i ends.\nconst endOf = ("
    "series, i) => series.tree[series.size + i];\n\n/// Returns the greatest end of the items `first` to `last` - 1, o"
    "r -Infinity if there are none.\nfunction greatestEnd(series, first, last) {\n  let result = -Infinity;\n  for (le"
    "t low = first + series.size, high = last + series.size; low < high; low >>= 1, high >>= 1) {\n    if (low & 1) re"
    "sult = Math.max(result, series.tree[low++]);\n    if (high & 1) result = Math.max(result, series.tree[--high]);\n"
    "  }\n  return result;\n}\n\n/// Returns an upper bound of the number of items between two times. It is exact unle"
    "ss items overlap.\nfunction countBetween(series, from, to) {\n  return Math.max(0, lowerBound(series.begin, to) -"
    " lowerBound(series.reach, from));\n}\n\n/// Returns how long the items are together between two times.\nfunction "
    "durationBetween(series, from, to) {\n  let sum = 0;\n  for (let i = lowerBound(series.reach, from); i < series.si"
    "ze && series.begin[i] < to; ++i) {\n    sum += Math.max(0, Math.min(endOf(series, i), to) - Math.max(series.begin"
    "[i], from));\n  }\n  return sum;\n}\n\n/// Returns the number of the item nearest to `time` and less than `slack`"
    " away, or -1. Where several items hold `time`,\n/// the one that begins last wins. Looks at the 200 items before "
    "`time` at most.\nfunction nearest(series, time, slack) {\n  let best = -1, least = slack;\n  const start = lowerB"
    "ound(series.begin, time + slack) - 1;\n  for (let i = start; i >= 0 && i > start - 200; --i) {\n    if (series.re"
    "ach[i] < time - slack) break;\n    const away = Math.max(series.begin[i] - time, time - endOf(series, i), 0);\n  "
    "  if (away < least) [best, least] = [series.item[i], away];\n    if (least === 0) break;\n  }\n  return best;\n}"
    "\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_SERIES_HPP
