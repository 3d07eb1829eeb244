// SPDX-License-Identifier: BSL-1.0
//
// Drawing, on a canvas that records it: labels that can be read, numbers that are numbers, and what must be there.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {drawFrame} from '../../../tools/trace_page/draw.mjs';
import {gutterFor} from '../../../tools/trace_page/frame.mjs';
import {Labels} from '../../../tools/trace_page/labels.mjs';
import {RecordingContext, colors, data, modelAndView, randomNumbers, randomTrace, signal, wait,
        withLifetimes} from './support.mjs';
import {makeModel} from '../../../tools/trace_page/model.mjs';
import {findMatches, matchSeries} from '../../../tools/trace_page/search.mjs';

function draw({model, view}, {focus = [], matches = null, range = null, pointer = null} = {}) {
  const context = new RecordingContext();
  const labels = drawFrame({context, view, model, colors, focus, matches, range, pointer});
  assert.deepEqual(context.strayed, []);
  return {context, labels, texts: context.texts.map(({text}) => text)};
}

const overlaps = (a, b) => Math.abs(a.y - b.y) < 12 && a.left < b.right && b.left < a.right;

test('no text overlaps another one, and none leaves its part of the canvas', () => {
  const random = randomNumbers(11);
  let labels = 0;
  for (let round = 0; round < 150; ++round) {
    const scene = modelAndView(randomTrace(random, {queues: 1 + random(5), rounds: 1 + random(80)}),
                               {width: 400 + random(1000), height: 200 + random(500)});
    const {from, to} = scene.model.range, span = 20 + random(to - from);
    if (round % 3 > 0) scene.view.show(from + random(span), from + span);
    const {context, labels: placed} = draw(scene);
    labels += placed.length;
    const {texts} = context, {gutter, width} = scene.view;
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      assert.ok(!overlaps(a, b), `"${a.text}" overlaps "${b.text}"`);
    }));
    for (const {text, left, right} of texts) {
      const inGutter = left < gutter;
      assert.ok(left >= (inGutter ? 0 : gutter) && right <= (inGutter ? gutter : width), `"${text}" is cut off`);
    }
  }
  assert.ok(labels > 1000);
});

test('a wait is labelled with its fence if that fits, otherwise with its value, otherwise not at all', () => {
  const label = (end) => {
    const scene = modelAndView({commands: [wait({value: 7, observed: 0, end}), signal({lane: 1, end: 1000})]});
    return draw(scene).labels.map(({text}) => text).filter((text) => text.includes('\u2265'));
  };
  assert.deepEqual(label(500), ['F \u2265 7']);
  assert.deepEqual(label(38), ['\u2265 7']);
  assert.deepEqual(label(20), []);
});

test('the edge of a wait is dashed if its end is not known', () => {
  const dashes = (parts) => {
    const scene = modelAndView({commands: [wait({value: 7, ...parts}), signal({lane: 1, end: 1000})]});
    return draw(scene).context.calls.setLineDash ?? 0;
  };
  const known = dashes({observed: 0, end: 900});
  assert.equal(dashes({observed: 0, end: 900, flags: 3 + 16}), known + 1);
  assert.equal(dashes({queued: 0, begin: 0, boxEnd: 900}), known + 1);
});

test('a queue that lost waits and signals at the same time says both', () => {
  const losses = [[0, 1, '5', '3', 100, 900], [0, 0, '5', '4', 100, 900], [1, 1, '0', '2', 120, 890]];
  const scene = modelAndView({commands: [signal({end: 0}), signal({end: 1000})], losses});
  const texts = draw(scene).labels.map(({text}) => text);
  for (const text of ['3 waits lost', '4 signals lost', '2 waits lost']) assert.ok(texts.includes(text), text);
});

test('gaps that begin in one pixel are counted once they are too many to be named', () => {
  const losses = Array.from({length: 5}, (_, i) => [0, 1, `${i}`, '3', 100, 900]);
  const scene = modelAndView({commands: [signal({end: 0}), signal({end: 1000})], losses});
  assert.ok(draw(scene).texts.includes('5 gaps here'));
});

test('every queue has its name and counts in the gutter', () => {
  const parts = {queues: ['copy', 'blur'], commands: [wait({lane: 1, end: 5}), signal({end: 6})]};
  const {texts} = draw(modelAndView(parts, {gutter: 200}));
  for (const text of ['copy', 'blur', '0 waits, 1 signal', '1 wait, 0 signals']) assert.ok(texts.includes(text), text);
});

