// SPDX-License-Identifier: BSL-1.0
//
// Draws the arrows from signals to the waits that they released, and what belongs to a command that a reader looks at.

import {BOX_BEGIN, BOX_END, EXECUTED, FLAGS, IS_WAIT, LANE, QUEUED, RELEASED_BY, placeOf,
        releasedBy} from './model.mjs';
import {roundBox} from './frame.mjs';
import {isFar} from './lanes.mjs';
import {STRIP} from './view.mjs';

const MOST_ARROWS = 500;

/// Draws the arrow to the end of a wait from the end of the signal that released it.
function drawArrow({context, view, model, colors}, wait, strong) {
  const to = model.commands[wait], from = model.commands[to[RELEASED_BY]];
  if (!from || from[BOX_END] === null || to[BOX_END] === null) return;
  const same = from[LANE] === to[LANE], down = from[LANE] < to[LANE], above = same || down;
  const x0 = view.toX(from[BOX_END]) - 1.5, x1 = view.toX(to[BOX_END]) - 1;
  const y0 = down ? view.boxBottom(from[LANE]) + 3 : view.boxTop(from[LANE]) - 3;
  const y1 = above ? view.boxTop(to[LANE]) - 1 : view.boxBottom(to[LANE]) + 1;
  const head = above ? -7 : 7, bend = same ? -14 : (y1 - y0) * .5;
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

/// Draws the arrows to the waits of a lane that stalled, as many as can be told apart.
export function drawArrows(scene, lane) {
  const {view} = scene;
  if (isFar(view, lane)) return;
  let previous = -Infinity;
  view.eachRun(lane.waits, (first, last, left, right) => {
    if (last - first > 1 || right - left < 3 || right - previous < 7 || right > view.right + 40) return;
    previous = right;
    drawArrow(scene, lane.waits.item[first], false);
  });
}

/// Draws a rim around a command or a span of work.
export function drawRim({context, view, model, colors}, target) {
  const {lane, from: begin, to: end} = placeOf(model, target), right = view.toX(end);
  const bar = target.command !== undefined && !model.commands[target.command][IS_WAIT], rim = bar ? 4 : 1;
  const from = Math.max(bar ? right - 4 : view.toX(begin), view.gutter - 9);
  const to = Math.max(Math.min(right + 1, view.right + 9), from + 2);
  context.strokeStyle = colors.ink;
  context.lineWidth = 2;
  roundBox(context, from - 1, view.boxTop(lane) - rim, to - from + 2, view.boxHeight + 2 * rim, 4);
  context.stroke();
  context.lineWidth = 1;
}

/// Draws a rim around a command, a line from where it was queued, and the arrows from and to it.
export function drawFocus(scene, index) {
  const {context, view, model, colors} = scene, command = model.commands[index], lane = command[LANE];
  const shown = command[BOX_END] !== null, left = view.toX(command[BOX_BEGIN]);
  if (command[QUEUED] !== null) {
    const x = view.toX(command[QUEUED]), y = view.laneTop(lane) + view.lane - STRIP / 2 - 1;
    context.strokeStyle = context.fillStyle = command[FLAGS] & EXECUTED ? colors.queued : colors.pending;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    if (shown) context.lineTo(left, y);
    if (shown) context.lineTo(left, view.boxBottom(lane));
    context.stroke();
    context.fillRect(x - 2, y - 6, 4, 11);
  }
  if (shown) drawRim(scene, {command: index});
  context.lineWidth = 1;
  if (command[RELEASED_BY] >= 0) drawArrow(scene, index, true);
  let drawn = 0;
  for (const wait of releasedBy(model, index)) {
    if (++drawn > MOST_ARROWS) break;
    drawArrow(scene, wait, true);
  }
}
