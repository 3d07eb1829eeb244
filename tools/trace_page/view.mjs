// SPDX-License-Identifier: BSL-1.0
//
// The view: which part of the model the canvas shows, and where. One lane for each queue, all of the same height:
//
//      axis      AXIS pixels, does not scroll
//      lane      TOP     labels of signals, heads of arrows
//                        boxes of waits, bars of signals
//                STRIP   marks of what was queued
//
// If the view shows lifetimes, a lane has rows for them instead, the lowest level at the bottom, and above them the
// depth of the queue in numbers.
//
// Above the first lane of each engine there are HEAD pixels for its name. The names of the queues stand in the gutter
// on the left, which does not move. If not all lanes are in view, a scroll bar takes BAR pixels on the right.

import {countBetween, endOf, greatestEnd, lowerBound, nearest} from './series.mjs';
import {LANE, LEVEL, LIFE_BEGIN, LIFE_END} from './model.mjs';

export const AXIS = 30, TOP = 24, STRIP = 9, HEAD = 24, BAR = 14;
export const ROWS_TOP = 16;
const LEAST_ROW = 5, MOST_ROW = 20, LEAST_LANE = 66, MOST_LANE = 116, LEAST_SPAN = 20;
const clamp = (value, least, most) => Math.max(Math.min(value, most), least);

export class View {
  /// Shows nothing until resize() and fit() were called. Calls `changed` after each change.
  constructor(model, changed) {
    Object.assign(this, {model, changed, from: 0, to: 1, top: 0, width: 0, height: 0, gutter: 150, lane: LEAST_LANE,
                         lifetimes: false});
  }

  // ---- from times and lanes to pixels, and back ----

  get plotWidth() { return Math.max(50, this.width - this.gutter - (this.mostTop > 0 ? BAR : 0)); }
  get right() { return this.gutter + this.plotWidth; }
  get span() { return this.to - this.from; }
  get boxHeight() { return this.lane - TOP - STRIP - 6; }
  get contentHeight() { return this.model.lanes.length * this.lane + this.model.groups.length * HEAD; }
  get mostTop() { return Math.max(0, this.contentHeight - (this.height - AXIS)); }
  toX(time) { return this.gutter + (time - this.from) / this.span * this.plotWidth; }
  toTime(x) { return this.from + (x - this.gutter) / this.plotWidth * this.span; }
  toPixels(duration) { return duration / this.span * this.plotWidth; }
  laneTop(index) { return AXIS + index * this.lane + this.model.lanes[index].heads * HEAD - this.top; }

  /// Returns the last lane that begins at `y` or above it; -1 if none does.
  lastLaneAbove(y) {
    let first = -1, last = this.model.lanes.length - 1;
    while (first < last) {
      const middle = (first + last + 1) >> 1;
      if (this.laneTop(middle) <= y) first = middle;
      else last = middle - 1;
    }
    return first;
  }

  /// Returns the lane at `y`; -1 if there is none.
  laneAt(y) {
    const index = this.lastLaneAbove(y);
    return index >= 0 && y < this.laneTop(index) + this.lane ? index : -1;
  }

  boxTop(index) { return this.laneTop(index) + TOP; }
  boxBottom(index) { return this.boxTop(index) + this.boxHeight; }

  // ---- rows of lifetimes ----

  /// Whether the rows of a lane are high enough that a box in each can be seen.
  hasRows(lane) { return this.rowHeight(lane) >= LEAST_ROW; }
  rowHeight(lane) { return Math.min(MOST_ROW, (this.lane - ROWS_TOP - 4) / Math.max(lane.greatestDepth, 1)); }
  rowTop(index, level) {
    return this.laneTop(index) + this.lane - 4 - (level + 1) * this.rowHeight(this.model.lanes[index]);
  }

  /// Shows lifetimes, or what the queues executed.
  showLifetimes(on) {
    this.lifetimes = on;
    this.changed();
  }

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
    this.top = clamp(this.top + pixels, 0, this.mostTop);
    this.changed();
  }

  /// Returns the part of the scroll bar that moves: {top, length}; null if all lanes are in view.
  get bar() {
    const height = this.height - AXIS;
    if (this.mostTop === 0) return null;
    const length = Math.max(height * height / this.contentHeight, Math.min(24, height));
    return {top: AXIS + this.top / this.mostTop * (height - length), length};
  }

  /// Moves the lanes as far as the bar is moved.
  dragBar(pixels) {
    const room = this.height - AXIS - (this.bar?.length ?? 0);
    if (room > 0) this.scroll(pixels / room * this.mostTop);
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
    const room = height - AXIS - this.model.groups.length * HEAD;
    const share = Math.floor(room / Math.max(this.model.lanes.length, 1));
    this.lane = clamp(share, LEAST_LANE, MOST_LANE);
    this.scroll(0);
  }

  // ---- what is in view ----

  eachLane(visit) {
    const first = Math.max(0, this.lastLaneAbove(AXIS)), last = this.lastLaneAbove(this.height);
    for (let index = first; index <= last; ++index) visit(this.model.lanes[index], index);
  }

  eachGroup(visit) {
    for (const group of this.model.groups) {
      const top = this.laneTop(group.lane) - HEAD;
      if (top + HEAD > AXIS && top < this.height) visit(group, top);
    }
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

  /// Returns what is drawn at a point: {command: index}, {work: index}, {loss: index} or null.
  pick(x, y) {
    const index = this.laneAt(y), lane = this.model.lanes[index];
    if (!lane || x < this.gutter || x > this.right || y < AXIS) return null;
    const time = this.toTime(x), pixel = this.span / this.plotWidth;
    if (this.lifetimes) return this.pickLifetime(lane, index, time, y);
    const kinds = y > this.boxBottom(index) + 2 ? ['pending', 'queued'] : ['signals', 'waits'];
    for (const kind of kinds) {
      const command = nearest(lane[kind], time, (kind === 'waits' ? 3 : 5) * pixel);
      if (command >= 0) return {command};
    }
    const work = y <= this.boxBottom(index) + 2 ? nearest(lane.work, time, 2 * pixel) : -1;
    if (work >= 0) return {work};
    const loss = nearest(lane.lost, time, 4 * pixel);
    return loss >= 0 ? {loss} : null;
  }

  /// The same where lifetimes are drawn.
  pickLifetime(lane, index, time, y) {
    const pixel = this.span / this.plotWidth;
    const level = Math.floor((this.rowTop(index, -1) - y) / this.rowHeight(lane));
    const series = this.hasRows(lane) ? lane.levels[level] : undefined;
    const command = series ? nearest(series, time, 3 * pixel) : -1;
    if (command >= 0) return {command};
    const loss = nearest(lane.lost, time, 4 * pixel);
    return loss >= 0 ? {loss} : null;
  }

  /// Returns the row of a command, {left, right, top, height}; null if it has none that is drawn.
  rowOf(command) {
    const {lifetimes, lifetimeOf, commands, lanes} = this.model, life = lifetimes[lifetimeOf[command]];
    const index = commands[command][LANE], lane = lanes[index];
    if (!life || !this.hasRows(lane)) return null;
    const left = this.toX(life[LIFE_BEGIN]), right = this.toX(life[LIFE_END]);
    return {left, right, top: this.rowTop(index, life[LEVEL]), height: this.rowHeight(lane)};
  }
}