test('the gutter is wide enough for the longest name', () => {
  const context = new RecordingContext();
  assert.equal(gutterFor(context, makeModel(data({queues: []}))), 150);
  assert.equal(gutterFor(context, makeModel(data({queues: ['a', 'b'.repeat(30)]}))), 6 * 30 + 24);
});

test('an empty trace says so, and one without times, too', () => {
  const sentences = (parts) => draw(modelAndView(parts)).texts.filter((text) => /trace/.test(text));
  assert.deepEqual(sentences({queues: []}), ['This trace has no commands.']);
  assert.deepEqual(sentences({commands: [signal({flags: 1})]}), ['No command of this trace has a time.']);
  assert.deepEqual(sentences({commands: [signal({end: 1})]}), []);
  assert.deepEqual(sentences({losses: [[0, 1, '0', '1', null, null]]}), []);
});

test('an arrow goes from each signal to the waits that it released, and a focus draws them once more', () => {
  const scene = modelAndView({commands: [signal({lane: 1, end: 200}), wait({observed: 0, end: 210, by: 0}),
                                         wait({lane: 1, observed: 100, end: 400, by: 0}), signal({end: 500})]});
  assert.equal(draw(scene).context.calls.bezierCurveTo, 2);
  assert.equal(draw(scene, {focus: [{command: 1}]}).context.calls.bezierCurveTo, 3);
  assert.equal(draw(scene, {focus: [{command: 0}]}).context.calls.bezierCurveTo, 4);
  assert.equal(draw(scene, {focus: [{command: 3}]}).context.calls.bezierCurveTo, 2);
});

test('from afar a lane shows how long it stalled instead of each wait', () => {
  const commands = [];
  for (let i = 0; i < 5000; ++i) commands.push(wait({value: i, observed: 10 * i, end: 10 * i + 5}));
  const scene = modelAndView({commands});
  const {context, labels} = draw(scene);
  assert.equal(labels.length, 0);
  assert.ok(context.calls.rect > 300);
  assert.equal(context.calls.roundRect, undefined);
  scene.view.show(0, 100);
  assert.ok(draw(scene).context.calls.roundRect >= 10);
});

test('work that was told has its name and an edge, derived work has neither', () => {
  const scene = modelAndView({workNames: ['', 'blur'], work: [[0, 1, 0, 500], [1, 0, 0, 500]],
                              commands: [signal({end: 1000})]});
  const {context, labels} = draw(scene);
  assert.deepEqual(labels.map(({text}) => text), ['blur', 'F = 1']);
  assert.equal(context.calls.stroke, 2);
  const near = draw(modelAndView({workNames: ['', 'blur'], work: [[0, 1, 0, 1], [1, 0, 0, 1]],
                                  commands: [signal({end: 1000})]})).context.rectangles;
  for (const color of [colors['work-edge'], colors.work]) assert.ok(near.some((one) => one.color === color), color);
});

test('from afar a lane shows how long it worked, above how long it was parked', () => {
  const commands = [], work = [];
  for (let i = 0; i < 5000; ++i) {
    commands.push(wait({value: i, observed: 10 * i, end: 10 * i + 4}));
    work.push([0, 0, 10 * i + 4, 10 * i + 7]);
  }
  const scene = modelAndView({workNames: ['w'], work, commands}), context = new RecordingContext(), columns = [];
  context.rect = (left, top, width, height) => columns.push({top, height});
  drawFrame({context, view: scene.view, model: scene.model, colors, focus: [], matches: null, range: null,
             pointer: null});
  const {boxHeight} = scene.view, bottom = scene.view.boxBottom(0);
  const middle = (share) => columns.filter(({height}) => Math.abs(height / boxHeight - share) < .02);
  const parked = middle(.4), worked = middle(.3);
  assert.ok(parked.length > 300 && worked.length > 300);
  for (const {top, height} of parked) assert.ok(Math.abs(top + height - bottom) < 1e-6);
  for (const {top, height} of worked) assert.ok(Math.abs(bottom - .4 * boxHeight - top - height) < 2);
});

test('engines have their names above their lanes', () => {
  const parts = {queues: ['a', 'b', 'c'], engines: ['', 'gpu', 'copy'], engineOf: [1, 1, 2]};
  const {texts} = draw(modelAndView(parts, {gutter: 200}));
  for (const text of ['gpu \u00b7 2 queues', 'copy \u00b7 1 queue']) assert.ok(texts.includes(text), text);
});

