// SPDX-License-Identifier: BSL-1.0
//
// A series holds what one lane shows of one kind, for example its waits, in arrays sorted by begin. Whatever is in view
// is found by binary search, so a frame costs as many steps as the lane has pixels, however many items there are.
//
//   begin[i]   when item i begins; never falls from one i to the next
//   reach[i]   the greatest end of the items 0 to i
//   item[i]    the number that the owner gave the item, for example the index of a command
//   sum[i]     how long the items 0 to i - 1 are together
//   tree       a binary tree of maxima over the ends; its leaves start at tree[size]

/// Returns the first index from `low` on with values[index] >= value, or values.length. `values` must not fall.
export function lowerBound(values, value, low = 0) {
  let first = low, last = values.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (values[middle] < value) first = middle + 1;
    else last = middle;
  }
  return first;
}

/// Returns the series of `items`, each of which is [begin, end, number]. Sorts `items`; of those with one begin, the
/// longest is the first, so that the others are drawn on top of it, and can be picked.
export function makeSeries(items) {
  items.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const size = items.length;
  const series = {
    size,
    begin: new Float64Array(size),
    reach: new Float64Array(size),
    item: new Int32Array(size),
    sum: new Float64Array(size + 1),
    tree: new Float64Array(2 * size),
  };
  let reach = -Infinity;
  items.forEach(([begin, end, number], i) => {
    reach = Math.max(reach, end);
    series.begin[i] = begin;
    series.reach[i] = reach;
    series.item[i] = number;
    series.sum[i + 1] = series.sum[i] + end - begin;
    series.tree[size + i] = end;
  });
  for (let i = size - 1; i > 0; --i) series.tree[i] = Math.max(series.tree[2 * i], series.tree[2 * i + 1]);
  return series;
}

/// Returns when item i ends.
export const endOf = (series, i) => series.tree[series.size + i];

/// Returns the greatest end of the items `first` to `last` - 1, or -Infinity if there are none.
export function greatestEnd(series, first, last) {
  let result = -Infinity;
  for (let low = first + series.size, high = last + series.size; low < high; low >>= 1, high >>= 1) {
    if (low & 1) result = Math.max(result, series.tree[low++]);
    if (high & 1) result = Math.max(result, series.tree[--high]);
  }
  return result;
}

/// Returns the end of the last item that begins at `time` or before it; undefined if there is none. Of a series of
/// steps, whose ends are values, that is the value at this time.
export function valueAt(series, time) {
  let next = lowerBound(series.begin, time);
  if (next < series.size && series.begin[next] === time) ++next;
  return next > 0 ? endOf(series, next - 1) : undefined;
}

/// Returns an upper bound of the number of items between two times. It is exact unless items overlap.
export function countBetween(series, from, to) {
  return Math.max(0, lowerBound(series.begin, to) - lowerBound(series.reach, from));
}

/// Returns how long the items are together between two times.
export function durationBetween(series, from, to) {
  let sum = 0;
  for (let i = lowerBound(series.reach, from); i < series.size && series.begin[i] < to; ++i) {
    sum += Math.max(0, Math.min(endOf(series, i), to) - Math.max(series.begin[i], from));
  }
  return sum;
}

/// Returns the number of the item nearest to `time` and less than `slack` away, or -1. Where several items hold `time`,
/// the one that begins last wins. Looks at the 200 items before `time` at most.
export function nearest(series, time, slack) {
  let best = -1, least = slack;
  const start = lowerBound(series.begin, time + slack) - 1;
  for (let i = start; i >= 0 && i > start - 200; --i) {
    if (series.reach[i] < time - slack) break;
    const away = Math.max(series.begin[i] - time, time - endOf(series, i), 0);
    if (away < least) [best, least] = [series.item[i], away];
    if (least === 0) break;
  }
  return best;
}
