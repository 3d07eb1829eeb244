// SPDX-License-Identifier: BSL-1.0
//
// The page that write_trace_page() writes, second half: drawing and input. It goes on where trace_page.hpp ends.
#ifndef TIDEMARK_DETAIL_TRACE_PAGE_DRAWING_HPP
#define TIDEMARK_DETAIL_TRACE_PAGE_DRAWING_HPP

namespace tidemark::detail {

// clang-format off

inline constexpr const char* trace_page_drawing[] = {
R"page(
// ---- drawing -----------------------------------------------------------------------------------------------------

const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif';

function box(left, top, width, height, radius) {
  context.beginPath();
  if (context.roundRect) context.roundRect(left, top, width, height, radius);
  else context.rect(left, top, width, height);
}

function shorten(text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '\u2026').width <= width) low = middle; else high = middle - 1;
  }
  return low ? text.slice(0, low) + '\u2026' : '';
}

function eachLaneInView(visit) {
  const first = Math.max(0, Math.floor(view.scroll / view.lane));
  const last = Math.min(lanes.length, Math.ceil((view.scroll + view.height - AXIS) / view.lane));
  for (let index = first; index < last; ++index) visit(lanes[index], index);
}

function drawAxis() {
  const span = view.to - view.from, least = span / plotWidth() * 120, power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least));
  const unit = unitFor(Math.max(Math.abs(view.from), Math.abs(view.to)));
  const decimals = Math.max(0, Math.ceil(Math.log10(unit[0] / step) - 1e-9));
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.width, AXIS);
  context.fillStyle = colors.faint;
  context.textAlign = 'center';
  for (let n = Math.ceil(view.from / step); n * step <= view.to; ++n) {
    const x = Math.round(toX(n * step)) + .5;
    context.fillStyle = colors.line;
    context.fillRect(x - .5, AXIS - 6, 1, view.height);
    context.fillStyle = colors.faint;
    if (x > view.gutter + 30 && x < view.width - 36) context.fillText(inUnit(n * step, unit, decimals), x, AXIS / 2 - 1);
  }
  context.fillStyle = colors.line;
  context.fillRect(0, AXIS - 1, view.width, 1);
}

function drawBands() {
  eachLaneInView((lane, index) => {
    if (index % 2) {
      context.fillStyle = colors.band;
      context.fillRect(0, laneTop(index), view.width, view.lane);
    }
    context.fillStyle = colors.line;
    context.fillRect(0, laneTop(index) + view.lane - 1, view.width, 1);
  });
}

function drawGutter() {
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.gutter, view.height);
  context.textAlign = 'left';
  eachLaneInView((lane, index) => {
    const middle = laneTop(index) + view.lane / 2;
    context.fillStyle = colors.ink;
    context.font = '600 12px' + FONT.slice(4);
    context.fillText(shorten(lane.name, view.gutter - 24), 12, middle - 8);
    context.font = FONT;
    context.fillStyle = colors.faint;
    const counts = `${count(lane.waits.size, 'wait')}, ${count(lane.signals.size, 'signal')}`;
    context.fillText(shorten(counts, view.gutter - 24), 12, middle + 8);
    context.fillStyle = colors.line;
    context.fillRect(0, laneTop(index) + view.lane - 1, view.gutter, 1);
  });
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.gutter, AXIS - 1);
  context.fillStyle = colors.faint;
  context.fillText(shorten(`${durationText(view.to - view.from)} in view`, view.gutter - 24), 12, AXIS / 2 - 1);
  context.fillStyle = colors.line;
  context.fillRect(view.gutter - 1, 0, 1, view.height);
}

function drawLost(lane, index) {
  const top = laneTop(index) + 1, height = view.lane - 2;
  eachRun(lane.lost, (first, last, left, right) => {
    const from = Math.max(left, view.gutter - 2), width = Math.max(Math.min(right, view.width + 2) - from, 3);
    context.fillStyle = colors['lost-fill'];
    context.fillRect(from, top, width, height);
    context.save();
    context.beginPath();
    context.rect(from, top, width, height);
    context.clip();
    context.globalAlpha = .35;
    context.strokeStyle = colors.lost;
    context.beginPath();
    for (let x = Math.floor((from - height) / 9) * 9; x < from + width; x += 9) {
      context.moveTo(x, top + height);
      context.lineTo(x + height, top);
    }
    context.stroke();
    context.restore();
    context.strokeStyle = colors.lost;
    context.setLineDash([3, 2]);
    context.strokeRect(from + .5, top + .5, width - 1, height - 1);
    context.setLineDash([]);
    lane.marks.push([last - first, lane.lost.item[first], from, width]);
  });
}