test('matches are marked where they are in view, however many there are', () => {
  const commands = Array.from({length: 5000}, (_, i) => signal({value: i, end: 10 * i}));
  const scene = modelAndView({commands}), matches = matchSeries(scene.model, findMatches(scene.model, 'signal'));
  const marks = () => draw(scene, {matches}).context.calls.strokeRect;
  assert.ok(marks() > 100 && marks() <= scene.view.plotWidth + 2);
  scene.view.show(0, 95);
  assert.ok(marks() >= 10 && marks() <= 15);
});

test('a range that was chosen is drawn as far as it is in view', () => {
  const scene = modelAndView({commands: [signal({end: 0}), signal({end: 1000})]});
  const areas = (range) => draw(scene, {range}).context.rectangles.filter(({color, height}) =>
    color === colors.arrow && height > 100);
  assert.equal(areas(null).length, 0);
  const [area] = areas({from: 200, to: 400});
  assert.ok(Math.abs(area.left - scene.view.toX(200)) < 1e-6 && Math.abs(area.width - scene.view.toPixels(200)) < 1e-6);
  assert.ok(areas({from: -1e9, to: 1e9})[0].left >= scene.view.gutter);
  assert.equal(areas({from: 1e6, to: 2e6}).length, 0);
});

test('the bars of signals are as high as the boxes, but short where there are many', () => {
  const bars = (count) => {
    const commands = Array.from({length: count}, (_, i) => signal({value: i, end: 100 * i}));
    const scene = modelAndView({commands}), {rectangles} = draw(scene).context;
    const found = rectangles.filter(({color}) => color === colors.signal);
    const heights = [...new Set(found.map(({height}) => height))];
    return {count: found.length, heights, full: scene.view.boxHeight + 6};
  };
  const few = bars(50), many = bars(5000);
  assert.deepEqual([few.count, few.heights], [50, [few.full]]);
  assert.deepEqual([many.count, many.heights], [1, [7]]);
});

test('a frame takes no more steps for 100,000 commands than for 5,000', () => {
  const steps = (count) => {
    const commands = [];
    for (let i = 0; i < count; ++i) commands.push(signal({lane: i % 2, value: i, queued: 90 * i, end: 100 * i}));
    const {calls} = draw(modelAndView({commands})).context;
    return Object.values(calls).reduce((sum, number) => sum + number, 0);
  };
  assert.ok(steps(100_000) < 1.5 * steps(5_000));
});

test('the time under the pointer is shown, but not in the gutter', () => {
  const scene = modelAndView({commands: [signal({end: 0}), signal({end: 1_000_000})]}), x = scene.view.toX(123_456);
  const shown = draw(scene, {pointer: {x, y: 50}}).texts;
  assert.ok(shown.includes('123.456 \u00b5s'));
  assert.equal(draw(scene, {pointer: {x: 10, y: 50}}).texts.length, shown.length - 1);
});

test('a scroll bar stands where not all lanes are in view', () => {
  const bars = (queues) => draw(modelAndView({queues: Array(queues).fill('q')})).context.calls.roundRect ?? 0;
  assert.equal(bars(3), 0);
  assert.equal(bars(30), 1);
});

test('labels: the first one wins, centered ones move into the frame, and what does not fit is left out', () => {
  const labels = new Labels((text) => 6 * text.length, 100, 400), style = {ink: 'i', ground: 'g'};
  assert.ok(labels.add(['much too long', 'short'], 200, 50, 40, style));
  assert.ok(!labels.add(['other'], 230, 55, 100, style));
  assert.ok(labels.add(['other'], 230, 64, 100, style));
  assert.ok(!labels.add(['left'], 90, 150, 100, style));
  assert.ok(!labels.add(['right'], 380, 150, 100, style));
  assert.ok(labels.addCentered('edge', 399, 150, style));
  assert.ok(labels.addCentered('edge', 90, 150, style));
  assert.deepEqual(labels.placed.map(({text, x}) => [text, x]),
                   [['short', 200], ['other', 230], ['edge', 376], ['edge', 100]]);
});

const flight = {
  commands: [signal({queued: 0, end: 100}), signal({queued: 50, end: 800, value: 2}), wait({queued: 100, value: 3})],
  lifetimes: [[0, 0, 100, 0, 0], [1, 50, 800, 1, 0], [2, 100, 800, 0, 1]],
};

