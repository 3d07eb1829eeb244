// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_view[] =
    "\n// The view: which part of the model the canvas shows, and where. One lane for each queue, all of the same heig"
    "ht:\n//\n//      axis      AXIS pixels, does not scroll\n//      lane      TOP     labels of signals, heads of ar"
    "rows\n//                        boxes of waits, bars of signals\n//                STRIP   marks of what was queu"
    "ed\n//\n// Above the first lane of each engine there are HEAD pixels for its name. The names of the queues stand "
    "in the gutter\n// on the left, which does not move. If not all lanes are in view, a scroll bar takes BAR pixels o"
    "n the right.\n\nconst AXIS = 30, TOP = 24, STRIP = 9, HEAD = 24, BAR = 14;\nconst LEAST_LANE = 66, MOST_LANE = 11"
    "6, LEAST_SPAN = 20;\nconst clamp = (value, least, most) => Math.max(Math.min(value, most), least);\n\nclass View "
    "{\n  /// Shows nothing until resize() and fit() were called. Calls `changed` after each change.\n  constructor(mo"
    "del, changed) {\n    Object.assign(this, {model, changed, from: 0, to: 1, top: 0, width: 0, height: 0, gutter: 15"
    "0, lane: LEAST_LANE});\n  }\n\n  // ---- from times and lanes to pixels, and back ----\n\n  get plotWidth() { ret"
    "urn Math.max(50, this.width - this.gutter - (this.mostTop > 0 \? BAR : 0)); }\n  get right() { return this.gutter"
    " + this.plotWidth; }\n  get span() { return this.to - this.from; }\n  get boxHeight() { return this.lane - TOP - "
    "STRIP - 6; }\n  get contentHeight() { return this.model.lanes.length * this.lane + this.model.groups.length * HEA"
    "D; }\n  get mostTop() { return Math.max(0, this.contentHeight - (this.height - AXIS)); }\n  toX(time) { return th"
    "is.gutter + (time - this.from) / this.span * this.plotWidth; }\n  toTime(x) { return this.from + (x - this.gutter"
    ") / this.plotWidth * this.span; }\n  toPixels(duration) { return duration / this.span * this.plotWidth; }\n  lane"
    "Top(index) { return AXIS + index * this.lane + this.model.lanes[index].heads * HEAD - this.top; }\n\n  /// Return"
    "s the last lane that begins at `y` or above it; -1 if none does.\n  lastLaneAbove(y) {\n    let first = -1, last "
    "= this.model.lanes.length - 1;\n    while (first < last) {\n      const middle = (first + last + 1) >> 1;\n      "
    "if (this.laneTop(middle) <= y) first = middle;\n      else last = middle - 1;\n    }\n    return first;\n  }\n\n "
    " /// Returns the lane at `y`; -1 if there is none.\n  laneAt(y) {\n    const index = this.lastLaneAbove(y);\n    "
    "return index >= 0 && y < this.laneTop(index) + this.lane \? index : -1;\n  }\n\n  boxTop(index) { return this.lan"
    "eTop(index) + TOP; }\n  boxBottom(index) { return this.boxTop(index) + this.boxHeight; }\n\n  // ---- moving ----"
    "\n\n  /// Shows the times `from` to `to`, as far as they are near the trace and can be told apart.\n  show(from, "
    "to) {\n    const {from: first, to: last} = this.model.queuedRange, middle = (from + to) / 2;\n    // Numbers this"
    " large have gaps between them; a pixel must not be smaller than one.\n    const least = Math.max(LEAST_SPAN, Math"
    ".max(Math.abs(from), Math.abs(to)) * 2e-13);\n    const span = clamp(to - from, least, Math.max(4 * Math.max(last"
    " - first, 1000), least));\n    const margin = span * .9;\n    this.from = clamp(middle - span / 2, first - margin"
    ", Math.max(last + margin - span, first - margin));\n    this.to = this.from + span;\n    this.changed();\n  }\n\n"
    "  fit({from, to}) {\n    const margin = Math.max((to - from) * .02, 10);\n    this.top = 0;\n    this.show(from -"
    " margin, to + margin);\n  }\n\n  /// Makes the span `factor` times as long. What is at pixel `x` stays there; the"
    " middle stays if `x` is not given.\n  zoom(factor, x = this.gutter + this.plotWidth / 2) {\n    const center = th"
    "is.toTime(x);\n    this.show(center - (center - this.from) * factor, center + (this.to - center) * factor);\n  }"
    "\n\n  /// Moves by a share of what is in view.\n  pan(share) {\n    const step = this.span * share;\n    this.sho"
    "w(this.from + step, this.to + step);\n  }\n\n  scroll(pixels) {\n    this.top = clamp(this.top + pixels, 0, this."
    "mostTop);\n    this.changed();\n  }\n\n  /// Returns the part of the scroll bar that moves: {top, length}; null i"
    "f all lanes are in view.\n  get bar() {\n    const height = this.height - AXIS;\n    if (this.mostTop === 0) retu"
    "rn null;\n    const length = Math.max(height * height / this.contentHeight, Math.min(24, height));\n    return {t"
    "op: AXIS + this.top / this.mostTop * (height - length), length};\n  }\n\n  /// Moves the lanes as far as the bar "
    "is moved.\n  dragBar(pixels) {\n    const room = this.height - AXIS - (this.bar\?.length \?\? 0);\n    if (room >"
    " 0) this.scroll(pixels / room * this.mostTop);\n  }\n\n  /// Moves no more than is needed to show a time in a lan"
    "e.\n  reveal(time, lane) {\n    if (time < this.from || time > this.to) this.show(time - this.span / 2, time + th"
    "is.span / 2);\n    if (this.laneTop(lane) < AXIS) this.scroll(this.laneTop(lane) - AXIS);\n    const below = this"
    ".laneTop(lane) + this.lane - this.height;\n    if (below > 0) this.scroll(below);\n  }\n\n  /// Whether a time of"
    " a lane is in view.\n  holds(time, lane) {\n    const inTime = time >= this.from && time <= this.to;\n    return "
    "inTime && this.boxBottom(lane) > AXIS && this.boxTop(lane) < this.height;\n  }\n\n  /// Fits the view to a canvas"
    ", with a gutter of `wanted` pixels if the canvas is large enough for that.\n  resize(width, height, wanted) {\n  "
    "  Object.assign(this, {width, height, gutter: Math.round(clamp(wanted, 90, clamp(width * .25, 90, 260)))});\n    "
    "const room = height - AXIS - this.model.groups.length * HEAD;\n    const share = Math.floor(room / Math.max(this."
    "model.lanes.length, 1));\n    this.lane = clamp(share, LEAST_LANE, MOST_LANE);\n    this.scroll(0);\n  }\n\n  // "
    "---- what is in view ----\n\n  eachLane(visit) {\n    const first = Math.max(0, this.lastLaneAbove(AXIS)), last ="
    " this.lastLaneAbove(this.height);\n    for (let index = first; index <= last; ++index) visit(this.model.lanes[ind"
    "ex], index);\n  }\n\n  eachGroup(visit) {\n    for (const group of this.model.groups) {\n      const top = this.l"
    "aneTop(group.lane) - HEAD;\n      if (top + HEAD > AXIS && top < this.height) visit(group, top);\n    }\n  }\n\n "
    " count(series) { return countBetween(series, this.from, this.to); }\n\n  /// Calls visit(first, last, left, right"
    ") for each run of items in view that begin in one pixel: the items `first` to\n  /// `last` - 1, and the pixels f"
    "rom their first begin to their last end.\n  eachRun(series, visit) {\n    const {size, begin} = series;\n    for "
    "(let i = lowerBound(series.reach, this.from); i < size && begin[i] <= this.to;) {\n      const left = this.toX(be"
    "gin[i]), pixelEnd = Math.max(left, this.gutter) + 1;\n      let next = i + 1;\n      if (next < size && this.toX("
    "begin[next]) < pixelEnd) {\n        next = Math.max(next, lowerBound(begin, this.toTime(pixelEnd), next));\n     "
    " }\n      visit(i, next, left, this.toX(next === i + 1 \? endOf(series, i) : greatestEnd(series, i, next)));\n   "
    "   i = next;\n    }\n  }\n\n  /// Returns what is drawn at a point: {command: index}, {work: index}, {loss: index"
    "} or null.\n  pick(x, y) {\n    const index = this.laneAt(y), lane = this.model.lanes[index];\n    if (!lane || x"
    " < this.gutter || x > this.right || y < AXIS) return null;\n    const time = this.toTime(x), pixel = this.span / "
    "this.plotWidth;\n    const kinds = y > this.boxBottom(index) + 2 \? ['pending', 'queued'] : ['signals', 'waits'];"
    "\n    for (const kind of kinds) {\n      const command = nearest(lane[kind], time, (kind === 'waits' \? 3 : 5) * "
    "pixel);\n      if (command >= 0) return {command};\n    }\n    const work = y <= this.boxBottom(index) + 2 \? nea"
    "rest(lane.work, time, 2 * pixel) : -1;\n    if (work >= 0) return {work};\n    const loss = nearest(lane.lost, ti"
    "me, 4 * pixel);\n    return loss >= 0 \? {loss} : null;\n  }\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP
