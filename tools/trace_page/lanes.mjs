// SPDX-License-Identifier: BSL-1.0
//
// Draws what stands in a lane: gaps, work, waits, signals, time stamps that went backward, and what was queued.

import {FLAGS, GUESSED, VALUE, isOpen} from './model.mjs';
import {countText} from './text.mjs';
import {fenceText, lossText} from './describe.mjs';
import {roundBox} from './frame.mjs';
import {STRIP} from './view.mjs';
import {drawShares, drawWork} from './work.mjs';

/// Whether a lane holds too much to draw each wait and span: then it shows for which share of the time the queue was
/// parked, and for which it worked.
export const isFar = (view, {waits, work}) => Math.max(view.count(waits), view.count(work)) > view.plotWidth / 7;

export function drawLane(scene, lane, index) {
  drawGaps(scene, lane, index);
  if (isFar(scene.view, lane)) {
    drawShares(scene, lane, index);
  } else {
    drawWork(scene, lane, index);
    drawWaits(scene, lane, index);
  }
  drawSignals(scene, lane, index);
  drawBackward(scene, lane, index);
  drawQueued(scene, lane, index);
}

// ---- gaps ----

export function drawGaps(scene, lane, index) {
  const {view, model, colors, labels} = scene, top = view.laneTop(index) + 1, height = view.lane - 2;
  const style = {ink: colors['lost-ink'], ground: colors['lost-fill']};
  view.eachRun(lane.lost, (first, last, left, right) => {
    const from = Math.max(left, view.gutter - 2), width = Math.max(Math.min(right, view.right + 2) - from, 3);
    drawHatched(scene, from, top, width, height);
    const losses = Array.from(lane.lost.item.slice(first, Math.min(last, first + 3)), (item) => model.losses[item]);
    const texts = losses.length > 2 ? [`${countText(last - first, 'gap')} here`] : losses.map(lossText);
    // A queue often loses waits and signals at the same time; then their labels stand on two lines.
    const bottom = view.boxBottom(index) - 8;
    const middle = (Math.max(from, view.gutter) + Math.min(from + width, view.right)) / 2;
    for (const text of texts) {
      if (labels.widthOf(text) > width - 12) continue;
      [bottom, bottom - 15].find((y) => labels.addCentered(text, middle, y, style));
    }
  });
}

function drawHatched({context, colors}, left, top, width, height) {
  context.fillStyle = colors['lost-fill'];
  context.fillRect(left, top, width, height);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.globalAlpha = .35;
  context.strokeStyle = colors.lost;
  context.beginPath();
  for (let x = Math.floor((left - height) / 9) * 9; x < left + width; x += 9) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
  context.strokeStyle = colors.lost;
  context.setLineDash([3, 2]);
  context.strokeRect(left + .5, top + .5, width - 1, height - 1);
  context.setLineDash([]);
}

// ---- waits ----

function drawWaits(scene, lane, index) {
  const {context, view, colors} = scene, top = view.boxTop(index);
  view.eachRun(lane.waits, (first, last, left, right) => {
    const from = Math.max(left, view.gutter - 8), width = Math.max(Math.min(right, view.right + 8) - from, 1.5);
    if (width >= 4) {
      drawWait(scene, last - first === 1 ? lane.waits.item[first] : -1, from, width, top);
      return;
    }
    context.fillStyle = colors['wait-edge'];
    context.fillRect(from, top, width, view.boxHeight);
  });
}

/// Draws the box of one wait, or of several (`item` is -1), which then has no label. Its edge is dashed if its end is
/// not known.
function drawWait({context, view, model, colors, labels}, item, left, width, top) {
  const command = model.commands[item], height = view.boxHeight;
  const guessed = command && (command[FLAGS] & GUESSED || isOpen(command));
  roundBox(context, left + .5, top + .5, width - 1, height - 1, Math.min(4, width / 3));
  context.fillStyle = guessed ? colors.ground : colors.wait;
  context.fill();
  context.strokeStyle = colors['wait-edge'];
  if (guessed) context.setLineDash([3, 2]);
  context.stroke();
  context.setLineDash([]);
  const start = Math.max(left, view.gutter) + 7, room = Math.min(left + width, view.right) - start - 6;
  if (!command || room < 18) return;
  const style = {ink: colors['wait-ink'], ground: guessed ? colors.ground : colors.wait};
  labels.add([fenceText(model, command), `\u2265 ${command[VALUE]}`], start, top + height / 2, room, style);
}

// ---- signals ----

/// Signals are bars, with labels where there is room. Where they are many, the bars are short, so that waits are seen.
function drawSignals(scene, {signals}, index) {
  const {context, view, model, colors, labels} = scene, top = view.boxTop(index) - 3, height = view.boxHeight + 6;
  if (view.count(signals) > view.plotWidth / 9) {
    drawMarks(scene, signals, top, 7, colors.signal);
    return;
  }
  const style = {ink: colors.signal, ground: index % 2 === 1 ? colors.band : colors.ground};
  view.eachRun(signals, (first, last, left) => {
    const command = model.commands[signals.item[first]], alone = last - first === 1;
    if (alone && command[FLAGS] & GUESSED) {
      context.strokeStyle = colors.signal;
      context.setLineDash([3, 2]);
      context.strokeRect(left - 3, top + .5, 4, height - 1);
      context.setLineDash([]);
    } else {
      context.fillStyle = colors.signal;
      context.fillRect(left - 3, top, 3, height);
    }
    // Only where the next signal is far enough that a reader sees which one the label belongs to.
    const next = last < signals.size ? view.toX(signals.begin[last]) : Infinity;
    if (alone && left > view.gutter && next - left >= 26) {
      labels.addCentered(fenceText(model, command), left - 1.5, view.laneTop(index) + 8, style);
    }
  });
}

/// Draws a mark at each item; marks that touch are drawn as one.
function drawMarks({context, view}, series, top, height, color) {
  let from = 0, to = -1;
  context.fillStyle = color;
  view.eachRun(series, (first, last, left) => {
    if (left - 2 > to) {
      if (to > from) context.fillRect(from, top, to - from, height);
      from = left - 2;
    }
    to = left;
  });
  if (to > from) context.fillRect(from, top, to - from, height);
}

// ---- the rest ----

function drawBackward({context, view, colors}, {backward}, index) {
  const bottom = view.boxBottom(index) + 2;
  context.fillStyle = colors.lost;
  view.eachRun(backward, (first, last, left) => {
    context.beginPath();
    context.moveTo(left - 1.5, bottom - 10);
    context.lineTo(left + 4.5, bottom);
    context.lineTo(left - 7.5, bottom);
    context.fill();
  });
}

function drawQueued(scene, {queued, pending}, index) {
  const {view, colors} = scene, top = view.laneTop(index) + view.lane - STRIP - 2;
  drawMarks(scene, queued, top + 3, STRIP - 3, colors.queued);
  drawMarks(scene, pending, top, STRIP, colors.pending);
}