test('[A131] in flight, each command is a box in the row of its level, and numbers say how many there are', () => {
  const scene = modelAndView(flight, {gutter: 200});
  scene.view.showLifetimes(true);
  scene.view.fit(scene.model.queuedRange);
  const {context, texts} = draw(scene), {view} = scene;
  const boxes = context.rectangles.filter(({color}) => color === colors.signal || color === colors.ground)
    .filter(({height}) => height === view.rowHeight(scene.model.lanes[0]) - 1);
  assert.deepEqual(boxes.map(({left, width}) => [left, left + width].map((x) => Math.round(view.toTime(x)) + 0)),
                   [[0, 100], [100, 800], [50, 800]]);
  const tops = boxes.map(({top}) => top - 1);
  assert.deepEqual(tops, [view.rowTop(0, 0), view.rowTop(0, 0), view.rowTop(0, 1)]);
  assert.ok(texts.includes('F = 2') && texts.includes('F \u2265 3') && texts.includes('up to 2 in flight'));
  assert.deepEqual(['1', '2'].map((number) => texts.filter((text) => text === number).length), [1, 1]);
  assert.equal(context.calls.setLineDash, 4); // around the open one, and its end twice without a dash before it
});

test('[A131] where rows would be too low, columns show the greatest depth', () => {
  const count = 400, times = Array.from({length: count}, (_, i) => i);
  const scene = modelAndView({commands: times.map((i) => signal({queued: i, end: 1000 + i, value: i})),
                              lifetimes: times.map((i) => [i, i, 1000 + i, i, 0])});
  scene.view.showLifetimes(true);
  const columns = draw(scene).context.rectangles.filter(({color}) => color === colors['wait-far']);
  assert.ok(columns.length > 300);
  const {view, model} = scene, room = view.lane - 20;
  for (const {left, height} of columns) {
    const from = view.toTime(left), to = view.toTime(left + 2);
    const depth = Math.max(...[from, ...times.filter((i) => i >= from && i < to)].map(
      (at) => times.filter((i) => i <= at && at < 1000 + i).length));
    assert.ok(Math.abs(height - Math.max(1, depth / model.lanes[0].greatestDepth * room)) < 1e-6);
  }
});

test('[A131] what a reader looks at has a rim in its row, and nothing is drawn for what has no row', () => {
  const scene = modelAndView(flight);
  scene.view.showLifetimes(true);
  const strokes = (focus) => draw(scene, {focus}).context.calls.strokeRect;
  assert.equal(strokes([{command: 1}]), strokes([]) + 1);
  assert.equal(strokes([{work: 0}]), strokes([]));
  const bare = modelAndView({commands: [signal({end: 5})]});
  bare.view.showLifetimes(true);
  assert.equal(draw(bare, {focus: [{command: 0}]}).context.calls.strokeRect ?? 0, 0);
});

test('[A131] of a queue without lifetimes, it is not said how many commands are in flight', () => {
  const scene = modelAndView({commands: [signal({end: 5})]}, {gutter: 200});
  scene.view.showLifetimes(true);
  const {texts} = draw(scene);
  assert.ok(texts.includes('in flight: not known'));
  assert.ok(!texts.some((text) => text.startsWith('up to')));
});

test('[A131] of random traces, no label in flight overlaps another one', () => {
  const random = randomNumbers(17);
  for (let round = 0; round < 40; ++round) {
    const parts = randomTrace(random, {queues: 1 + random(4), rounds: 1 + random(60)});
    const scene = modelAndView(withLifetimes(parts), {width: 400 + random(1000), height: 200 + random(500)});
    scene.view.showLifetimes(true);
    const {texts} = draw(scene).context;
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      assert.ok(!overlaps(a, b), `"${a.text}" overlaps "${b.text}"`);
    }));
  }
});

test('[A131] a long lifetime that begins in the pixel of a short one is drawn as itself', () => {
  const commands = [signal({queued: 0, end: 1}), wait({queued: 1, end: 900, value: 3})];
  const scene = modelAndView({commands, lifetimes: [[0, 0, 1, 0, 0], [1, 1, 900, 0, 0]]});
  scene.view.showLifetimes(true);
  scene.view.fit(scene.model.queuedRange);
  assert.ok(draw(scene).texts.includes('F \u2265 3'));
});