/// Over the boxes, so that it can be read.
function labelLost(lane, index) {
  for (const [gaps, loss, left, width] of lane.marks) {
    const [, waits, , number] = data.losses[loss];
    const text = gaps > 1 ? `${gaps} gaps` : `${number} ${waits ? 'waits' : 'signals'} lost`;
    const room = context.measureText(text).width + 8;
    if (room > width) continue;
    context.fillStyle = colors['lost-fill'];
    const middle = boxTop(index) + boxHeight() - 9;
    context.fillRect(left + 2, middle - 7, room, 14);
    context.fillStyle = colors.lost;
    context.fillText(text, left + 6, middle);
  }
}
)page",
R"page(
function drawWaits(lane, index) {
  if (lane.far) return drawStalls(lane, index);
  const top = boxTop(index), height = boxHeight();
  eachRun(lane.waits, (first, last, left, right) => {
    const start = Math.max(left, view.gutter - 8), width = Math.max(Math.min(right, view.width + 8) - start, 1.5);
    if (width >= 4) return drawWait(lane.waits.item[first], last - first === 1, start, width, top, height);
    context.fillStyle = colors['wait-edge'];
    context.fillRect(start, top, width, height);
  });
}

/// From afar: for each few pixels, the share of the time for which the queue was stalled.
function drawStalls(lane, index) {
  const {waits} = lane, columns = new Float64Array(Math.ceil(plotWidth() / COLUMN) + 1);
  eachRun(waits, (first, last, left, right) => {
    const from = (left - view.gutter) / COLUMN, to = Math.max((right - view.gutter) / COLUMN, from + .01);
    const stalled = toX(view.from + waits.sum[last] - waits.sum[first]) - view.gutter;
    const share = Math.min(1, stalled / COLUMN / (to - from));
    for (let i = Math.max(0, Math.floor(from)); i < to && i < columns.length; ++i) {
      columns[i] += share * (Math.min(to, i + 1) - Math.max(from, i));
    }
  });
  const bottom = boxTop(index) + boxHeight();
  context.beginPath();
  columns.forEach((share, i) => {
    const height = Math.min(1, share) * boxHeight();
    if (share > 0) context.rect(view.gutter + i * COLUMN, bottom - Math.max(1, height), COLUMN, Math.max(1, height));
  });
  context.fillStyle = colors['wait-far'];
  context.fill();
}

function drawWait(item, alone, left, width, top, height) {
  const command = commands[item], guessed = alone && command[FLAGS] & GUESSED;
  box(left + .5, top + .5, width - 1, height - 1, Math.min(4, width / 3));
  context.fillStyle = guessed ? colors.ground : colors.wait;
  context.fill();
  context.strokeStyle = colors['wait-edge'];
  if (guessed) context.setLineDash([3, 2]);
  context.stroke();
  context.setLineDash([]);
  const start = Math.max(left, view.gutter) + 7, room = Math.min(left + width, view.width) - start - 6;
  if (!alone || room < 18) return;
  const text = [fenceText(command), `\u2265 ${command[VALUE]}`].find((text) => context.measureText(text).width <= room);
  context.fillStyle = colors['wait-ink'];
  if (text) context.fillText(text, start, top + height / 2);
}

/// A mark at each item; those that touch are drawn as one.
function drawMarks(series, top, height, color) {
  let from = 0, to = -1;
  context.fillStyle = color;
  eachRun(series, (first, last, left) => {
    if (left - 2 > to) {
      if (to > from) context.fillRect(from, top, to - from, height);
      from = left - 2;
    }
    to = left;
  });
  if (to > from) context.fillRect(from, top, to - from, height);
}

/// Where they are many they are short, so that the waits are seen.
function drawSignals(lane, index) {
  const top = boxTop(index) - 3, height = boxHeight() + 6, {signals} = lane;
  if (countInView(signals) > plotWidth() / 9) return drawMarks(signals, top, 7, colors.signal);
  let free = view.gutter + 2;  // where the next label may begin
  eachRun(signals, (first, last, left) => {
    const command = commands[signals.item[first]], alone = last - first === 1;
    if (alone && command[FLAGS] & GUESSED) {
      context.strokeStyle = colors.signal;
      context.setLineDash([3, 2]);
      context.strokeRect(left - 3, top + .5, 4, height - 1);
      context.setLineDash([]);
    } else {
      context.fillStyle = colors.signal;
      context.fillRect(left - 3, top, 3, height);
    }
    if (!alone || left < free) return;
    const text = fenceText(command), room = context.measureText(text).width;
    const start = Math.min(Math.max(left - room / 2 - 1.5, view.gutter + 3), view.width - room - 4);
    const next = last < signals.size ? toX(signals.begin[last]) : Infinity;
    if (start < free || next - left < 26) return;
    context.fillStyle = colors.signal;
    context.fillText(text, start, laneTop(index) + 8);
    free = start + room + 10;
  });
}

function drawStrip(lane, index) {
  const top = laneTop(index) + view.lane - STRIP - 2;
  drawMarks(lane.queued, top + 3, STRIP - 3, colors.queued);
  drawMarks(lane.pending, top, STRIP, colors.pending);
}

function drawBackward(lane, index) {
  const bottom = boxTop(index) + boxHeight() + 2;
  context.fillStyle = colors.lost;
  eachRun(lane.backward, (first, last, left) => {
    context.beginPath();
    context.moveTo(left - 1.5, bottom - 10);
    context.lineTo(left + 4.5, bottom);
    context.lineTo(left - 7.5, bottom);
    context.fill();
  });
}

/// From a signal to the end of a wait that it released.
function drawArrow(wait, strong) {
  const to = commands[wait], from = commands[to[RELEASED_BY]];
  if (!from || from[BOX_END] === null || to[BOX_END] === null) return;
  const down = from[LANE] < to[LANE], same = from[LANE] === to[LANE], half = boxHeight() / 2;
  const x0 = toX(from[BOX_END]) - 1.5, x1 = toX(to[BOX_END]) - 1;
  const y0 = boxTop(from[LANE]) + (same ? -3 : down ? 2 * half + 3 : -3);
  const y1 = boxTop(to[LANE]) + (same || down ? -1 : 2 * half + 1), bend = same ? -14 : (y1 - y0) * .5;
  const head = same || down ? -7 : 7;
  context.globalAlpha = strong ? 1 : .62;
  context.strokeStyle = context.fillStyle = colors.arrow;
  context.lineWidth = strong ? 2 : 1.2;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, y0 + bend, x1, y1 + head - (same ? 14 : bend), x1, y1 + head * .8);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 3.5, y1 + head);
  context.lineTo(x1 + 3.5, y1 + head);
  context.fill();
  context.lineWidth = 1;
  context.globalAlpha = 1;
}

/// Of the waits that stalled, as many as can be told apart.
function drawArrows(lane) {
  if (lane.far) return;
  let last = -Infinity;
  eachRun(lane.waits, (first, next, left, right) => {
    if (next - first > 1 || right - left < 3 || right - last < 7 || right > view.width + 40) return;
    last = right;
    drawArrow(lane.waits.item[first], false);
  });
}

function drawHover() {
  if (!hover || hover.command === undefined) return;
  const index = hover.command, command = commands[index], lane = command[LANE], top = boxTop(lane);
  const wait = command[WAIT], shown = command[BOX_END] !== null;
  const left = shown ? toX(command[BOX_BEGIN]) : 0, right = shown ? toX(command[BOX_END]) : 0;
  if (command[QUEUED] !== null) {
    const y = laneTop(lane) + view.lane - STRIP / 2 - 1, x = toX(command[QUEUED]);
    context.strokeStyle = context.fillStyle = command[FLAGS] & EXECUTED ? colors.queued : colors.pending;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    if (shown) context.lineTo(left, y);
    if (shown) context.lineTo(left, top + boxHeight());
    context.stroke();
    context.fillRect(x - 2, y - 6, 4, 11);
    context.lineWidth = 1;
  }
  if (shown) {
    context.strokeStyle = colors.ink;
    context.lineWidth = 2;
    const from = Math.max(wait ? left : right - 4, view.gutter - 9), to = Math.min(right + 1, view.width + 9);
    box(from - 1, top - (wait ? 1 : 4), Math.max(to - from, 2) + 2, boxHeight() + (wait ? 2 : 8), 4);
    context.stroke();
    context.lineWidth = 1;
  }
  if (command[RELEASED_BY] >= 0) drawArrow(index, true);
  let drawn = 0;
  for (let i = firstReleased[index]; i >= 0 && drawn < 500; i = nextReleased[i], ++drawn) drawArrow(i, true);
}

function drawPointer() {
  if (!pointer || pointer.x < view.gutter) return;
  const text = timeText(Math.round(toTime(pointer.x))), width = context.measureText(text).width + 12;
  const left = Math.min(Math.max(pointer.x - width / 2, view.gutter), view.width - width);
  context.globalAlpha = .5;
  context.fillStyle = colors.faint;
  context.fillRect(Math.round(pointer.x), AXIS, 1, view.height);
  context.globalAlpha = 1;
  context.fillStyle = colors.ink;
  box(left, 4, width, 19, 4);
  context.fill();
  context.fillStyle = colors.ground;
  context.textAlign = 'center';
  context.fillText(text, left + width / 2, AXIS / 2 - 1);
  context.textAlign = 'left';
}

