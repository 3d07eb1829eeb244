// SPDX-License-Identifier: BSL-1.0
//
// The view: what is where, how it moves, and what a frame visits.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {endOf} from '../../../tools/trace_page/series.mjs';
import {AXIS, BAR, HEAD} from '../../../tools/trace_page/view.mjs';
import {modelAndView, randomNumbers, randomTrace, signal, wait} from './support.mjs';

const near = (actual, expected, slack = 1e-6) =>
  assert.ok(Math.abs(actual - expected) <= slack, `${actual} is not ${expected}`);
const hundred = () => modelAndView({commands: [wait({observed: 0, end: 100}), signal({end: 100})]});

test('fit shows the whole range with a margin, from the first lane on', () => {
  const {view, model} = modelAndView({commands: [signal({end: 0}), signal({end: 10_000})]});
  assert.deepEqual([view.from, view.to], [-200, 10_200]);
  view.top = 50;
  view.fit(model.queuedRange);
  assert.equal(view.top, 0);
});

test('pixels and times are translated both ways', () => {
  const {view} = hundred();
  near(view.toX(view.from), view.gutter);
  near(view.toX(view.to), view.width);
  for (const x of [90, 500, 1000]) near(view.toX(view.toTime(x)), x);
  near(view.toPixels(view.span), view.plotWidth);
});

test('zoom keeps what is under the pointer, and in the middle without one', () => {
  const {view} = modelAndView({commands: [signal({end: 0}), signal({end: 10_000})]});
  for (const factor of [.5, .7, 1.3]) {
    const time = view.toTime(400), middle = (view.from + view.to) / 2, span = view.span;
    view.zoom(factor, 400);
    near(view.toTime(400), time);
    near(view.span, span * factor);
    view.zoom(1 / factor, 400);
    view.zoom(factor);
    near((view.from + view.to) / 2, middle);
    view.zoom(1 / factor);
  }
});

test('the view can not be moved or zoomed to where nothing is', () => {
  const {view, model} = modelAndView({commands: [signal({queued: -500, end: 0}), signal({end: 10_000})]});
  for (let i = 0; i < 200; ++i) view.pan(.5);
  assert.ok(view.from <= model.queuedRange.to);
  for (let i = 0; i < 200; ++i) view.pan(-.5);
  assert.ok(view.to >= model.queuedRange.from);
  for (let i = 0; i < 200; ++i) view.zoom(2);
  near(view.span, 4 * 10_500);
  for (let i = 0; i < 200; ++i) view.zoom(.5);
  assert.equal(view.span, 20);
});

test('at times of decades the view does not zoom in farther than numbers can tell times apart', () => {
  const {view} = modelAndView({commands: [signal({end: -1e18}), signal({end: 1e18})]});
  view.zoom(.5, 1000);
  for (let i = 0; i < 300; ++i) view.zoom(.5, 1000);
  assert.ok(view.to > view.from);
  const pixel = view.span / view.plotWidth;
  assert.notEqual(view.from + pixel, view.from);
});

test('lanes scroll as far as there are lanes, and share the height where all fit', () => {
  const few = modelAndView({}).view;
  few.scroll(100);
  assert.equal(few.top, 0);
  assert.equal(few.lane, 116);
  const {view} = modelAndView({queues: Array.from({length: 50}, (_, i) => `q${i}`)});
  assert.equal(view.lane, 66);
  view.scroll(1e9);
  assert.equal(view.top, 50 * 66 - (400 - AXIS));
  near(view.laneTop(49) + view.lane, view.height);
  view.scroll(-1e9);
  assert.equal(view.top, 0);
  const seen = [];
  view.eachLane((_, index) => seen.push(index));
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5]);
});

test('reveal moves to a command that is out of view, and not to one that is in view', () => {
  const commands = [signal({lane: 0, end: 0}), signal({lane: 39, end: 10_000})];
  const {view} = modelAndView({queues: Array.from({length: 40}, (_, i) => `q${i}`), commands});
  view.show(0, 1000);
  const {from} = view;
  view.reveal(500, 1);
  assert.deepEqual([view.from, view.top], [from, 0]);
  assert.ok(!view.holds(10_000, 39));
  view.reveal(10_000, 39);
  assert.ok(view.holds(10_000, 39));
  view.reveal(0, 0);
  assert.ok(view.holds(0, 0));
  assert.ok(!view.holds(0, 39));
});

test('every change asks for a frame', () => {
  const {view, calls} = hundred();
  for (const act of [() => view.pan(.1), () => view.zoom(.5), () => view.scroll(1), () => view.fit({from: 0, to: 1}),
                     () => view.resize(900, 300, 90)]) {
    const before = calls.changed;
    act();
    assert.ok(calls.changed > before);
  }
});

test('the gutter takes what the names need, and a quarter of the canvas at most', () => {
  const {view} = hundred();
  const gutter = (width, wanted) => {
    view.resize(width, 300, wanted);
    return view.gutter;
  };
  assert.equal(gutter(1000, 150), 150);
  assert.equal(gutter(1000, 500), 250);
  assert.equal(gutter(4000, 500), 260);
  assert.equal(gutter(300, 500), 90);
});

