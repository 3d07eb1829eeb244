// SPDX-License-Identifier: BSL-1.0
//
// Draws what stands around the lanes: bands, time axis, gutter, scroll bar, the time under the pointer.
//
// A scene is {context, view, model, colors, labels}: all that a drawing function needs.

import {axisTicks, countText, durationText, lanesText, shorten, timeText} from './text.mjs';
import {AXIS, BAR, HEAD} from './view.mjs';

export const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const NAME_FONT = FONT.replace('11px', '600 12px');

/// Begins a path that is a rectangle with round corners, where the browser can draw them.
export function roundBox(context, left, top, width, height, radius) {
  context.beginPath();
  if (context.roundRect) context.roundRect(left, top, width, height, radius);
  else context.rect(left, top, width, height);
}

export function drawBands({context, view, colors}) {
  view.eachLane((lane, index) => {
    if (index % 2 === 1) {
      context.fillStyle = colors.band;
      context.fillRect(0, view.laneTop(index), view.width, view.lane);
    }
    context.fillStyle = colors.line;
    context.fillRect(0, view.laneTop(index) + view.lane - 1, view.width, 1);
  });
}

/// Draws the names of the engines above their lanes.
function drawGroups({context, view, colors}, write) {
  view.eachGroup(({name, size, threads}, top) => {
    context.fillStyle = colors.head;
    context.fillRect(0, top, view.width, HEAD - 1);
    context.fillStyle = colors.line;
    context.fillRect(0, top + HEAD - 1, view.width, 1);
    context.fillStyle = colors.ink;
    context.font = NAME_FONT;
    write(`${name} \u00b7 ${lanesText(size, threads)}`, top + HEAD / 2);
    context.font = FONT;
  });
}

export function drawAxis({context, view, colors}) {
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.width, AXIS);
  context.textAlign = 'center';
  for (const {time, text} of axisTicks(view.from, view.to, view.plotWidth)) {
    const x = Math.round(view.toX(time)), half = context.measureText(text).width / 2 + 4;
    context.fillStyle = colors.line;
    context.fillRect(x, AXIS - 6, 1, view.height);
    context.fillStyle = colors.faint;
    if (x - half > view.gutter && x + half < view.right) context.fillText(text, x, AXIS / 2 - 1);
  }
  context.fillStyle = colors.line;
  context.fillRect(0, AXIS - 1, view.width, 1);
}

const countsText = (lane) => `${countText(lane.waits.size, 'wait')}, ${countText(lane.signals.size, 'signal')}`;
const depthText = ({levels, greatestDepth}) =>
  levels.length > 0 ? `up to ${greatestDepth.toLocaleString('en')} in flight` : 'in flight: not known';

/// Returns how wide the gutter must be to show all names of queues.
export function gutterFor(context, {lanes, groups}) {
  const widest = (font, texts) => {
    context.font = font;
    return texts.reduce((most, text) => Math.max(most, context.measureText(text).width), 0);
  };
  const engines = groups.map(({name}) => `${name} \u00b7 00 queues`);
  const names = widest(NAME_FONT, [...engines, ...lanes.map(({name}) => name)]);
  const counts = widest(FONT, [...lanes.map(countsText), ...lanes.map(depthText)]);
  return Math.ceil(Math.max(names, counts, 126)) + 24;
}

export function drawGutter({context, view, colors}) {
  const room = view.gutter - 24, widthOf = (text) => context.measureText(text).width;
  const write = (text, y) => context.fillText(shorten(text, room, widthOf), 12, y);
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.gutter, view.height);
  context.textAlign = 'left';
  view.eachLane((lane, index) => {
    const middle = view.laneTop(index) + view.lane / 2;
    context.fillStyle = colors.ink;
    context.font = NAME_FONT;
    write(lane.name, middle - 8);
    context.font = FONT;
    context.fillStyle = colors.faint;
    write(view.lifetimes ? depthText(lane) : countsText(lane), middle + 8);
    context.fillStyle = colors.line;
    context.fillRect(0, view.laneTop(index) + view.lane - 1, view.gutter, 1);
  });
  drawGroups({context, view, colors}, write);
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.gutter, AXIS - 1);
  context.fillStyle = colors.faint;
  write(`${durationText(view.span)} in view`, AXIS / 2 - 1);
  context.fillStyle = colors.line;
  context.fillRect(view.gutter - 1, 0, 1, view.height);
}

/// Shows which of the lanes are in view, if not all are.
export function drawScrollBar({context, view, colors}) {
  const {bar} = view;
  if (!bar) return;
  context.fillStyle = colors.panel;
  context.fillRect(view.width - BAR, AXIS, BAR, view.height - AXIS);
  context.fillStyle = colors.line;
  context.fillRect(view.width - BAR, AXIS, 1, view.height - AXIS);
  context.globalAlpha = .6;
  context.fillStyle = colors.faint;
  roundBox(context, view.width - BAR + 4, bar.top + 2, BAR - 7, bar.length - 4, (BAR - 7) / 2);
  context.fill();
  context.globalAlpha = 1;
}

export function drawPointer({context, view, colors}, pointer) {
  if (!pointer || pointer.x < view.gutter || pointer.x > view.right) return;
  const text = timeText(Math.round(view.toTime(pointer.x))), width = context.measureText(text).width + 12;
  const left = Math.max(Math.min(pointer.x - width / 2, view.right - width), view.gutter);
  context.globalAlpha = .5;
  context.fillStyle = colors.faint;
  context.fillRect(Math.round(pointer.x), AXIS, 1, view.height);
  context.globalAlpha = 1;
  context.fillStyle = colors.ink;
  roundBox(context, left, 4, width, 19, 4);
  context.fill();
  context.fillStyle = colors.ground;
  context.textAlign = 'center';
  context.fillText(text, left + width / 2, AXIS / 2 - 1);
}

/// Draws a range of time that was chosen, {from, to}, if there is one.
export function drawRange({context, view, colors}, range) {
  if (!range) return;
  const left = Math.max(view.toX(range.from), view.gutter), right = Math.min(view.toX(range.to), view.right);
  if (right < left) return;
  context.fillStyle = colors.arrow;
  context.globalAlpha = .13;
  context.fillRect(left, AXIS, right - left, view.height - AXIS);
  context.globalAlpha = 1;
  context.fillRect(left, AXIS - 4, Math.max(right - left, 1), 4);
  for (const x of [left, right]) context.fillRect(Math.round(x), AXIS - 4, 1, view.height);
}

/// Says why there is nothing to see, if there is nothing.
export function drawEmptiness({context, view, model, colors}) {
  if (model.walk.length > 0 || model.losses.length > 0 || model.work.length > 0) return;
  const text = model.commands.length === 0 ? 'This trace has no commands.' : 'No command of this trace has a time.';
  context.fillStyle = colors.faint;
  context.textAlign = 'center';
  context.fillText(text, view.gutter + view.plotWidth / 2, (AXIS + view.height) / 2);
}
