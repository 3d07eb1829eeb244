// SPDX-License-Identifier: BSL-1.0
//
// Draws the commands in flight: a box for each, from when it was queued to when it was executed, one above the other;
// and how many there are.

import {IS_WAIT, OPEN, VALUE} from './model.mjs';
import {endOf, greatestEnd, lowerBound, valueAt} from './series.mjs';
import {fenceText} from './describe.mjs';
import {drawGaps} from './lanes.mjs';
import {ROWS_TOP} from './view.mjs';

const DEPTH_COLUMN = 2, LEAST_LABELLED = 12, MOST_APART = 16;

export function drawDepth(scene, lane, index) {
  drawGaps(scene, lane, index);
  if (scene.view.hasRows(lane)) {
    lane.levels.forEach((series, level) => drawLevel(scene, series, index, level));
  } else {
    drawColumns(scene, lane, index);
  }
  drawNumbers(scene, lane, index);
}

/// Draws the lifetimes of one level.
function drawLevel(scene, series, index, level) {
  const {view, model, colors, context} = scene, lane = model.lanes[index];
  const top = view.rowTop(index, level), height = view.rowHeight(lane);
  const box = (item, left, right) => {
    const from = Math.max(left, view.gutter - 8), width = Math.max(Math.min(right, view.right + 8) - from, 1.5);
    if (width < 3 || item < 0) {
      context.fillStyle = colors['wait-edge'];
      context.fillRect(from, top + 1, width, height - 1);
    } else {
      drawLifetime(scene, item, from, width, top + 1, height - 1);
    }
  };
  // Of a few that begin in one pixel, the last may be long, and must not look like all of them.
  view.eachRun(series, (first, last, left, right) => {
    if (last - first > MOST_APART) box(-1, left, right);
    else for (let i = first; i < last; ++i) box(series.item[i], view.toX(series.begin[i]), view.toX(endOf(series, i)));
  });
}

function drawLifetime({context, view, model, colors, labels}, item, left, width, top, height) {
  const command = model.commands[item], open = model.lifetimes[model.lifetimeOf[item]][OPEN];
  const color = command[IS_WAIT] ? 'wait' : 'signal', ink = command[IS_WAIT] ? 'wait-ink' : 'ground';
  context.fillStyle = open ? colors.ground : colors[color];
  context.fillRect(left, top, width, height);
  context.strokeStyle = colors[command[IS_WAIT] ? 'wait-edge' : 'signal'];
  if (open) context.setLineDash([3, 2]);
  context.strokeRect(left + .5, top + .5, width - 1, height - 1);
  context.setLineDash([]);
  const start = Math.max(left, view.gutter) + 5, room = Math.min(left + width, view.right) - start - 4;
  if (height < LEAST_LABELLED || room < 18) return;
  const style = open ? {ink: colors.ink, ground: colors.ground} : {ink: colors[ink], ground: colors[color]};
  labels.add([fenceText(model, command), `${command[IS_WAIT] ? '\u2265' : '='} ${command[VALUE]}`], start,
             top + height / 2, room, style);
}

/// Where there are too many rows, draws in each column of a few pixels the greatest depth.
function drawColumns({context, view, colors}, lane, index) {
  const bottom = view.rowTop(index, -1), room = view.lane - ROWS_TOP - 4;
  context.fillStyle = colors['wait-far'];
  for (let x = view.gutter; x < view.right; x += DEPTH_COLUMN) {
    const most = greatestDepth(lane, view.toTime(x), view.toTime(x + DEPTH_COLUMN));
    if (most === 0) continue;
    const height = Math.max(1, most / lane.greatestDepth * room);
    context.fillRect(x, bottom - height, DEPTH_COLUMN, height);
  }
}

/// Returns the greatest depth of a lane from one time to another.
function greatestDepth({depth}, from, to) {
  const most = greatestEnd(depth, lowerBound(depth.begin, from), lowerBound(depth.begin, to));
  return Math.max(most, valueAt(depth, from) ?? 0);
}

/// Writes the depth above the rows, where it changes and there is room.
function drawNumbers({view, colors, labels}, {depth}, index) {
  const style = {ink: colors.ink, ground: index % 2 === 1 ? colors.band : colors.ground};
  const y = view.laneTop(index) + ROWS_TOP / 2 + 1;
  view.eachRun({...depth, reach: depth.begin}, (first, last, left) => {
    if (last - first > 1 || left < view.gutter) return;
    const value = endOf(depth, first), right = last < depth.size ? view.toX(depth.begin[last]) : Infinity;
    if (value > 0 && right - left >= 16) labels.add([String(value)], left + 2, y, 40, style);
  });
}

/// Draws a rim around the lifetime of a command that a reader looks at.
export function drawLifetimeRim({context, view, colors}, command) {
  const row = command === undefined ? null : view.rowOf(command);
  if (!row) return;
  const from = Math.max(row.left, view.gutter - 9), to = Math.max(Math.min(row.right, view.right + 9), from + 2);
  context.strokeStyle = colors.ink;
  context.lineWidth = 2;
  context.strokeRect(from - 1, row.top, to - from + 2, row.height + 1);
  context.lineWidth = 1;
}
