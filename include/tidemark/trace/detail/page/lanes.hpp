// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_LANES_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_LANES_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_lanes[] =
    "\n// Draws what stands in a lane: gaps, work, waits, signals, time stamps that went backward, and what was queued"
    ".\n\n/// Whether a lane holds too much to draw each wait and span: then it shows for which share of the time the "
    "queue was\n/// parked, and for which it worked.\nconst isFar = (view, {waits, work}) => Math.max(view.count(waits"
    "), view.count(work)) > view.plotWidth / 7;\n\nfunction drawLane(scene, lane, index) {\n  drawGaps(scene, lane, in"
    "dex);\n  if (isFar(scene.view, lane)) {\n    drawShares(scene, lane, index);\n  } else {\n    drawWork(scene, lan"
    "e, index);\n    drawWaits(scene, lane, index);\n  }\n  drawSignals(scene, lane, index);\n  drawBackward(scene, la"
    "ne, index);\n  drawQueued(scene, lane, index);\n}\n\n// ---- gaps ----\n\nfunction drawGaps(scene, lane, index) {"
    "\n  const {view, model, colors, labels} = scene, top = view.laneTop(index) + 1, height = view.lane - 2;\n  const "
    "style = {ink: colors['lost-ink'], ground: colors['lost-fill']};\n  view.eachRun(lane.lost, (first, last, left, ri"
    "ght) => {\n    const from = Math.max(left, view.gutter - 2), width = Math.max(Math.min(right, view.right + 2) - f"
    "rom, 3);\n    drawHatched(scene, from, top, width, height);\n    const losses = Array.from(lane.lost.item.slice(f"
    "irst, Math.min(last, first + 3)), (item) => model.losses[item]);\n    const texts = losses.length > 2 \? [`${coun"
    "tText(last - first, 'gap')} here`] : losses.map(lossText);\n    // A queue often loses waits and signals at the s"
    "ame time; then their labels stand on two lines.\n    const bottom = view.boxBottom(index) - 8;\n    const middle "
    "= (Math.max(from, view.gutter) + Math.min(from + width, view.right)) / 2;\n    for (const text of texts) {\n     "
    " if (labels.widthOf(text) > width - 12) continue;\n      [bottom, bottom - 15].find((y) => labels.addCentered(tex"
    "t, middle, y, style));\n    }\n  });\n}\n\nfunction drawHatched({context, colors}, left, top, width, height) {\n "
    " context.fillStyle = colors['lost-fill'];\n  context.fillRect(left, top, width, height);\n  context.save();\n  co"
    "ntext.beginPath();\n  context.rect(left, top, width, height);\n  context.clip();\n  context.globalAlpha = .35;\n "
    " context.strokeStyle = colors.lost;\n  context.beginPath();\n  for (let x = Math.floor((left - height) / 9) * 9; "
    "x < left + width; x += 9) {\n    context.moveTo(x, top + height);\n    context.lineTo(x + height, top);\n  }\n  c"
    "ontext.stroke();\n  context.restore();\n  context.strokeStyle = colors.lost;\n  context.setLineDash([3, 2]);\n  c"
    "ontext.strokeRect(left + .5, top + .5, width - 1, height - 1);\n  context.setLineDash([]);\n}\n\n// ---- waits --"
    "--\n\nfunction drawWaits(scene, lane, index) {\n  const {context, view, colors} = scene, top = view.boxTop(index)"
    ";\n  view.eachRun(lane.waits, (first, last, left, right) => {\n    const from = Math.max(left, view.gutter - 8), "
    "width = Math.max(Math.min(right, view.right + 8) - from, 1.5);\n    if (width >= 4) {\n      drawWait(scene, last"
    " - first === 1 \? lane.waits.item[first] : -1, from, width, top);\n      return;\n    }\n    context.fillStyle = "
    "colors['wait-edge'];\n    context.fillRect(from, top, width, view.boxHeight);\n  });\n}\n\n/// Draws the box of o"
    "ne wait, or of several (`item` is -1), which then has no label. Its edge is dashed if its end is\n/// not known."
    "\nfunction drawWait({context, view, model, colors, labels}, item, left, width, top) {\n  const command = model.co"
    "mmands[item], height = view.boxHeight;\n  const guessed = command && (command[FLAGS] & GUESSED || isOpen(command)"
    ");\n  roundBox(context, left + .5, top + .5, width - 1, height - 1, Math.min(4, width / 3));\n  context.fillStyle"
    " = guessed \? colors.ground : colors.wait;\n  context.fill();\n  context.strokeStyle = colors['wait-edge'];\n  if"
    " (guessed) context.setLineDash([3, 2]);\n  context.stroke();\n  context.setLineDash([]);\n  const start = Math.ma"
    "x(left, view.gutter) + 7, room = Math.min(left + width, view.right) - start - 6;\n  if (!command || room < 18) re"
    "turn;\n  const style = {ink: colors['wait-ink'], ground: guessed \? colors.ground : colors.wait};\n  labels.add(["
    "fenceText(model, command), `\\u2265 ${command[VALUE]}`], start, top + height / 2, room, style);\n}\n\n// ---- sig"
    "nals ----\n\n/// Signals are bars, with labels where there is room. Where they are many, the bars are short, so t"
    "hat waits are seen.\nfunction drawSignals(scene, {signals}, index) {\n  const {context, view, model, colors, labe"
    "ls} = scene, top = view.boxTop(index) - 3, height = view.boxHeight + 6;\n  if (view.count(signals) > view.plotWid"
    "th / 9) {\n    drawMarks(scene, signals, top, 7, colors.signal);\n    return;\n  }\n  const style = {ink: colors."
    "signal, ground: index % 2 === 1 \? colors.band : colors.ground};\n  view.eachRun(signals, (first, last, left) => "
    "{\n    const command = model.commands[signals.item[first]], alone = last - first === 1;\n    if (alone && command"
    "[FLAGS] & GUESSED) {\n      context.strokeStyle = colors.signal;\n      context.setLineDash([3, 2]);\n      conte"
    "xt.strokeRect(left - 3, top + .5, 4, height - 1);\n      context.setLineDash([]);\n    } else {\n      context.fi"
    "llStyle = colors.signal;\n      context.fillRect(left - 3, top, 3, height);\n    }\n    // Only where the next si"
    "gnal is far enough that a reader sees which one the label belongs to.\n    const next = last < signals.size \? vi"
    "ew.toX(signals.begin[last]) : Infinity;\n    if (alone && left > view.gutter && next - left >= 26) {\n      label"
    "s.addCentered(fenceText(model, command), left - 1.5, view.laneTop(index) + 8, style);\n    }\n  });\n}\n\n/// Dra"
    "ws a mark at each item; marks that touch are drawn as one.\nfunction drawMarks({context, view}, series, top, heig"
    "ht, color) {\n  let from = 0, to = -1;\n  context.fillStyle = color;\n  view.eachRun(series, (first, last, left) "
    "=> {\n    if (left - 2 > to) {\n      if (to > from) context.fillRect(from, top, to - from, height);\n      from "
    "= left - 2;\n    }\n    to = left;\n  });\n  if (to > from) context.fillRect(from, top, to - from, height);\n}\n"
    "\n// ---- the rest ----\n\nfunction drawBackward({context, view, colors}, {backward}, index) {\n  const bottom = "
    "view.boxBottom(index) + 2;\n  context.fillStyle = colors.lost;\n  view.eachRun(backward, (first, last, left) => {"
    "\n    context.beginPath();\n    context.moveTo(left - 1.5, bottom - 10);\n    context.lineTo(left + 4.5, bottom);"
    "\n    context.lineTo(left - 7.5, bottom);\n    context.fill();\n  });\n}\n\nfunction drawQueued(scene, {queued, p"
    "ending}, index) {\n  const {view, colors} = scene, top = view.laneTop(index) + view.lane - STRIP - 2;\n  drawMark"
    "s(scene, queued, top + 3, STRIP - 3, colors.queued);\n  drawMarks(scene, pending, top, STRIP, colors.pending);\n}"
    "\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_LANES_HPP
