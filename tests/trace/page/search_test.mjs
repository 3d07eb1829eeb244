// SPDX-License-Identifier: BSL-1.0
//
// The search: which words match what, and in which order.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {makeModel} from '../../../tools/trace_page/model.mjs';
import {findMatches, matchSeries} from '../../../tools/trace_page/search.mjs';
import {endOf} from '../../../tools/trace_page/series.mjs';
import {data, signal, wait} from './support.mjs';

const model = makeModel(data({
  queues: ['Copy 1', 'blur'], engines: ['', 'gpu 12'], engineOf: [0, 1], fences: ['uploaded', 'blurred 7'],
  workNames: ['', 'Draw sky'], work: [[1, 1, 10, 90], [0, 0, 1, 2]],
  commands: [signal({lane: 0, fence: 0, value: 42, end: 80}),
             wait({lane: 1, fence: 0, value: 42, observed: 5, end: 85}),
             signal({lane: 1, fence: 1, value: 142, end: 20}), wait({lane: 0, fence: 1, value: 3, queued: 7}),
             signal({lane: 1, flags: 1, value: 42})]}));
const found = (text) => findMatches(model, text);

test('a text without a word is no search', () => {
  for (const text of ['', '  ', ' = ', '>= \u2265']) assert.equal(found(text), null);
});

test('names match in part and in any case, a value and a kind match as a whole', () => {
  assert.deepEqual(found('UPLOAD'), [{command: 0}, {command: 1}]);
  assert.deepEqual(found('42'), [{command: 0}, {command: 1}]);
  assert.deepEqual(found('4'), []);
  assert.deepEqual(found('signal'), [{command: 2}, {command: 0}]);
  assert.deepEqual(found('sig'), []);
  assert.deepEqual(found('copy'), [{work: 1}, {command: 3}, {command: 0}]);
  assert.deepEqual(found('gpu'), [{command: 2}, {command: 1}, {work: 0}]);
  assert.deepEqual(found('sky'), [{work: 0}]);
  assert.deepEqual(found('work'), [{work: 1}, {work: 0}]);
});

test('of a number in a name, a word is the whole number', () => {
  assert.deepEqual(found('7'), [{command: 3}, {command: 2}]);
  assert.deepEqual(found('12'), [{command: 2}, {command: 1}, {work: 0}]);
  assert.deepEqual(found('1'), [{work: 1}, {command: 3}, {command: 0}]);
});

test('all words must match, and a label that was pasted finds its command', () => {
  assert.deepEqual(found('uploaded = 42'), [{command: 0}, {command: 1}]);
  assert.deepEqual(found('wait uploaded \u2265 42'), [{command: 1}]);
  assert.deepEqual(found('uploaded 142'), []);
});

test('the matches of each lane are a series', () => {
  const [copy, blur] = matchSeries(model, found('uploaded'));
  assert.deepEqual([[...copy.item], [...blur.item]], [[0], [1]]);
  assert.deepEqual([blur.begin[0], endOf(blur, 0)], [5, 85]);
  assert.deepEqual(matchSeries(model, []).map(({size}) => size), [0, 0]);
});
