// SPDX-License-Identifier: BSL-1.0
//
// Draws one frame.

import {drawArrows, drawFocus, drawRim} from './arrows.mjs';
import {FONT, drawAxis, drawBands, drawEmptiness, drawGutter, drawPointer, drawRange,
        drawScrollBar} from './frame.mjs';
import {Labels, drawLabels} from './labels.mjs';
import {drawLane} from './lanes.mjs';
import {drawDepth, drawLifetimeRim} from './lifetimes.mjs';
import {AXIS} from './view.mjs';

/// The colors that the style sheet gives, as custom properties of these names.
export const COLORS = [
  'ground', 'panel', 'band', 'line', 'ink', 'faint', 'wait', 'wait-far', 'wait-edge', 'wait-ink', 'signal', 'arrow',
  'queued', 'pending', 'lost', 'lost-fill', 'lost-ink', 'work', 'work-far', 'work-edge', 'work-ink', 'match', 'head',
];

/// Draws what the view shows.
/// context   of the canvas, in CSS pixels
/// colors    by the names of COLORS
/// focus     the targets to draw with all that belongs to them
/// matches   what a search has found: a series for each lane, or null
/// range     a range of time that was chosen, {from, to}, or null
/// pointer   where to show the time, {x, y}, or null
/// Returns the labels that it drew.
export function drawFrame({context, view, model, colors, focus, matches, range, pointer}) {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = colors.ground;
  context.fillRect(0, 0, view.width, view.height);
  const labels = new Labels((text) => context.measureText(text).width, view.gutter + 3, view.right - 10);
  const scene = {context, view, model, colors, labels};
  drawBands(scene);
  drawAxis(scene);
  context.save();
  context.beginPath();
  context.rect(view.gutter, AXIS, view.plotWidth, view.height - AXIS);
  context.clip();
  const draw = view.lifetimes ? drawDepth : drawLane;
  view.eachLane((lane, index) => draw(scene, lane, index));
  if (!view.lifetimes) view.eachLane((lane) => drawArrows(scene, lane));
  drawLabels(context, labels);
  if (matches) view.eachLane((lane, index) => drawMatches(scene, matches[index], index));
  for (const {command, work} of focus) {
    if (view.lifetimes) drawLifetimeRim(scene, command);
    else if (command !== undefined) drawFocus(scene, command);
    if (work !== undefined && !view.lifetimes) drawRim(scene, {work});
  }
  drawEmptiness(scene);
  context.restore();
  drawGutter(scene);
  drawRange(scene, range);
  drawScrollBar(scene);
  drawPointer(scene, pointer);
  return labels.placed;
}

/// Marks what a search has found.
function drawMatches({context, view, colors}, found, index) {
  const top = view.boxTop(index) - 5, height = view.boxHeight + 10;
  context.strokeStyle = context.fillStyle = colors.match;
  context.lineWidth = 2;
  view.eachRun(found, (...[, , left, right]) => {
    const from = Math.max(left - 4, view.gutter - 9), to = Math.min(Math.max(right + 2, from + 6), view.right + 9);
    context.globalAlpha = .2;
    context.fillRect(from, top, to - from, height);
    context.globalAlpha = 1;
    context.strokeRect(from, top, to - from, height);
  });
  context.lineWidth = 1;
}
