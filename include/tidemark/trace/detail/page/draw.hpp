// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_draw[] =
    "\n// Draws one frame.\n\n/// The colors that the style sheet gives, as custom properties of these names.\nconst C"
    "OLORS = [\n  'ground', 'panel', 'band', 'line', 'ink', 'faint', 'wait', 'wait-far', 'wait-edge', 'wait-ink', 'sig"
    "nal', 'arrow',\n  'queued', 'pending', 'lost', 'lost-fill', 'lost-ink', 'work', 'work-far', 'work-edge', 'work-in"
    "k', 'match', 'head',\n];\n\n/// Draws what the view shows.\n/// context   of the canvas, in CSS pixels\n/// color"
    "s    by the names of COLORS\n/// focus     the targets to draw with all that belongs to them\n/// matches   what "
    "a search has found: a series for each lane, or null\n/// range     a range of time that was chosen, {from, to}, o"
    "r null\n/// pointer   where to show the time, {x, y}, or null\n/// Returns the labels that it drew.\nfunction dra"
    "wFrame({context, view, model, colors, focus, matches, range, pointer}) {\n  context.font = FONT;\n  context.textB"
    "aseline = 'middle';\n  context.fillStyle = colors.ground;\n  context.fillRect(0, 0, view.width, view.height);\n  "
    "const labels = new Labels((text) => context.measureText(text).width, view.gutter + 3, view.right - 10);\n  const "
    "scene = {context, view, model, colors, labels};\n  drawBands(scene);\n  drawAxis(scene);\n  context.save();\n  co"
    "ntext.beginPath();\n  context.rect(view.gutter, AXIS, view.plotWidth, view.height - AXIS);\n  context.clip();\n  "
    "view.eachLane((lane, index) => drawLane(scene, lane, index));\n  view.eachLane((lane) => drawArrows(scene, lane))"
    ";\n  drawLabels(context, labels);\n  if (matches) view.eachLane((lane, index) => drawMatches(scene, matches[index"
    "], index));\n  for (const {command, work} of focus) {\n    if (command !== undefined) drawFocus(scene, command);"
    "\n    if (work !== undefined) drawRim(scene, {work});\n  }\n  drawEmptiness(scene);\n  context.restore();\n  draw"
    "Gutter(scene);\n  drawRange(scene, range);\n  drawScrollBar(scene);\n  drawPointer(scene, pointer);\n  return lab"
    "els.placed;\n}\n\n/// Marks what a search has found.\nfunction drawMatches({context, view, colors}, found, index)"
    " {\n  const top = view.boxTop(index) - 5, height = view.boxHeight + 10;\n  context.strokeStyle = context.fillStyl"
    "e = colors.match;\n  context.lineWidth = 2;\n  view.eachRun(found, (...[, , left, right]) => {\n    const from = "
    "Math.max(left - 4, view.gutter - 9), to = Math.min(Math.max(right + 2, from + 6), view.right + 9);\n    context.g"
    "lobalAlpha = .2;\n    context.fillRect(from, top, to - from, height);\n    context.globalAlpha = 1;\n    context."
    "strokeRect(from, top, to - from, height);\n  });\n  context.lineWidth = 1;\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP
