// SPDX-License-Identifier: BSL-1.0
//
// The page that write_trace_page() writes, first half: what stands before the data, and of the script after it what
// knows the data and the view. The data is a JSON object, in which no '<' occurs; page_writer says what is in it. The
// second half draws and listens (trace_page_drawing.hpp).
//
// The page draws into one canvas. What a lane shows lies in arrays sorted by time, so that what is in view is found by
// binary search; of items that begin in the same pixel only their union is drawn, whose end a tree of maxima tells. So
// a frame costs about as many steps as the lanes have pixels, whatever the number of events.
#ifndef TIDEMARK_DETAIL_TRACE_PAGE_HPP
#define TIDEMARK_DETAIL_TRACE_PAGE_HPP

namespace tidemark::detail {

// clang-format off

inline constexpr const char* trace_page_head[] = {
R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>tidemark trace</title>
<style>
:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f6f7f9; --band: #fafbfc; --line: #e3e5ea; --ink: #1c1f26; --faint: #666c7a;
  --wait: #f8c9da; --wait-far: #efabc4; --wait-edge: #dd86a8; --wait-ink: #6d1c3d; --signal: #a8124e; --arrow: #4463b5;
  --queued: #22897e; --pending: #c2410c; --lost: #d58a00; --lost-fill: #fff3d6; --shadow: 0 4px 18px #0003;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14161b; --panel: #1b1e25; --band: #181b21; --line: #2b303a; --ink: #e8eaf0; --faint: #969dac;
    --wait: #5b3146; --wait-far: #834863; --wait-edge: #a85f7f; --wait-ink: #ffd9e6; --signal: #ff6ba1;
    --arrow: #8cacff; --queued: #46c2b3; --pending: #ff8a4c; --lost: #f0b13c; --lost-fill: #2e2715;
    --shadow: 0 4px 18px #000a;
  }
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body {
  display: flex; flex-direction: column; background: var(--ground); color: var(--ink);
  font: 13px/1.45 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
header, footer {
  display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; padding: 8px 14px; background: var(--panel);
}
header { border-bottom: 1px solid var(--line); }
footer { border-top: 1px solid var(--line); color: var(--faint); font-size: 12px; padding: 5px 14px; }
h1 { font-size: 15px; font-weight: 650; margin: 0; letter-spacing: .01em; }
#facts { color: var(--faint); }
#facts b { color: var(--ink); font-weight: 600; }
#facts .warn { color: var(--lost); font-weight: 600; }
.buttons { margin-left: auto; display: flex; gap: 6px; }
button {
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 6px;
  min-width: 30px; padding: 2px 9px; cursor: pointer;
}
button:hover { border-color: var(--faint); }
button:focus-visible, canvas:focus-visible { outline: 2px solid var(--arrow); outline-offset: -2px; }
kbd {
  font: inherit; border: 1px solid var(--line); border-radius: 4px; padding: 0 5px; background: var(--ground);
  color: var(--ink);
}
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 12px; }
.legend span { display: inline-flex; align-items: center; gap: 6px; }
.legend svg { width: 26px; height: 14px; overflow: visible; }
main { flex: 1; position: relative; min-height: 0; }
canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab; }
canvas.dragging { cursor: grabbing; }
#tip {
  position: absolute; left: 0; top: 0; max-width: 380px; padding: 8px 11px; border-radius: 8px; pointer-events: none;
  background: var(--panel); border: 1px solid var(--line); box-shadow: var(--shadow); font-size: 12px;
  visibility: hidden;
}
#tip h2 { font-size: 13px; margin: 0 0 4px; overflow-wrap: anywhere; }
#tip dl { display: grid; grid-template-columns: auto 1fr; gap: 1px 12px; margin: 0; }
#tip dt { color: var(--faint); }
#tip dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
#tip p { margin: 5px 0 0; color: var(--lost); }
</style>
</head>
)page",
R"page(<body>
<header>
  <h1>tidemark trace</h1>
  <div id="facts"></div>
  <div class="buttons">
    <button id="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
    <button id="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
    <button id="fit" title="Fit to window (0)">Fit</button>
    <button id="all" title="Fit, with all that was queued (a)">Fit queued</button>
  </div>
</header>
<main>
  <canvas id="canvas" tabindex="0" role="img" aria-label="Timeline of waits and signals, one lane per queue.
 The n and p keys go from command to command and say what each is."></canvas>
  <div id="tip" role="status" aria-live="polite"></div>
</main>
<footer>
  <div class="legend">
    <span><svg><rect x="1" y="1" width="24" height="12" rx="3" fill="var(--wait)" stroke="var(--wait-edge)"/></svg>wait,
      observed to end (from afar: share of the time)</span>
    <span><svg><rect x="11" y="0" width="4" height="14" rx="1" fill="var(--signal)"/></svg>signal</span>
    <span><svg fill="none" stroke="var(--arrow)" stroke-width="1.4"><path d="M2 2C12 2 12 12 20 12"/><path
      d="M25 12l-6-3v6z" fill="var(--arrow)" stroke="none"/></svg>releases</span>
    <span><svg><path d="M7 3v9M13 3v9M19 3v9" stroke="var(--queued)" stroke-width="2"/></svg>queued</span>
    <span><svg><path d="M10 2v11M16 2v11" stroke="var(--pending)" stroke-width="2"/></svg>queued, never seen
      executed</span>
    <span><svg><rect x="1" y="1" width="24" height="12" fill="var(--lost-fill)" stroke="var(--lost)"
      stroke-dasharray="3 2"/></svg>entries lost</span>
    <span><svg><rect x="1" y="1" width="24" height="12" rx="3" fill="none" stroke="var(--wait-edge)"
      stroke-dasharray="3 2"/></svg>time not recorded</span>
    <span><svg><path d="M13 1l7 12H6z" fill="var(--lost)"/></svg>time went backward</span>
  </div>
  <div style="margin-left:auto">wheel zoom, drag pan, <kbd>&larr;</kbd> <kbd>&rarr;</kbd> <kbd>&uarr;</kbd>
    <kbd>&darr;</kbd> <kbd>+</kbd> <kbd>&minus;</kbd>, <kbd>0</kbd> fit, <kbd>n</kbd> <kbd>p</kbd> next, previous</div>
</footer>
<script type="application/json" id="data">
)page"};

inline constexpr const char* trace_page_model[] = {
R"page(</script>
<script>
'use strict';
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const canvas = byId('canvas'), context = canvas.getContext('2d'), tip = byId('tip');
const LANE = 0, WAIT = 1, FENCE = 2, VALUE = 3, QUEUED = 4, OBSERVED = 5, END = 6, BOX_BEGIN = 7, BOX_END = 8,
  FLAGS = 9, RELEASED_BY = 10;
const EXECUTED = 1, BACKWARD = 4, UNCERTAIN = 8, GUESSED = 16;
const commands = data.commands;

// ---- what a lane shows: items sorted by begin --------------------------------------------------------------------

/// The first index from `low` on for which values[index] >= value.
function lowerBound(values, value, low = 0) {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

/// `items` are [begin, end, payload]. `reach` is the greatest end so far; `tree` tells the greatest of any range; `sum`
/// is how long all before it are together.
function makeSeries(items) {
  items.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const size = items.length;
  const series = {size, begin: new Float64Array(size), reach: new Float64Array(size), item: new Int32Array(size),
                  tree: new Float64Array(2 * size), sum: new Float64Array(size + 1)};
  let reach = -Infinity;
  for (let i = 0; i < size; ++i) {
    const [begin, end, item] = items[i];
    reach = Math.max(reach, end);
    series.begin[i] = begin;
    series.reach[i] = reach;
    series.item[i] = item;
    series.sum[i + 1] = series.sum[i] + end - begin;
    series.tree[size + i] = end;
  }
  for (let i = size - 1; i > 0; --i) series.tree[i] = Math.max(series.tree[2 * i], series.tree[2 * i + 1]);
  return series;
}

const endOf = (series, i) => series.tree[series.size + i];

function greatestEnd(series, first, last) {
  let result = -Infinity;
  for (let low = first + series.size, high = last + series.size; low < high; low >>= 1, high >>= 1) {
    if (low & 1) result = Math.max(result, series.tree[low++]);
    if (high & 1) result = Math.max(result, series.tree[--high]);
  }
  return result;
}

const lanes = data.queues.map((name) => ({name, waits: [], signals: [], queued: [], pending: [],
                                             lost: [], backward: []}));
const range = {from: Infinity, to: -Infinity}, queuedRange = {from: Infinity, to: -Infinity};
function widen(bounds, ...times) {
  for (const time of times) {
    if (time === null || !Number.isFinite(time)) continue;
    bounds.from = Math.min(bounds.from, time);
    bounds.to = Math.max(bounds.to, time);
  }
}
const firstReleased = new Int32Array(commands.length).fill(-1), nextReleased = new Int32Array(commands.length).fill(-1);
const walk = [];
for (let i = 0; i < commands.length; ++i) {
  const command = commands[i], lane = lanes[command[LANE]];
  if (command[BOX_END] !== null) {
    (command[WAIT] ? lane.waits : lane.signals).push([command[BOX_BEGIN], command[BOX_END], i]);
    if (command[FLAGS] & BACKWARD) lane.backward.push([command[BOX_END], command[BOX_END], i]);
    widen(range, command[BOX_BEGIN], command[BOX_END]);
    walk.push(i);
  } else if (command[QUEUED] !== null) {
    walk.push(i);
  }
  if (command[QUEUED] !== null) {
    (command[FLAGS] & EXECUTED ? lane.queued : lane.pending).push([command[QUEUED], command[QUEUED], i]);
    widen(queuedRange, command[QUEUED]);
  }
  const by = command[RELEASED_BY];
  if (by >= 0) {
    nextReleased[i] = firstReleased[by];
    firstReleased[by] = i;
  }
}
const whenShown = (i) => commands[i][BOX_END] ?? commands[i][QUEUED];
walk.sort((a, b) => whenShown(a) - whenShown(b) || a - b);
for (const [, , , , before, after] of data.losses) widen(range, before, after);
widen(queuedRange, range.from, range.to);
if (!(range.from <= range.to)) Object.assign(range, queuedRange);
if (!(range.from <= range.to)) Object.assign(range, {from: 0, to: 1000});
if (!(queuedRange.from <= queuedRange.to)) Object.assign(queuedRange, range);
data.losses.forEach(([lane, , , , before, after], i) => {
  lanes[lane].lost.push([before ?? range.from, after ?? range.to, i]);
});
for (const lane of lanes) {
  for (const kind of ['waits', 'signals', 'queued', 'pending', 'lost', 'backward']) lane[kind] = makeSeries(lane[kind]);
}
)page",
R"page(
// ---- words -------------------------------------------------------------------------------------------------------

const UNITS = [[1e9, 's', 9], [1e6, 'ms', 6], [1e3, '\u00b5s', 3], [1, 'ns', 0]];
const unitFor = (nanoseconds) => UNITS.find(([size]) => Math.abs(nanoseconds) >= size) ?? UNITS[3];
function inUnit(nanoseconds, [size, name], decimals) {
  return `${(nanoseconds / size).toFixed(decimals).replace('-', '\u2212')} ${name}`;
}
function timeText(nanoseconds) {
  if (nanoseconds === null) return 'not known';
  const unit = unitFor(nanoseconds);
  return inUnit(nanoseconds, unit, unit[2]);
}
function durationText(nanoseconds) {
  const unit = unitFor(nanoseconds);
  return inUnit(nanoseconds, unit, Math.min(unit[2], 3));
}
const fenceText = (command) => `${data.fences[command[FENCE]]} ${command[WAIT] ? '\u2265' : '='} ${command[VALUE]}`;
const count = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function showFacts() {
  const parts = [element('b', count(lanes.length, 'queue')), element('b', count(commands.length, 'command')),
                 element('span', `over ${durationText(range.to - range.from)}`)];
  const warn = (number, text) => { if (number > 0) parts.push(element('span', text, 'warn')); };
  const lost = data.losses.reduce((sum, loss) => sum + Number(loss[3]), 0);
  warn(lost, `${count(lost, 'entry').replace('entrys', 'entries')} lost in ${count(data.losses.length, 'gap')}`);
  warn(data.backward, `${count(data.backward, 'time')} backward`);
  warn(data.notShown, `${count(data.notShown, 'command')} without any time not shown`);
  parts.forEach((part, i) => byId('facts').append(i ? ' \u00b7 ' : '', part));
}

function commandRows(command) {
  const end = command[FLAGS] & EXECUTED ? timeText(command[END]) : 'not seen executed';
  const rows = [['queue', lanes[command[LANE]].name], ['fence', data.fences[command[FENCE]]], ['value', command[VALUE]],
                ['queued', timeText(command[QUEUED])]];
  const passed = command[OBSERVED] === null && command[END] !== null;
  if (command[WAIT]) rows.push(['observed', passed ? 'did not stall' : timeText(command[OBSERVED])]);
  rows.push(['end', end]);
  if (command[WAIT] && command[OBSERVED] !== null && command[END] !== null) {
    rows.push(['stalled', durationText(command[END] - command[OBSERVED])]);
  }
  if (command[QUEUED] !== null && command[END] !== null) {
    rows.push(['lifetime', durationText(command[END] - command[QUEUED])]);
  }
  return rows;
}

function relationRows(index) {
  const command = commands[index], rows = [];
  if (command[WAIT] && command[FLAGS] & EXECUTED) {
    const by = commands[command[RELEASED_BY]];
    rows.push(['released by', by ? `${fenceText(by)} on ${lanes[by[LANE]].name}` : 'not known']);
    if (by && by[END] !== null && command[END] !== null) rows.push(['', `${durationText(command[END] - by[END])} before`]);
  }
  let released = 0;
  for (let i = firstReleased[index]; i >= 0; i = nextReleased[i]) ++released;
  if (released) rows.push(['released', count(released, 'wait')]);
  return rows;
}

function commandTip(index) {
  const command = commands[index], flags = command[FLAGS], notes = [];
  if (flags & BACKWARD) notes.push('Its time stamp is smaller than one before it.');
  if (flags & GUESSED) notes.push('Its time was not recorded; it is shown where its neighbor is.');
  if (flags & UNCERTAIN) {
    notes.push(flags & EXECUTED ? 'When it was queued can\'t be told: entries of its log were lost.'
                                : 'It may have been executed: entries of its log were lost.');
  }
  return {title: `${command[WAIT] ? 'wait' : 'signal'} ${fenceText(command)}`,
          rows: [...commandRows(command), ...relationRows(index)], notes};
}

function lossTip(index) {
  const [lane, waits, first, number, before, after] = data.losses[index];
  return {title: `${Number(number).toLocaleString('en')} ${waits ? 'waits' : 'signals'} lost`,
          rows: [['queue', lanes[lane].name], ['entries', `from number ${first} on`], ['after', timeText(before)],
                 ['before', timeText(after)]], notes: ['The log was overwritten before it was read.']};
}

function fillTip({title, rows, notes}) {
  const list = document.createElement('dl');
  for (const [key, value] of rows) list.append(element('dt', key), element('dd', value));
  tip.replaceChildren(element('h2', title), list, ...notes.map((note) => element('p', note)));
}
)page",
R"page(
// ---- view --------------------------------------------------------------------------------------------------------

const AXIS = 30, STRIP = 9, TOP = 17, COLUMN = 3;
const view = {from: 0, to: 1, scroll: 0, width: 0, height: 0, gutter: 150, lane: 60};
let colors = {}, hover = null, pointer = null, frame = 0;
const plotWidth = () => Math.max(50, view.width - view.gutter);
const toX = (time) => view.gutter + (time - view.from) / (view.to - view.from) * plotWidth();
const toTime = (x) => view.from + (x - view.gutter) / plotWidth() * (view.to - view.from);
const laneTop = (index) => AXIS + index * view.lane - view.scroll;
const boxTop = (index) => laneTop(index) + TOP;
const boxHeight = () => view.lane - TOP - STRIP - 6;

function redraw() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); });
}
function setView(from, to) {
  const widest = 4 * Math.max(queuedRange.to - queuedRange.from, 1000);
  const span = Math.min(Math.max(to - from, 20), widest), middle = (from + to) / 2;
  const least = queuedRange.from - span * .9, most = queuedRange.to + span * .9;
  view.from = Math.min(Math.max(middle - span / 2, least), Math.max(most - span, least));
  view.to = view.from + span;
  redraw();
}
function fit(bounds) {
  const margin = Math.max((bounds.to - bounds.from) * .02, 10);
  view.scroll = 0;
  setView(bounds.from - margin, bounds.to + margin);
}
function zoom(factor, x) {
  const center = toTime(x ?? view.gutter + plotWidth() / 2);
  setView(center - (center - view.from) * factor, center + (view.to - center) * factor);
}
function pan(share) {
  const step = (view.to - view.from) * share;
  setView(view.from + step, view.to + step);
}
function scroll(pixels) {
  const most = Math.max(0, lanes.length * view.lane - (view.height - AXIS));
  view.scroll = Math.min(Math.max(view.scroll + pixels, 0), most);
  redraw();
}
function resize() {
  const ratio = window.devicePixelRatio || 1, bounds = canvas.getBoundingClientRect();
  view.width = bounds.width;
  view.height = bounds.height;
  canvas.width = Math.round(bounds.width * ratio);
  canvas.height = Math.round(bounds.height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.gutter = Math.min(190, Math.max(90, bounds.width * .14));
  view.lane = Math.min(110, Math.max(58, Math.floor((bounds.height - AXIS) / Math.max(lanes.length, 1))));
  scroll(0);
}
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ground', 'panel', 'band', 'line', 'ink', 'faint', 'wait', 'wait-far', 'wait-edge', 'wait-ink', 'signal',
                      'arrow', 'queued', 'pending', 'lost', 'lost-fill']) {
    colors[name] = style.getPropertyValue('--' + name).trim();
  }
  redraw();
}