function draw() {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = colors.ground;
  context.fillRect(0, 0, view.width, view.height);
  drawBands();
  drawAxis();
  context.textAlign = 'left';
  context.save();
  context.beginPath();
  context.rect(view.gutter, AXIS, plotWidth(), view.height - AXIS);
  context.clip();
  eachLaneInView((lane, index) => {
    lane.marks = [];
    lane.far = countInView(lane.waits) > plotWidth() / 7;
    drawLost(lane, index);
    drawWaits(lane, index);
    drawSignals(lane, index);
    drawBackward(lane, index);
    drawStrip(lane, index);
    labelLost(lane, index);
  });
  eachLaneInView(drawArrows);
  drawHover();
  context.restore();
  drawGutter();
  drawPointer();
}
)page",
R"page(
// ---- input -------------------------------------------------------------------------------------------------------

function placeTip(x, y) {
  const {offsetWidth: width, offsetHeight: height} = tip;
  const left = x + 16 + width > view.width ? x - 16 - width : x + 16;
  const top = Math.min(Math.max(y + 14, 4), view.height - height - 4);
  tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}

function setHover(found, x, y) {
  const changed = found?.command !== hover?.command || found?.loss !== hover?.loss;
  hover = found;
  if (found && changed) fillTip(found.loss === undefined ? commandTip(found.command) : lossTip(found.loss));
  tip.style.visibility = found ? 'visible' : 'hidden';
  if (found) placeTip(x, y);
  redraw();
}

/// Names that the gutter had to cut.
function nameUnder(x, y) {
  const lane = lanes[Math.floor((y - AXIS + view.scroll) / view.lane)];
  canvas.title = lane && x < view.gutter && y > AXIS ? lane.name : '';
}

function step(direction) {
  if (!walk.length) return;
  const at = hover?.command === undefined ? -1 : walk.indexOf(hover.command);
  let next = at + direction;
  if (at < 0) next = walk.findIndex((index) => whenShown(index) >= view.from);
  const index = walk[Math.min(Math.max(next, 0), walk.length - 1)], time = whenShown(index);
  const span = view.to - view.from, lane = commands[index][LANE];
  if (time < view.from || time > view.to) setView(time - span / 2, time + span / 2);
  if (laneTop(lane) < AXIS) scroll(laneTop(lane) - AXIS);
  if (laneTop(lane) + view.lane > view.height) scroll(laneTop(lane) + view.lane - view.height);
  pointer = null;
  setHover({command: index}, toX(time), boxTop(lane) + boxHeight());
}

let drag = null;
canvas.addEventListener('pointerdown', (event) => {
  if (event.button !== 0) return;
  drag = {x: event.offsetX, y: event.offsetY};
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add('dragging');
});
canvas.addEventListener('pointermove', (event) => {
  const {offsetX: x, offsetY: y} = event;
  pointer = {x, y};
  if (drag) {
    pan((drag.x - x) / plotWidth());
    scroll(drag.y - y);
    drag = {x, y};
    setHover(null);
  } else {
    nameUnder(x, y);
    setHover(pick(x, y), x, y);
  }
});
const drop = () => { drag = null; canvas.classList.remove('dragging'); };
canvas.addEventListener('pointerup', drop);
canvas.addEventListener('pointercancel', drop);
canvas.addEventListener('pointerleave', () => { pointer = null; setHover(null); });
canvas.addEventListener('dblclick', (event) => zoom(.25, event.offsetX));
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) pan(sideways * scale / plotWidth());
  else zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY * scale)) * (event.ctrlKey ? .01 : .002)), event.offsetX);
  setHover(pick(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
}, {passive: false});

const KEYS = {
  ArrowLeft: (event) => pan(event.shiftKey ? -.5 : -.1), ArrowRight: (event) => pan(event.shiftKey ? .5 : .1),
  ArrowUp: () => scroll(-view.lane / 2), ArrowDown: () => scroll(view.lane / 2),
  '+': () => zoom(.7), '=': () => zoom(.7), '-': () => zoom(1 / .7), '0': () => fit(range),
  a: () => fit(queuedRange), n: () => step(1), p: () => step(-1), Escape: () => setHover(null),
};
window.addEventListener('keydown', (event) => {
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  act(event);
});
byId('in').onclick = () => zoom(.5);
byId('out').onclick = () => zoom(2);
byId('fit').onclick = () => fit(range);
byId('all').onclick = () => fit(queuedRange);
// At once: a new size clears the canvas, and the next frame would come too late for this one.
new ResizeObserver(() => { resize(); draw(); }).observe(canvas);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', readColors);
showFacts();
readColors();
resize();
fit(range);
</script>
</body>
</html>
)page"};

// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_TRACE_PAGE_DRAWING_HPP
