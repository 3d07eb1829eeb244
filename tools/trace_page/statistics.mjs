// SPDX-License-Identifier: BSL-1.0
//
// What the queues did in a range of time, in numbers.

import {durationBetween, endOf, lowerBound, valueAt} from './series.mjs';
import {countText, durationText, timeText} from './text.mjs';

/// Returns the mean and the greatest number of commands in flight; null if the lane has no lifetimes.
function depthStatistics({levels, depth}, from, to) {
  if (levels.length === 0) return {meanDepth: null, greatestDepth: null};
  let value = valueAt(depth, from) ?? 0, since = from, sum = 0, greatest = value;
  for (let i = lowerBound(depth.begin, from); i < depth.size && depth.begin[i] < to; ++i) {
    sum += value * (depth.begin[i] - since);
    [value, since] = [endOf(depth, i), depth.begin[i]];
    greatest = Math.max(greatest, value);
  }
  return {meanDepth: to > from ? (sum + value * (to - since)) / (to - from) : value, greatestDepth: greatest};
}

/// Returns the numbers of one lane. A wait counts if it stalled its queue and has a time in common with the range; its
/// whole length counts for the mean and the greatest, but only the part within the range for `parked`.
function laneStatistics(lane, from, to) {
  const {name, engine, work, waits, signals} = lane;
  let stalls = 0, stalled = 0, greatest = 0;
  for (let i = lowerBound(waits.reach, from); i < waits.size && waits.begin[i] <= to; ++i) {
    const length = endOf(waits, i) - waits.begin[i];
    if (length <= 0 || endOf(waits, i) < from) continue;
    ++stalls;
    stalled += length;
    greatest = Math.max(greatest, length);
  }
  let signalled = 0;
  for (let i = lowerBound(signals.begin, from); i < signals.size && signals.begin[i] <= to; ++i) ++signalled;
  const working = durationBetween(work, from, to), parked = durationBetween(waits, from, to);
  return {name, engine, working, parked, signals: signalled, stalls, mean: stalls > 0 ? stalled / stalls : null,
          greatest: stalls > 0 ? greatest : null, ...depthStatistics(lane, from, to)};
}

/// Returns the numbers of all lanes between two times, in the order of the lanes.
export const rangeStatistics = ({lanes}, from, to) => lanes.map((lane) => laneStatistics(lane, from, to));

/// Returns what the page says about a range: {title, head: [text], rows: [[text]], note}.
export function describeRange(model, from, to) {
  const share = (part) => {
    const percent = (part / (to - from) * 100).toLocaleString('en', {maximumFractionDigits: 1});
    return `${durationText(part)} (${percent} %)`;
  };
  const unlessNull = (value, text) => value === null ? '\u2013' : text(value);
  const length = (duration) => unlessNull(duration, durationText);
  const number = (value) => unlessNull(value, () => value.toLocaleString('en', {maximumFractionDigits: 2}));
  const rows = rangeStatistics(model, from, to).map((lane) => {
    const {name, engine, working, parked, signals, mean, greatest, meanDepth, greatestDepth} = lane;
    return [engine ? `${engine}: ${name}` : name, share(working), share(parked), number(signals), length(mean),
            length(greatest), number(meanDepth), number(greatestDepth)];
  });
  return {
    title: `${durationText(to - from)} from ${timeText(Math.round(from))}, ${countText(rows.length, 'queue')}`,
    head: ['queue', 'working', 'parked', 'signals', 'mean wait', 'greatest wait', 'mean depth',
           'greatest depth'],
    rows,
    note: model.work.some((span) => model.workNames[span[1]] === '')
      ? 'Working is an upper bound where nobody told what a queue did: it may have had nothing to do.' : '',
  };
}
