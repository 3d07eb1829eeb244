// SPDX-License-Identifier: BSL-1.0
//
// What the page says about a trace, a command and a gap.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {describeCommand, describeLoss, describeTrace, describeWork,
        fenceText} from '../../../tools/trace_page/describe.mjs';
import {makeModel} from '../../../tools/trace_page/model.mjs';
import {data, signal, wait} from './support.mjs';

const rowsOf = (model, index) => Object.fromEntries(describeCommand(model, index).rows);
const facts = (parts) => describeTrace(makeModel(data(parts))).map(({text, kind}) => `${kind}: ${text}`);

test('the facts of a trace: how much, how long, and what is wrong with it', () => {
  assert.deepEqual(facts({commands: [signal({end: 5}), signal({end: 1505})]}),
                   ['strong: 2 queues', 'strong: 2 commands', 'plain: over 1.500 \u00b5s']);
  assert.deepEqual(facts({queues: []}), ['strong: 0 queues', 'strong: 0 commands']);
  assert.deepEqual(
    facts({queues: ['A'], backward: 1, notShown: 2, losses: [[0, 1, '0', '18446744073709551615', null, null],
                                                             [0, 0, '0', '1', null, null]]}),
    ['strong: 1 queue', 'strong: 0 commands', 'warn: 18,446,744,073,709,551,616 log entries lost in 2 gaps',
     'warn: 1 time stamp went backward', 'warn: 2 commands without a time not shown']);
});

test('a wait says what it waited for, for how long, and which signal released it', () => {
  const model = makeModel(data({commands: [
    signal({lane: 1, value: 42, queued: -80, end: 200}),
    wait({value: 42, queued: -90, observed: 0, end: 205, by: 0})]}));
  assert.equal(describeCommand(model, 1).title, 'wait F \u2265 42');
  assert.deepEqual(describeCommand(model, 1).rows, [
    ['queue', 'A'], ['queued', '\u221290 ns'], ['stalled from', '0 ns'], ['ended', '205 ns'], ['stalled for', '205 ns'],
    ['queued for', '295 ns'], ['released by', 'F = 42 on B'], ['released', '5 ns after the signal']]);
  assert.equal(describeCommand(model, 0).title, 'signal F = 42');
  assert.deepEqual(describeCommand(model, 0).rows, [
    ['queue', 'B'], ['queued', '\u221280 ns'], ['signalled', '200 ns'], ['queued for', '280 ns'],
    ['releases', '1 wait']]);
  assert.deepEqual(describeCommand(model, 1).notes, []);
});

test('what is not known is said, not guessed', () => {
  const model = makeModel(data({commands: [
    wait({end: 5}), wait({queued: 6}), wait({boxEnd: 9, flags: 1 + 16}), wait({queued: 6, flags: 2 + 8}),
    signal({end: 3, flags: 1 + 4 + 8})]}));
  assert.equal(rowsOf(model, 0)['stalled from'], 'did not stall');
  assert.equal(rowsOf(model, 0)['reached by'], 'not known');
  assert.equal(rowsOf(model, 1).ended, 'execution not seen');
  assert.equal(rowsOf(model, 1)['released by'], undefined);
  assert.equal(rowsOf(model, 2).ended, 'not known');
  assert.equal(rowsOf(model, 2)['stalled from'], 'not known');
  assert.equal(rowsOf(model, 2)['released by'], 'not known');
  assert.match(describeCommand(model, 2).notes.join(), /not recorded/);
  assert.match(describeCommand(model, 3).notes.join(), /may have been executed/);
  assert.match(describeCommand(model, 4).notes.join(), /smaller.*,When it was queued is not known/);
});

test('a wait that was not over when the trace ended says so', () => {
  const model = makeModel(data({commands: [wait({queued: 5, begin: 10, boxEnd: 90}), wait({queued: 6})]}));
  assert.equal(rowsOf(model, 0)['next to execute from'], '10 ns');
  assert.equal(rowsOf(model, 0).ended, 'execution not seen');
  assert.match(describeCommand(model, 0).notes.join(), /not over when the trace ended/);
  assert.equal(rowsOf(model, 1)['next to execute from'], undefined);
  assert.deepEqual(describeCommand(model, 1).notes, []);
});

