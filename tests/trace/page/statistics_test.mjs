// SPDX-License-Identifier: BSL-1.0
//
// The numbers of a range of time, against sums that are added up by hand.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {makeModel} from '../../../tools/trace_page/model.mjs';
import {describeRange, rangeStatistics} from '../../../tools/trace_page/statistics.mjs';
import {data, randomNumbers, randomTrace, signal, wait} from './support.mjs';

const worked = data({
  queues: ['copy', 'blur'], engines: ['', 'gpu'], engineOf: [0, 1], workNames: ['draw'],
  work: [[1, 0, 0, 100], [1, 0, 250, 300]],
  commands: [wait({lane: 1, observed: 100, end: 200}), signal({lane: 1, end: 200}), wait({lane: 1, end: 210}),
             wait({lane: 1, observed: 400, end: 1000}), signal({lane: 1, end: 1000}), signal({lane: 0, end: 500})]});

test('a range counts the work and the waits within it, and the whole length of each wait for mean and greatest', () => {
  const [copy, blur] = rangeStatistics(makeModel(worked), 50, 500);
  assert.deepEqual(copy, {name: 'copy', engine: '', working: 0, parked: 0, signals: 1, stalls: 0, mean: null,
                          greatest: null, meanDepth: null, greatestDepth: null});
  assert.deepEqual(blur, {name: 'blur', engine: 'gpu', working: 50 + 50, parked: 100 + 100, signals: 1, stalls: 2,
                          mean: (100 + 600) / 2, greatest: 600, meanDepth: null, greatestDepth: null});
});

test('a wait that did not stall is no wait of a range, and one that ended before it is not, either', () => {
  const [, blur] = rangeStatistics(makeModel(worked), 205, 390);
  assert.deepEqual([blur.stalls, blur.parked, blur.signals, blur.working], [0, 0, 0, 50]);
});

test('in any range the sums are those of a walk through all commands', () => {
  const random = randomNumbers(5), parts = randomTrace(random, {rounds: 40}), model = makeModel(data(parts));
  for (let round = 0; round < 60; ++round) {
    const from = random(model.range.to), to = from + 1 + random(model.range.to - from);
    const within = (begin, end) => Math.max(0, Math.min(end, to) - Math.max(begin, from));
    rangeStatistics(model, from, to).forEach(({working, parked, signals, greatest}, lane) => {
      const own = parts.commands.filter((command) => command[0] === lane && command[8] !== null);
      const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
      const waits = own.filter((command) => command[1] === 1);
      const stalls = waits.filter(([, , , , , , , begin, end]) => end > begin && begin <= to && end >= from);
      assert.equal(parked, sum(waits.map((command) => within(command[7], command[8]))));
      assert.equal(working, sum(parts.work.map(([owner, , begin, end]) => owner === lane ? within(begin, end) : 0)));
      assert.equal(signals, own.filter(([, isWait, , , , , , , end]) => !isWait && end >= from && end <= to).length);
      assert.equal(greatest, stalls.length > 0 ? Math.max(...stalls.map((command) => command[8] - command[7])) : null);
    });
  }
});

test('a range is described with a row for each queue, and says where work is an upper bound', () => {
  const {title, head, rows, note} = describeRange(makeModel(worked), 50, 550);
  assert.equal(title, '500 ns from 50 ns, 2 queues');
  assert.equal(head.length, rows[0].length);
  assert.deepEqual(rows, [['copy', '0 ns (0 %)', '0 ns (0 %)', '1', ...Array(4).fill('\u2013')],
                          ['gpu: blur', '100 ns (20 %)', '250 ns (50 %)', '1', '350 ns', '600 ns',
                           '\u2013', '\u2013']]);
  assert.equal(note, '');
  const derived = makeModel(data({...worked, workNames: ['']}));
  assert.match(describeRange(derived, 0, 1).note, /upper bound/);
});

test('[A131] the mean and the greatest depth are those of the time in the range', () => {
  const lifetimes = [[0, 0, 100, 0, 0], [1, 50, 150, 1, 0], [2, 100, 400, 0, 1]];
  const commands = [signal({queued: 0, end: 100}), signal({queued: 50, end: 150}), signal({queued: 100})];
  const model = makeModel(data({commands, lifetimes}));
  const depths = (from, to) => {
    const [{meanDepth, greatestDepth}] = rangeStatistics(model, from, to);
    return [meanDepth, greatestDepth];
  };
  assert.deepEqual(depths(0, 200), [(50 + 100 + 100 + 50) / 200, 2]);
  assert.deepEqual(depths(60, 80), [2, 2]);
  assert.deepEqual(depths(200, 1000), [1, 1]);
  assert.deepEqual(depths(-50, 0), [0, 0]);
  assert.deepEqual(describeRange(model, 0, 200).rows[0].slice(-2), ['1.5', '2']);
});