test('runs visit every item in view exactly once, in no more steps than there are pixels', () => {
  const random = randomNumbers(7);
  for (const rounds of [1, 10, 2000]) {
    const {model, view} = modelAndView(randomTrace(random, {rounds}));
    for (let round = 0; round < 20; ++round) {
      const from = random(model.range.to), span = 20 + random(round % 2 === 0 ? 2000 : model.range.to);
      view.show(from, from + span);
      for (const {waits} of model.lanes) {
        const seen = [];
        let steps = 0;
        view.eachRun(waits, (first, last, left, right) => {
          ++steps;
          assert.ok(last > first);
          near(left, view.toX(waits.begin[first]), 1e-3);
          assert.ok(right >= view.toX(endOf(waits, first)) - 1e-3);
          for (let i = first; i < last; ++i) seen.push(i);
        });
        assert.ok(steps <= view.plotWidth + 2);
        assert.equal(new Set(seen).size, seen.length);
        for (let i = 0; i < waits.size; ++i) {
          const inView = waits.begin[i] <= view.to && endOf(waits, i) >= view.from;
          if (inView) assert.ok(seen.includes(i));
        }
      }
    }
  }
});

test('a point picks the signal or wait that is drawn there, in the strip what was queued, otherwise a gap', () => {
  const {view} = modelAndView({
    commands: [wait({lane: 0, queued: 300, observed: 100, end: 400}), signal({lane: 0, queued: 320, end: 700}),
               signal({lane: 1, queued: 500})],
    losses: [[1, 1, '1', '2', 200, 600]]});
  const box = (lane) => view.boxTop(lane) + 10, strip = (lane) => view.boxBottom(lane) + 8;
  assert.deepEqual(view.pick(view.toX(250), box(0)), {command: 0});
  assert.deepEqual(view.pick(view.toX(700) - 2, box(0)), {command: 1});
  assert.deepEqual(view.pick(view.toX(300), strip(0)), {command: 0});
  assert.deepEqual(view.pick(view.toX(320), strip(0)), {command: 1});
  assert.deepEqual(view.pick(view.toX(500), strip(1)), {command: 2});
  assert.deepEqual(view.pick(view.toX(300), box(1)), {loss: 0});
  assert.equal(view.pick(view.toX(550), box(0)), null);
  assert.equal(view.pick(view.gutter - 5, box(0)), null);
  assert.equal(view.pick(view.toX(250), 5), null);
  assert.equal(view.pick(view.toX(250), 1000), null);
});

test('lanes stand below the names of their engines, and a point on a name is in no lane', () => {
  const engines = {queues: Array.from({length: 12}, (_, i) => `q${i}`), engines: ['', 'x', 'y'],
                   engineOf: Array.from({length: 12}, (_, i) => Math.floor(i / 4))};
  const {view} = modelAndView(engines);
  assert.equal(view.contentHeight, 12 * view.lane + 2 * HEAD);
  assert.equal(view.laneTop(4) - view.laneTop(3), view.lane + HEAD);
  assert.equal(view.laneAt(view.laneTop(4) - 1), -1);
  for (let index = 0; index < 12; ++index) {
    assert.equal(view.laneAt(view.laneTop(index)), index);
    assert.equal(view.laneAt(view.laneTop(index) + view.lane - 1), index);
  }
  assert.equal(view.laneAt(AXIS - 1), -1);
  view.scroll(1e9);
  near(view.laneTop(11) + view.lane, view.height);
  const groups = [];
  view.eachGroup(({name}, top) => groups.push([name, top]));
  assert.deepEqual(groups, [['y', view.laneTop(8) - HEAD]]);
});

test('the scroll bar is as long as the share in view, and moves the lanes as far as it is moved', () => {
  assert.equal(modelAndView({}).view.bar, null);
  const {view} = modelAndView({queues: Array.from({length: 40}, (_, i) => `q${i}`)});
  const room = view.height - AXIS;
  near(view.bar.length, room * room / view.contentHeight);
  near(view.bar.top, AXIS);
  assert.equal(view.right, view.width - BAR);
  view.dragBar(100);
  near(view.bar.top, AXIS + 100);
  view.dragBar(1e6);
  near(view.bar.top + view.bar.length, view.height);
  assert.equal(view.top, view.mostTop);
});

test('a point between waits and signals picks the work that is drawn there', () => {
  const {view} = modelAndView({workNames: ['w'], work: [[0, 0, 100, 400]],
                               commands: [wait({observed: 400, end: 600}), signal({end: 1000})]});
  assert.deepEqual(view.pick(view.toX(250), view.boxTop(0) + 10), {work: 0});
  assert.deepEqual(view.pick(view.toX(500), view.boxTop(0) + 10), {command: 0});
  assert.equal(view.pick(view.toX(250), view.boxBottom(0) + 8), null);
  assert.equal(view.pick(view.toX(250), view.boxTop(1) + 10), null);
});

test('[A131] in flight, a point picks the command of its row, and nothing above the rows', () => {
  const {model, view, calls} = modelAndView({
    commands: [signal({queued: 0, end: 100}), signal({queued: 50, end: 800}), signal({queued: 100})],
    lifetimes: [[0, 0, 100, 0, 0], [1, 50, 800, 1, 0], [2, 100, 800, 0, 1]], losses: [[1, 0, '0', '1', 200, 300]]});
  view.fit(model.queuedRange);
  const changed = calls.changed;
  view.showLifetimes(true);
  assert.equal(calls.changed, changed + 1);
  const row = (level) => view.rowTop(0, level) + view.rowHeight(model.lanes[0]) / 2;
  assert.deepEqual(view.pick(view.toX(60), row(0)), {command: 0});
  assert.deepEqual(view.pick(view.toX(60), row(1)), {command: 1});
  assert.deepEqual(view.pick(view.toX(700), row(0)), {command: 2});
  assert.equal(view.pick(view.toX(20), row(1)), null);
  assert.equal(view.pick(view.toX(60), row(2)), null);
  assert.deepEqual(view.pick(view.toX(250), view.laneTop(1) + 30), {loss: 0});
  assert.deepEqual(view.rowOf(1), {left: view.toX(50), right: view.toX(800), top: view.rowTop(0, 1),
                                   height: view.rowHeight(model.lanes[0])});
});
