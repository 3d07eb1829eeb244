// SPDX-License-Identifier: BSL-1.0
//
// Draws what a queue did between its waits and signals; and from afar, for which share of the time it worked and was
// parked.

import {WORK_NAME} from './model.mjs';
import {roundBox} from './frame.mjs';

const COLUMN = 3;

/// Spans are boxes between those of the waits. Those that the program told have an edge and their names in them.
export function drawWork({context, view, model, colors, labels}, {work}, index) {
  const top = view.boxTop(index) + 2, height = view.boxHeight - 4;
  const style = {ink: colors['work-ink'], ground: colors.work};
  view.eachRun(work, (first, last, left, right) => {
    const from = Math.max(left, view.gutter - 8), width = Math.max(Math.min(right, view.right + 8) - from, 1.5);
    const name = model.workNames[model.work[work.item[first]][WORK_NAME]], color = name === '' ? 'work' : 'work-edge';
    if (width < 4) {
      context.fillStyle = colors[color];
      context.fillRect(from, top, width, height);
      return;
    }
    roundBox(context, from + .5, top + .5, width - 1, height - 1, Math.min(3, width / 3));
    context.fillStyle = colors.work;
    context.fill();
    context.strokeStyle = colors[color];
    context.stroke();
    const start = Math.max(from, view.gutter) + 7, room = Math.min(from + width, view.right) - start - 6;
    if (last - first === 1 && name !== '' && room >= 18) labels.add([name], start, top + height / 2, room, style);
  });
}

/// Returns for each column of a few pixels, for which share of its time the items last.
function shareColumns(view, series) {
  const columns = new Float64Array(Math.ceil(view.plotWidth / COLUMN) + 1);
  view.eachRun(series, (first, last, left, right) => {
    const from = (left - view.gutter) / COLUMN, to = Math.max((right - view.gutter) / COLUMN, from + .01);
    const lasted = view.toPixels(series.sum[last] - series.sum[first]) / COLUMN;
    const share = Math.min(1, lasted / (to - from));
    for (let i = Math.max(0, Math.floor(from)); i < to && i < columns.length; ++i) {
      columns[i] += share * (Math.min(to, i + 1) - Math.max(from, i));
    }
  });
  return columns;
}

/// Draws in each column how long the queue was parked, and above that how long it worked.
export function drawShares({context, view, colors}, {waits, work}, index) {
  const parked = shareColumns(view, waits), worked = shareColumns(view, work), bottom = view.boxBottom(index);
  const high = (share) => share > 0 ? Math.max(1, Math.min(1, share) * view.boxHeight) : 0;
  for (const [columns, color, below] of [[worked, colors['work-far'], parked], [parked, colors['wait-far'], null]]) {
    context.beginPath();
    columns.forEach((share, i) => {
      const base = below ? high(below[i]) : 0, height = Math.min(high(share), view.boxHeight - base);
      if (height > 0) context.rect(view.gutter + i * COLUMN, bottom - base - height, COLUMN, height);
    });
    context.fillStyle = color;
    context.fill();
  }
}
