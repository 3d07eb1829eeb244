// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_FRAME_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_FRAME_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_frame[] =
    "\n// Draws what stands around the lanes: bands, time axis, gutter, scroll bar, the time under the pointer.\n//\n/"
    "/ A scene is {context, view, model, colors, labels}: all that a drawing function needs.\n\nconst FONT = '11px sys"
    "tem-ui, \"Segoe UI\", Roboto, \"Noto Sans\", sans-serif';\nconst NAME_FONT = FONT.replace('11px', '600 12px');\n"
    "\n/// Begins a path that is a rectangle with round corners, where the browser can draw them.\nfunction roundBox(c"
    "ontext, left, top, width, height, radius) {\n  context.beginPath();\n  if (context.roundRect) context.roundRect(l"
    "eft, top, width, height, radius);\n  else context.rect(left, top, width, height);\n}\n\nfunction drawBands({conte"
    "xt, view, colors}) {\n  view.eachLane((lane, index) => {\n    if (index % 2 === 1) {\n      context.fillStyle = c"
    "olors.band;\n      context.fillRect(0, view.laneTop(index), view.width, view.lane);\n    }\n    context.fillStyle"
    " = colors.line;\n    context.fillRect(0, view.laneTop(index) + view.lane - 1, view.width, 1);\n  });\n}\n\n/// Dr"
    "aws the names of the engines above their lanes.\nfunction drawGroups({context, view, colors}, write) {\n  view.ea"
    "chGroup(({name, size}, top) => {\n    context.fillStyle = colors.head;\n    context.fillRect(0, top, view.width, "
    "HEAD - 1);\n    context.fillStyle = colors.line;\n    context.fillRect(0, top + HEAD - 1, view.width, 1);\n    co"
    "ntext.fillStyle = colors.ink;\n    context.font = NAME_FONT;\n    write(`${name} \\u00b7 ${countText(size, 'queue"
    "')}`, top + HEAD / 2);\n    context.font = FONT;\n  });\n}\n\nfunction drawAxis({context, view, colors}) {\n  con"
    "text.fillStyle = colors.panel;\n  context.fillRect(0, 0, view.width, AXIS);\n  context.textAlign = 'center';\n  f"
    "or (const {time, text} of axisTicks(view.from, view.to, view.plotWidth)) {\n    const x = Math.round(view.toX(tim"
    "e)), half = context.measureText(text).width / 2 + 4;\n    context.fillStyle = colors.line;\n    context.fillRect("
    "x, AXIS - 6, 1, view.height);\n    context.fillStyle = colors.faint;\n    if (x - half > view.gutter && x + half "
    "< view.right) context.fillText(text, x, AXIS / 2 - 1);\n  }\n  context.fillStyle = colors.line;\n  context.fillRe"
    "ct(0, AXIS - 1, view.width, 1);\n}\n\nconst countsText = (lane) => `${countText(lane.waits.size, 'wait')}, ${coun"
    "tText(lane.signals.size, 'signal')}`;\n\n/// Returns how wide the gutter must be to show all names of queues.\nfu"
    "nction gutterFor(context, {lanes, groups}) {\n  const widest = (font, texts) => {\n    context.font = font;\n    "
    "return texts.reduce((most, text) => Math.max(most, context.measureText(text).width), 0);\n  };\n  const engines ="
    " groups.map(({name}) => `${name} \\u00b7 00 queues`);\n  const names = widest(NAME_FONT, [...engines, ...lanes.ma"
    "p(({name}) => name)]);\n  const counts = widest(FONT, lanes.map(countsText));\n  return Math.ceil(Math.max(names,"
    " counts, 126)) + 24;\n}\n\nfunction drawGutter({context, view, colors}) {\n  const room = view.gutter - 24, width"
    "Of = (text) => context.measureText(text).width;\n  const write = (text, y) => context.fillText(shorten(text, room"
    ", widthOf), 12, y);\n  context.fillStyle = colors.panel;\n  context.fillRect(0, 0, view.gutter, view.height);\n  "
    "context.textAlign = 'left';\n  view.eachLane((lane, index) => {\n    const middle = view.laneTop(index) + view.la"
    "ne / 2;\n    context.fillStyle = colors.ink;\n    context.font = NAME_FONT;\n    write(lane.name, middle - 8);\n "
    "   context.font = FONT;\n    context.fillStyle = colors.faint;\n    write(countsText(lane), middle + 8);\n    con"
    "text.fillStyle = colors.line;\n    context.fillRect(0, view.laneTop(index) + view.lane - 1, view.gutter, 1);\n  }"
    ");\n  drawGroups({context, view, colors}, write);\n  context.fillStyle = colors.panel;\n  context.fillRect(0, 0, "
    "view.gutter, AXIS - 1);\n  context.fillStyle = colors.faint;\n  write(`${durationText(view.span)} in view`, AXIS "
    "/ 2 - 1);\n  context.fillStyle = colors.line;\n  context.fillRect(view.gutter - 1, 0, 1, view.height);\n}\n\n/// "
    "Shows which of the lanes are in view, if not all are.\nfunction drawScrollBar({context, view, colors}) {\n  const"
    " {bar} = view;\n  if (!bar) return;\n  context.fillStyle = colors.panel;\n  context.fillRect(view.width - BAR, AX"
    "IS, BAR, view.height - AXIS);\n  context.fillStyle = colors.line;\n  context.fillRect(view.width - BAR, AXIS, 1, "
    "view.height - AXIS);\n  context.globalAlpha = .6;\n  context.fillStyle = colors.faint;\n  roundBox(context, view."
    "width - BAR + 4, bar.top + 2, BAR - 7, bar.length - 4, (BAR - 7) / 2);\n  context.fill();\n  context.globalAlpha "
    "= 1;\n}\n\nfunction drawPointer({context, view, colors}, pointer) {\n  if (!pointer || pointer.x < view.gutter ||"
    " pointer.x > view.right) return;\n  const text = timeText(Math.round(view.toTime(pointer.x))), width = context.me"
    "asureText(text).width + 12;\n  const left = Math.max(Math.min(pointer.x - width / 2, view.right - width), view.gu"
    "tter);\n  context.globalAlpha = .5;\n  context.fillStyle = colors.faint;\n  context.fillRect(Math.round(pointer.x"
    "), AXIS, 1, view.height);\n  context.globalAlpha = 1;\n  context.fillStyle = colors.ink;\n  roundBox(context, lef"
    "t, 4, width, 19, 4);\n  context.fill();\n  context.fillStyle = colors.ground;\n  context.textAlign = 'center';\n "
    " context.fillText(text, left + width / 2, AXIS / 2 - 1);\n}\n\n/// Draws a range of time that was chosen, {from, "
    "to}, if there is one.\nfunction drawRange({context, view, colors}, range) {\n  if (!range) return;\n  const left "
    "= Math.max(view.toX(range.from), view.gutter), right = Math.min(view.toX(range.to), view.right);\n  if (right < l"
    "eft) return;\n  context.fillStyle = colors.arrow;\n  context.globalAlpha = .13;\n  context.fillRect(left, AXIS, r"
    "ight - left, view.height - AXIS);\n  context.globalAlpha = 1;\n  context.fillRect(left, AXIS - 4, Math.max(right "
    "- left, 1), 4);\n  for (const x of [left, right]) context.fillRect(Math.round(x), AXIS - 4, 1, view.height);\n}\n"
    "\n/// Says why there is nothing to see, if there is nothing.\nfunction drawEmptiness({context, view, model, color"
    "s}) {\n  if (model.walk.length > 0 || model.losses.length > 0 || model.work.length > 0) return;\n  const text = m"
    "odel.commands.length === 0 \? 'This trace has no commands.' : 'No command of this trace has a time.';\n  context."
    "fillStyle = colors.faint;\n  context.textAlign = 'center';\n  context.fillText(text, view.gutter + view.plotWidth"
    " / 2, (AXIS + view.height) / 2);\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_FRAME_HPP
