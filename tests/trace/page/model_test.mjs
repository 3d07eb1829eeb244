// SPDX-License-Identifier: BSL-1.0
//
// The model: which lane and which series each command belongs to, and how commands are related.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {depthAt, isOpen, makeModel, placeOf, releasedBy, whenShown} from '../../../tools/trace_page/model.mjs';
import {endOf} from '../../../tools/trace_page/series.mjs';
import {data, signal, wait} from './support.mjs';

const items = (series) => [...series.item];

test('each command is in the lane of its queue, as a wait or a signal, and as queued or pending', () => {
  const {lanes} = makeModel(data({commands: [
    wait({lane: 0, queued: -5, observed: 10, end: 20}), signal({lane: 1, queued: -4, end: 15}),
    signal({lane: 1, end: 25}), wait({lane: 1, queued: 3}), signal({lane: 0, end: 5, flags: 7})]}));
  assert.deepEqual(lanes.map((lane) => lane.name), ['A', 'B']);
  assert.deepEqual(lanes.map((lane) => items(lane.waits)), [[0], []]);
  assert.deepEqual(lanes.map((lane) => items(lane.signals)), [[4], [1, 2]]);
  assert.deepEqual(lanes.map((lane) => items(lane.queued)), [[0], [1]]);
  assert.deepEqual(lanes.map((lane) => items(lane.pending)), [[], [3]]);
  assert.deepEqual(lanes.map((lane) => items(lane.backward)), [[4], []]);
  assert.deepEqual([lanes[0].waits.begin[0], endOf(lanes[0].waits, 0)], [10, 20]);
});

test('a wait that was not over when the trace ended is drawn, and is still to be executed', () => {
  const model = makeModel(data({commands: [
    wait({queued: 5, begin: 10, boxEnd: 90}), wait({lane: 1, queued: 6}), signal({lane: 1, end: 90})]}));
  assert.deepEqual(model.commands.map(isOpen), [true, false, false]);
  assert.deepEqual(model.lanes.map((lane) => items(lane.waits)), [[0], []]);
  assert.deepEqual(model.lanes.map((lane) => items(lane.pending)), [[0], [1]]);
  assert.deepEqual(model.range, {from: 10, to: 90});
});

test('the range is what was executed or lost, and the wider one also what was queued', () => {
  const model = makeModel(data({
    commands: [wait({queued: -50, observed: 10, end: 20}), signal({end: 15}), signal({queued: 90})],
    losses: [[0, 1, '5', '2', 8, null], [1, 0, '5', '2', null, 40]]}));
  assert.deepEqual(model.range, {from: 8, to: 40});
  assert.deepEqual(model.queuedRange, {from: -50, to: 90});
});

test('both ranges hold something, whatever is missing', () => {
  const ranges = (parts) => {
    const {range, queuedRange} = makeModel(data(parts));
    return [range.from, range.to, queuedRange.from, queuedRange.to];
  };
  assert.deepEqual(ranges({}), [0, 1000, 0, 1000]);
  assert.deepEqual(ranges({queues: [], fences: []}), [0, 1000, 0, 1000]);
  assert.deepEqual(ranges({commands: [signal({queued: 7})]}), [7, 7, 7, 7]);
  assert.deepEqual(ranges({commands: [signal({end: 7})]}), [7, 7, 7, 7]);
  assert.deepEqual(ranges({losses: [[0, 1, '0', '1', null, null]]}), [0, 1000, 0, 1000]);
});

test('a gap reaches to the ends of the trace where its log gives no time', () => {
  const {lanes, losses} = makeModel(data({commands: [wait({observed: 10, end: 20})],
                                          losses: [[1, 1, '5', '7', null, 15], [1, 0, '6', '8', 12, null]]}));
  assert.deepEqual([...lanes[1].lost.begin], [10, 12]);
  assert.deepEqual([0, 1].map((i) => endOf(lanes[1].lost, i)), [15, 20]);
  assert.deepEqual(losses[0], {lane: 1, waits: true, first: '5', count: '7', before: null, after: 15});
  assert.equal(losses[1].waits, false);
});