test('a wait that did not stall says which signal had reached its value before', () => {
  const commands = [signal({lane: 1, value: 4, end: 200}), wait({value: 3, end: 1200, by: 0})];
  const model = makeModel(data({commands}));
  assert.deepEqual(describeCommand(model, 1).rows.slice(2), [
    ['stalled from', 'did not stall'], ['ended', '1.200 \u00b5s'], ['reached by', 'F = 4 on B'],
    ['reached', '1.000 \u00b5s before the wait']]);
});

test('a gap says what is missing and between which times', () => {
  const model = makeModel(data({losses: [[1, 1, '12', '3', 100, null], [0, 0, '0', '1', null, 7]]}));
  assert.equal(describeLoss(model, 0).title, '3 waits lost');
  assert.deepEqual(describeLoss(model, 0).rows,
                   [['queue', 'B'], ['first entry', 'number 12'], ['after', '100 ns'], ['before', 'not known']]);
  assert.equal(describeLoss(model, 1).title, '1 signal lost');
});

test('values are exact to the last bit', () => {
  const model = makeModel(data({commands: [signal({value: '18446744073709551615', end: 1})]}));
  assert.equal(fenceText(model, model.commands[0]), 'F = 18446744073709551615');
});

test('work is described by its name or as derived, and everything with its engine if there is one', () => {
  const model = makeModel(data({engines: ['', 'gpu'], engineOf: [0, 1], workNames: ['', 'blur'],
                                work: [[1, 1, 10, 1510], [0, 0, 20, 30]], losses: [[1, 1, '0', '1', 5, 6]],
                                commands: [signal({lane: 1, end: 40}), signal({end: 50})]}));
  assert.deepEqual(describeWork(model, 0), {
    title: 'blur', notes: [],
    rows: [['queue', 'B'], ['engine', 'gpu'], ['began', '10 ns'], ['ended', '1.510 \u00b5s'],
           ['worked for', '1.500 \u00b5s']]});
  const derived = describeWork(model, 1);
  assert.equal(derived.title, 'work');
  assert.deepEqual(derived.rows[1], ['began', '20 ns']);
  assert.match(derived.notes.join(), /^Derived from the logs/);
  assert.equal(rowsOf(model, 0).engine, 'gpu');
  assert.equal(rowsOf(model, 1).engine, undefined);
  assert.equal(Object.fromEntries(describeLoss(model, 0).rows).engine, 'gpu');
  assert.deepEqual(describeTrace(model)[1], {text: '1 engine', kind: 'plain'});
});

test('threads are counted apart from queues, and a group of threads is no engine', () => {
  assert.deepEqual(facts({queues: ['a', 'b', 'c'], engines: ['', 'gpu', 'threads'], engineOf: [1, 2, 2],
                          isThread: [0, 1, 1]}),
                   ['strong: 1 queue, 2 threads', 'plain: 1 engine', 'strong: 0 commands']);
  const model = makeModel(data({queues: ['a'], isThread: [1], commands: [signal({queued: 3, end: 5})],
                                lifetimes: [[0, 3, 5, 0, 0]]}));
  assert.equal(rowsOf(model, 0).thread, 'a');
  assert.equal(rowsOf(model, 0).queue, undefined);
  assert.equal(rowsOf(model, 0)['in flight then'], '1 command');
});

test('[A130] a command whose executor has a clock of its own says how exact its times are', () => {
  const model = makeModel(data({commands: [[...signal({end: 5}), 1250], signal({end: 5})]}));
  assert.equal(rowsOf(model, 0)['exact to'], '\u00b1 1.250 \u00b5s');
  assert.equal(rowsOf(model, 1)['exact to'], undefined);
});