/// Calls visit(first, last, left, right) for each run of items in view that begin in one pixel.
function eachRun(series, visit) {
  const {size, begin} = series, edge = view.gutter;
  for (let i = lowerBound(series.reach, view.from); i < size && begin[i] <= view.to;) {
    const left = toX(begin[i]), pixelEnd = Math.max(left, edge) + 1;
    let next = i + 1;
    if (next < size && toX(begin[next]) < pixelEnd) next = Math.max(next, lowerBound(begin, toTime(pixelEnd), next));
    visit(i, next, left, toX(next === i + 1 ? endOf(series, i) : greatestEnd(series, i, next)));
    i = next;
  }
}

const countInView = ({begin, reach}) => lowerBound(begin, view.to) - lowerBound(reach, view.from);

/// The item nearest to `time`, at most `slack` away; -1 if there is none.
function nearest(series, time, slack) {
  let best = -1, least = slack;
  for (let i = lowerBound(series.begin, time + slack) - 1, steps = 0; i >= 0 && steps < 200; --i, ++steps) {
    if (series.reach[i] < time - slack) break;
    const away = Math.max(series.begin[i] - time, time - endOf(series, i), 0);
    if (away < least || (away === 0 && best < 0)) [best, least] = [series.item[i], away];
    if (away === 0 && series.begin[i] === endOf(series, i)) break;
  }
  return best;
}

/// What is under the pointer: {command} or {loss}.
function pick(x, y) {
  const index = Math.floor((y - AXIS + view.scroll) / view.lane), lane = lanes[index];
  if (!lane || x < view.gutter || y < AXIS) return null;
  const time = toTime(x), pixel = (view.to - view.from) / plotWidth();
  const inStrip = y > boxTop(index) + boxHeight() + 2;
  const order = inStrip ? ['pending', 'queued'] : ['signals', 'waits'];
  for (const kind of order) {
    const found = nearest(lane[kind], time, (kind === 'waits' ? 3 : 5) * pixel);
    if (found >= 0) return {command: found};
  }
  const loss = nearest(lane.lost, time, 4 * pixel);
  return loss >= 0 ? {loss} : null;
}
)page"};

// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_TRACE_PAGE_HPP
