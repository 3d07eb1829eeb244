// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_STATISTICS_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_STATISTICS_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_statistics[] =
    "\n// What the queues did in a range of time, in numbers.\n\n/// Returns the numbers of one lane. A wait counts if"
    " it stalled its queue and has a time in common with the range; its\n/// whole length counts for the mean and the "
    "greatest, but only the part within the range for `parked`.\nfunction laneStatistics({name, engine, work, waits, s"
    "ignals}, from, to) {\n  let stalls = 0, stalled = 0, greatest = 0;\n  for (let i = lowerBound(waits.reach, from);"
    " i < waits.size && waits.begin[i] <= to; ++i) {\n    const length = endOf(waits, i) - waits.begin[i];\n    if (le"
    "ngth <= 0 || endOf(waits, i) < from) continue;\n    ++stalls;\n    stalled += length;\n    greatest = Math.max(gr"
    "eatest, length);\n  }\n  let signalled = 0;\n  for (let i = lowerBound(signals.begin, from); i < signals.size && "
    "signals.begin[i] <= to; ++i) ++signalled;\n  const working = durationBetween(work, from, to), parked = durationBe"
    "tween(waits, from, to);\n  return {name, engine, working, parked, signals: signalled, stalls, mean: stalls > 0 \?"
    " stalled / stalls : null,\n          greatest: stalls > 0 \? greatest : null};\n}\n\n/// Returns the numbers of a"
    "ll lanes between two times, in the order of the lanes.\nconst rangeStatistics = ({lanes}, from, to) => lanes.map("
    "(lane) => laneStatistics(lane, from, to));\n\n/// Returns what the page says about a range: {title, head: [text],"
    " rows: [[text]], note}.\nfunction describeRange(model, from, to) {\n  const share = (part) => {\n    const percen"
    "t = (part / (to - from) * 100).toLocaleString('en', {maximumFractionDigits: 1});\n    return `${durationText(part"
    ")} (${percent} %)`;\n  };\n  const length = (duration) => duration === null \? '\\u2013' : durationText(duration)"
    ";\n  const rows = rangeStatistics(model, from, to).map(({name, engine, working, parked, signals, mean, greatest})"
    " =>\n    [engine \? `${engine}: ${name}` : name, share(working), share(parked), signals.toLocaleString('en'), len"
    "gth(mean),\n     length(greatest)]);\n  return {\n    title: `${durationText(to - from)} from ${timeText(Math.rou"
    "nd(from))}, ${countText(rows.length, 'queue')}`,\n    head: ['queue', 'working', 'parked', 'signals', 'mean wait'"
    ", 'greatest wait'],\n    rows,\n    note: model.work.some((span) => model.workNames[span[1]] === '')\n      \? 'W"
    "orking is an upper bound where nobody told what a queue did: it may have had nothing to do.' : '',\n  };\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_STATISTICS_HPP
