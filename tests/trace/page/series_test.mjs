// SPDX-License-Identifier: BSL-1.0
//
// Series: what binary search and trees find is what a walk through all items finds.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {countBetween, endOf, greatestEnd, lowerBound, makeSeries, nearest} from '../../../tools/trace_page/series.mjs';
import {randomNumbers} from './support.mjs';

const NUMBERS = [0, 1, 2, 3, 7, 20, 100];

function randomItems(random, size) {
  return Array.from({length: size}, (_, i) => {
    const begin = random(50);
    return [begin, begin + random(3) * random(20), i];
  });
}

test('the lower bound is the first place that does not come before the value', () => {
  assert.equal(lowerBound([], 1), 0);
  assert.equal(lowerBound([1, 2, 2, 4], 2), 1);
  assert.equal(lowerBound([1, 2, 2, 4], 3), 3);
  assert.equal(lowerBound([1, 2, 2, 4], 5), 4);
  assert.equal(lowerBound([1, 2, 2, 4], 0), 0);
  assert.equal(lowerBound([1, 2, 2, 4], 2, 2), 2);
});

test('a series is sorted by begin, and keeps the number of each item with its end', () => {
  const series = makeSeries([[5, 6, 10], [1, 9, 11], [1, 2, 12]]);
  assert.deepEqual([...series.begin], [1, 1, 5]);
  assert.deepEqual([...series.item], [11, 12, 10]);
  assert.deepEqual([0, 1, 2].map((i) => endOf(series, i)), [9, 2, 6]);
  assert.deepEqual([...series.reach], [9, 9, 9]);
  assert.deepEqual([...series.sum], [0, 8, 9, 10]);
});

test('the greatest end of a range is the greatest of its ends', () => {
  const random = randomNumbers(1);
  for (const size of NUMBERS) {
    const series = makeSeries(randomItems(random, size));
    for (let round = 0; round < 50; ++round) {
      const first = random(size + 1), last = first + random(size - first + 1);
      const ends = Array.from({length: last - first}, (_, i) => endOf(series, first + i));
      assert.equal(greatestEnd(series, first, last), Math.max(-Infinity, ...ends));
    }
  }
});

test('the nearest item is no farther than any other one and less than the slack away', () => {
  const random = randomNumbers(2);
  let found = 0;
  for (const size of NUMBERS) {
    const items = randomItems(random, size), series = makeSeries([...items]);
    const distance = (number, time) => Math.max(items[number][0] - time, time - items[number][1], 0);
    for (let time = -10; time < 100; ++time) {
      const slack = 1 + random(5), number = nearest(series, time, slack);
      const least = Math.min(Infinity, ...items.map(([, , i]) => distance(i, time)));
      if (least >= slack) assert.equal(number, -1);
      else assert.equal(distance(number, time), least);
      found += number >= 0 ? 1 : 0;
    }
  }
  assert.ok(found > 100);
});

test('of several items that hold a time, the one that begins last is the nearest', () => {
  const series = makeSeries([[0, 100, 1], [40, 60, 2], [70, 80, 3]]);
  assert.equal(nearest(series, 50, 1), 2);
  assert.equal(nearest(series, 65, 1), 1);
  assert.equal(nearest(series, 75, 1), 3);
});

test('of several items with one begin, the shortest that holds a time is the nearest', () => {
  const series = makeSeries([[0, 50, 1], [0, 100, 2], [0, 10, 3]]);
  assert.equal(nearest(series, 5, 1), 3);
  assert.equal(nearest(series, 40, 1), 1);
  assert.equal(nearest(series, 90, 1), 2);
});

test('the count between two times is exact without overlap, and never too small', () => {
  const series = makeSeries([[0, 1, 0], [2, 3, 1], [4, 5, 2], [6, 7, 3]]);
  assert.equal(countBetween(series, 2.5, 5), 2);
  assert.equal(countBetween(series, 8, 9), 0);
  const random = randomNumbers(3);
  for (let round = 0; round < 100; ++round) {
    const items = randomItems(random, 30), from = random(60), to = from + random(20);
    const inView = items.filter(([begin, end]) => begin < to && end >= from).length;
    assert.ok(countBetween(makeSeries(items), from, to) >= inView);
  }
});
