// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_ARROWS_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_ARROWS_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_arrows[] =
    "\n// Draws the arrows from signals to the waits that they released, and what belongs to a command that a reader l"
    "ooks at.\n\nconst MOST_ARROWS = 500;\n\n/// Draws the arrow to the end of a wait from the end of the signal that "
    "released it.\nfunction drawArrow({context, view, model, colors}, wait, strong) {\n  const to = model.commands[wai"
    "t], from = model.commands[to[RELEASED_BY]];\n  if (!from || from[BOX_END] === null || to[BOX_END] === null) retur"
    "n;\n  const same = from[LANE] === to[LANE], down = from[LANE] < to[LANE], above = same || down;\n  const x0 = vie"
    "w.toX(from[BOX_END]) - 1.5, x1 = view.toX(to[BOX_END]) - 1;\n  const y0 = down \? view.boxBottom(from[LANE]) + 3 "
    ": view.boxTop(from[LANE]) - 3;\n  const y1 = above \? view.boxTop(to[LANE]) - 1 : view.boxBottom(to[LANE]) + 1;\n"
    "  const head = above \? -7 : 7, bend = same \? -14 : (y1 - y0) * .5;\n  context.globalAlpha = strong \? 1 : .62;"
    "\n  context.strokeStyle = context.fillStyle = colors.arrow;\n  context.lineWidth = strong \? 2 : 1.2;\n  context."
    "beginPath();\n  context.moveTo(x0, y0);\n  context.bezierCurveTo(x0, y0 + bend, x1, y1 + head - (same \? 14 : ben"
    "d), x1, y1 + head * .8);\n  context.stroke();\n  context.beginPath();\n  context.moveTo(x1, y1);\n  context.lineT"
    "o(x1 - 3.5, y1 + head);\n  context.lineTo(x1 + 3.5, y1 + head);\n  context.fill();\n  context.lineWidth = 1;\n  c"
    "ontext.globalAlpha = 1;\n}\n\n/// Draws the arrows to the waits of a lane that stalled, as many as can be told ap"
    "art.\nfunction drawArrows(scene, lane) {\n  const {view} = scene;\n  if (isFar(view, lane)) return;\n  let previo"
    "us = -Infinity;\n  view.eachRun(lane.waits, (first, last, left, right) => {\n    if (last - first > 1 || right - "
    "left < 3 || right - previous < 7 || right > view.right + 40) return;\n    previous = right;\n    drawArrow(scene,"
    " lane.waits.item[first], false);\n  });\n}\n\n/// Draws a rim around a command or a span of work.\nfunction drawR"
    "im({context, view, model, colors}, target) {\n  const {lane, from: begin, to: end} = placeOf(model, target), righ"
    "t = view.toX(end);\n  const bar = target.command !== undefined && !model.commands[target.command][IS_WAIT], rim ="
    " bar \? 4 : 1;\n  const from = Math.max(bar \? right - 4 : view.toX(begin), view.gutter - 9);\n  const to = Math."
    "max(Math.min(right + 1, view.right + 9), from + 2);\n  context.strokeStyle = colors.ink;\n  context.lineWidth = 2"
    ";\n  roundBox(context, from - 1, view.boxTop(lane) - rim, to - from + 2, view.boxHeight + 2 * rim, 4);\n  context"
    ".stroke();\n  context.lineWidth = 1;\n}\n\n/// Draws a rim around a command, a line from where it was queued, and"
    " the arrows from and to it.\nfunction drawFocus(scene, index) {\n  const {context, view, model, colors} = scene, "
    "command = model.commands[index], lane = command[LANE];\n  const shown = command[BOX_END] !== null, left = view.to"
    "X(command[BOX_BEGIN]);\n  if (command[QUEUED] !== null) {\n    const x = view.toX(command[QUEUED]), y = view.lane"
    "Top(lane) + view.lane - STRIP / 2 - 1;\n    context.strokeStyle = context.fillStyle = command[FLAGS] & EXECUTED "
    "\? colors.queued : colors.pending;\n    context.lineWidth = 2;\n    context.beginPath();\n    context.moveTo(x, y"
    ");\n    if (shown) context.lineTo(left, y);\n    if (shown) context.lineTo(left, view.boxBottom(lane));\n    cont"
    "ext.stroke();\n    context.fillRect(x - 2, y - 6, 4, 11);\n  }\n  if (shown) drawRim(scene, {command: index});\n "
    " context.lineWidth = 1;\n  if (command[RELEASED_BY] >= 0) drawArrow(scene, index, true);\n  let drawn = 0;\n  for"
    " (const wait of releasedBy(model, index)) {\n    if (++drawn > MOST_ARROWS) break;\n    drawArrow(scene, wait, tr"
    "ue);\n  }\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_ARROWS_HPP
