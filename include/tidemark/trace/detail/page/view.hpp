// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_view[] = R"page(
// The view: which part of the model the canvas shows, and where. One lane for each queue, all of the same height:
//
//      axis      AXIS pixels, does not scroll
//      lane      TOP     labels of signals, heads of arrows
//                        boxes of waits, bars of signals
//                STRIP   marks of what was queued
//
// The names of the queues stand in the gutter on the left, which does not move.

const AXIS = 30, TOP = 24, STRIP = 9;
const LEAST_LANE = 66, MOST_LANE = 116, LEAST_SPAN = 20;
const clamp = (value, least, most) => Math.max(Math.min(value, most), least);

class View {
  /// Shows nothing until resize() and fit() were called. Calls `changed` after each change.
  constructor(model, changed) {
    Object.assign(this, {model, changed, from: 0, to: 1, top: 0, width: 0, height: 0, gutter: 150, lane: LEAST_LANE});
  }

  // ---- from times and lanes to pixels, and back ----

  get plotWidth() { return Math.max(50, this.width - this.gutter); }
  get span() { return this.to - this.from; }
  get boxHeight() { return this.lane - TOP - STRIP - 6; }
  get contentHeight() { return this.model.lanes.length * this.lane; }
  toX(time) { return this.gutter + (time - this.from) / this.span * this.plotWidth; }
  toTime(x) { return this.from + (x - this.gutter) / this.plotWidth * this.span; }
  toPixels(duration) { return duration / this.span * this.plotWidth; }
  laneTop(index) { return AXIS + index * this.lane - this.top; }
  laneAt(y) { return Math.floor((y - AXIS + this.top) / this.lane); }
  boxTop(index) { return this.laneTop(index) + TOP; }
  boxBottom(index) { return this.boxTop(index) + this.boxHeight; }

  // ---- moving ----

  /// Shows the times `from` to `to`, as far as they are near the trace and can be told apart.
  show(from, to) {
    const {from: first, to: last} = this.model.queuedRange, middle = (from + to) / 2;
    // Numbers this large have gaps between them; a pixel must not be smaller than one.
    const least = Math.max(LEAST_SPAN, Math.max(Math.abs(from), Math.abs(to)) * 2e-13);
    const span = clamp(to - from, least, Math.max(4 * Math.max(last - first, 1000), least));
    const margin = span * .9;
    this.from = clamp(middle - span / 2, first - margin, Math.max(last + margin - span, first - margin));
    this.to = this.from + span;
    this.changed();
  }

  fit({from, to}) {
    const margin = Math.max((to - from) * .02, 10);
    this.top = 0;
    this.show(from - margin, to + margin);
  }

  /// Makes the span `factor` times as long. What is at pixel `x` stays there; the middle stays if `x` is not given.
  zoom(factor, x = this.gutter + this.plotWidth / 2) {
    const center = this.toTime(x);
    this.show(center - (center - this.from) * factor, center + (this.to - center) * factor);
  }

  /// Moves by a share of what is in view.
  pan(share) {
    const step = this.span * share;
    this.show(this.from + step, this.to + step);
  }

  scroll(pixels) {
    this.top = clamp(this.top + pixels, 0, Math.max(0, this.contentHeight - (this.height - AXIS)));
    this.changed();
  }

  /// Moves no more than is needed to show a time in a lane.
  reveal(time, lane) {
    if (time < this.from || time > this.to) this.show(time - this.span / 2, time + this.span / 2);
    if (this.laneTop(lane) < AXIS) this.scroll(this.laneTop(lane) - AXIS);
    const below = this.laneTop(lane) + this.lane - this.height;
    if (below > 0) this.scroll(below);
  }

  /// Whether a time of a lane is in view.
  holds(time, lane) {
    const inTime = time >= this.from && time <= this.to;
    return inTime && this.boxBottom(lane) > AXIS && this.boxTop(lane) < this.height;
  }

  /// Fits the view to a canvas, with a gutter of `wanted` pixels if the canvas is large enough for that.
  resize(width, height, wanted) {
    Object.assign(this, {width, height, gutter: Math.round(clamp(wanted, 90, clamp(width * .25, 90, 260)))});
    const share = Math.floor((height - AXIS) / Math.max(this.model.lanes.length, 1));
    this.lane = clamp(share, LEAST_LANE, MOST_LANE);
    this.scroll(0);
  }

  // ---- what is in view ----

  eachLane(visit) {
    const first = Math.max(0, this.laneAt(AXIS));
    const last = Math.min(this.model.lanes.length - 1, this.laneAt(this.height));
    for (let index = first; index <= last; ++index) visit(this.model.lanes[index], index);
  }

  count(series) { return countBetween(series, this.from, this.to); }

  /// Calls visit(first, last, left, right) for each run of items in view that begin in one pixel: the items `first` to
  /// `last` - 1, and the pixels from their first begin to their last end.
  eachRun(series, visit) {
    const {size, begin} = series;
    for (let i = lowerBound(series.reach, this.from); i < size && begin[i] <= this.to;) {
      const left = this.toX(begin[i]), pixelEnd = Math.max(left, this.gutter) + 1;
      let next = i + 1;
      if (next < size && this.toX(begin[next]) < pixelEnd) {
        next = Math.max(next, lowerBound(begin, this.toTime(pixelEnd), next));
      }
      visit(i, next, left, this.toX(next === i + 1 ? endOf(series, i) : greatestEnd(series, i, next)));
      i = next;
    }
  }

  /// Returns what is drawn at a point: {command: index}, {loss: index} or null.
  pick(x, y) {
    const index = this.laneAt(y), lane = this.model.lanes[index];
    if (!lane || x < this.gutter || y < AXIS) return null;
    const time = this.toTime(x), pixel = this.span / this.plotWidth;
    const kinds = y > this.boxBottom(index) + 2 ? ['pending', 'queued'] : ['signals', 'waits'];
    for (const kind of kinds) {
      const command = nearest(lane[kind], time, (kind === 'waits' ? 3 : 5) * pixel);
      if (command >= 0) return {command};
    }
    const loss = nearest(lane.lost, time, 4 * pixel);
    return loss >= 0 ? {loss} : null;
  }
}
)page";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_VIEW_HPP