test('the walk goes through all commands that are shown, in the order of time', () => {
  const model = makeModel(data({commands: [
    signal({end: 30}), signal({queued: 20}), wait({observed: 1, end: 10}), signal({flags: 1}), signal({end: 10})]}));
  assert.deepEqual(model.walk, [2, 4, 1, 0]);
  assert.deepEqual(model.walk.map((i) => whenShown(model.commands[i])), [10, 10, 20, 30]);
});

test('the waits that a signal released are found from it', () => {
  const model = makeModel(data({commands: [
    signal({end: 5}), wait({end: 6, by: 0}), wait({end: 7, by: 0}), wait({end: 8}), signal({end: 9}),
    wait({end: 9, by: 4})]}));
  assert.deepEqual([...releasedBy(model, 0)].sort(), [1, 2]);
  assert.deepEqual([...releasedBy(model, 4)], [5]);
  assert.deepEqual([...releasedBy(model, 1)], []);
});

test('the lanes of an engine are a group, and each lane knows how many groups begin above it', () => {
  const {lanes, groups} = makeModel(data({queues: ['a', 'b', 'c', 'd'], engines: ['', 'x', 'y'],
                                          engineOf: [0, 1, 1, 2]}));
  assert.deepEqual(groups, [{lane: 1, name: 'x', size: 2, threads: 0}, {lane: 3, name: 'y', size: 1, threads: 0}]);
  assert.deepEqual(lanes.map(({engine, heads}) => [engine, heads]), [['', 0], ['x', 1], ['x', 1], ['y', 2]]);
  assert.deepEqual(makeModel(data({})).groups, []);
});

test('work is in the lane of its queue, and widens the range', () => {
  const {lanes, range} = makeModel(data({workNames: [''], work: [[1, 0, 5, 40], [0, 0, -3, 9]],
                                         commands: [signal({end: 20})]}));
  assert.deepEqual(lanes.map((lane) => items(lane.work)), [[1], [0]]);
  assert.deepEqual(range, {from: -3, to: 40});
});

test('a command, a span of work and a gap have a place', () => {
  const model = makeModel(data({
    workNames: ['w'], work: [[1, 0, 5, 40]], losses: [[1, 1, '0', '1', null, 30], [0, 1, '0', '1', 8, 9]],
    commands: [wait({observed: 2, end: 20}), signal({lane: 1, queued: 3}), signal({flags: 1})]}));
  const places = [{command: 0}, {command: 1}, {command: 2}, {work: 0}, {loss: 0}, {loss: 1}];
  assert.deepEqual(places.map((target) => Object.values(placeOf(model, target))),
                   [[0, 2, 20], [1, 3, 3], [0, null, null], [1, 5, 40], [1, 30, 30], [0, 8, 9]]);
});

test('[A131] lifetimes are in the series of their levels, and the depth is how many are in flight at a time', () => {
  const commands = [signal({queued: 0, end: 100}), signal({queued: 50, end: 150}), signal({queued: 100}),
                    wait({lane: 1, queued: 7, end: 9}), signal({lane: 1, end: 9})];
  const model = makeModel(data({commands, lifetimes: [[0, 0, 100, 0, 0], [1, 50, 150, 1, 0], [2, 100, 400, 0, 1],
                                                      [3, 7, 9, 0, 0]]}));
  const [left, right] = model.lanes;
  assert.deepEqual([left.levels, right.levels].map((levels) => levels.map(items)), [[[0, 2], [1]], [[3]]]);
  assert.deepEqual([left.greatestDepth, right.greatestDepth], [2, 1]);
  assert.deepEqual([-1, 0, 49, 50, 99, 100, 149, 150, 9999].map((time) => depthAt(left, time)),
                   [0, 1, 1, 2, 2, 2, 2, 1, 1]);
  assert.deepEqual([6, 7, 9].map((time) => depthAt(right, time)), [0, 1, 0]);
  assert.deepEqual([...model.lifetimeOf], [0, 1, 2, 3, -1]);
});
