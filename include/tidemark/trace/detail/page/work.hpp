// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_WORK_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_WORK_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_work[] =
    "\n// Draws what a queue did between its waits and signals; and from afar, for which share of the time it worked a"
    "nd was\n// parked.\n\nconst COLUMN = 3;\n\n/// Spans are boxes between those of the waits. Those that the program"
    " told have an edge and their names in them.\nfunction drawWork({context, view, model, colors, labels}, {work}, in"
    "dex) {\n  const top = view.boxTop(index) + 2, height = view.boxHeight - 4;\n  const style = {ink: colors['work-in"
    "k'], ground: colors.work};\n  view.eachRun(work, (first, last, left, right) => {\n    const from = Math.max(left,"
    " view.gutter - 8), width = Math.max(Math.min(right, view.right + 8) - from, 1.5);\n    const name = model.workNam"
    "es[model.work[work.item[first]][WORK_NAME]], color = name === '' \? 'work' : 'work-edge';\n    if (width < 4) {\n"
    "      context.fillStyle = colors[color];\n      context.fillRect(from, top, width, height);\n      return;\n    }"
    "\n    roundBox(context, from + .5, top + .5, width - 1, height - 1, Math.min(3, width / 3));\n    context.fillSty"
    "le = colors.work;\n    context.fill();\n    context.strokeStyle = colors[color];\n    context.stroke();\n    cons"
    "t start = Math.max(from, view.gutter) + 7, room = Math.min(from + width, view.right) - start - 6;\n    if (last -"
    " first === 1 && name !== '' && room >= 18) labels.add([name], start, top + height / 2, room, style);\n  });\n}\n"
    "\n/// Returns for each column of a few pixels, for which share of its time the items last.\nfunction shareColumns"
    "(view, series) {\n  const columns = new Float64Array(Math.ceil(view.plotWidth / COLUMN) + 1);\n  view.eachRun(ser"
    "ies, (first, last, left, right) => {\n    const from = (left - view.gutter) / COLUMN, to = Math.max((right - view"
    ".gutter) / COLUMN, from + .01);\n    const lasted = view.toPixels(series.sum[last] - series.sum[first]) / COLUMN;"
    "\n    const share = Math.min(1, lasted / (to - from));\n    for (let i = Math.max(0, Math.floor(from)); i < to &&"
    " i < columns.length; ++i) {\n      columns[i] += share * (Math.min(to, i + 1) - Math.max(from, i));\n    }\n  });"
    "\n  return columns;\n}\n\n/// Draws in each column how long the queue was parked, and above that how long it work"
    "ed.\nfunction drawShares({context, view, colors}, {waits, work}, index) {\n  const parked = shareColumns(view, wa"
    "its), worked = shareColumns(view, work), bottom = view.boxBottom(index);\n  const high = (share) => share > 0 \? "
    "Math.max(1, Math.min(1, share) * view.boxHeight) : 0;\n  for (const [columns, color, below] of [[worked, colors['"
    "work-far'], parked], [parked, colors['wait-far'], null]]) {\n    context.beginPath();\n    columns.forEach((share"
    ", i) => {\n      const base = below \? high(below[i]) : 0, height = Math.min(high(share), view.boxHeight - base);"
    "\n      if (height > 0) context.rect(view.gutter + i * COLUMN, bottom - base - height, COLUMN, height);\n    });"
    "\n    context.fillStyle = color;\n    context.fill();\n  }\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_WORK_HPP
