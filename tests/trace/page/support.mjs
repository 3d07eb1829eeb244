// SPDX-License-Identifier: BSL-1.0
//
// What the tests of the trace page share: data, random numbers, and a canvas that records what is drawn.
import {COLORS} from '../../../tools/trace_page/draw.mjs';
import {makeModel} from '../../../tools/trace_page/model.mjs';
import {View} from '../../../tools/trace_page/view.mjs';

/// Returns a command as the exporter writes it. `flags` are: 1 executed, 2 queued, 4 backward, 8 uncertain, 16 guessed.
export function command({lane = 0, wait = false, fence = 0, value = 1, queued = null, observed = null, end = null,
                         begin = observed ?? end, boxEnd = end, flags = end === null ? 2 : 3, by = -1}) {
  return [lane, wait ? 1 : 0, fence, String(value), queued, observed, end, begin, boxEnd, flags, by];
}
export const wait = (parts) => command({wait: true, ...parts});
export const signal = (parts) => command(parts);

/// Returns the data of a page; what is not given is empty, and there are two queues without engines and two fences.
export function data({queues = ['A', 'B'], engineOf = queues.map(() => 0), ...parts}) {
  const empty = {start: '0', notShown: 0, backward: 0, engines: [''], workNames: [], commands: [], work: [],
                 losses: [], lifetimes: []};
  return {...empty, queues, engineOf, isThread: queues.map(() => 0), fences: ['F', 'G'], ...parts};
}

/// Returns a model, and a view of it with 1,000 pixels for times, fitted.
export function modelAndView(parts, {width = 1090, height = 400, gutter = 90} = {}) {
  const model = makeModel(data(parts));
  const calls = {changed: 0};
  const view = new View(model, () => { ++calls.changed; });
  view.resize(width, height, gutter);
  view.fit(model.range);
  return {model, view, calls};
}

/// Returns a function that returns random integers from 0 to its argument - 1, the same ones for the same seed.
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * bound);
  };
}

/// Returns the parts of a trace with queues of engines that wait for one another, work, gaps, and times that are
/// missing or backward.
export function randomTrace(random, {queues = 4, rounds = 60} = {}) {
  const commands = [], losses = [], work = [];
  let time = 0;
  for (let value = 1; value <= rounds; ++value) {
    for (let lane = 0; lane < queues; ++lane) {
      const observed = time, queued = random(3) > 0 ? time - random(5000) : null, by = commands.length - 1;
      time += random(1000);
      if (random(20) === 0) {
        losses.push([lane, random(2), String(value), String(1 + random(9)), observed, time]);
        losses.push([lane, random(2), String(value), '2', observed + random(20), time]);
      }
      commands.push(wait({lane, fence: (lane + 1) % queues, value, queued, observed, end: time, by,
                          flags: 3 + 4 * Number(random(9) === 0) + 16 * Number(random(9) === 0)}));
      if (random(3) > 0) work.push([lane, random(3), time, time + random(300)]);
      time += random(300);
      if (random(15) > 0) commands.push(signal({lane, fence: lane, value, queued, end: time}));
      else commands.push(signal({lane, fence: lane, value, queued: time, flags: 2 + 8 * random(2)}));
    }
  }
  return {queues: Array.from({length: queues}, (_, i) => `queue number ${i}`), engines: ['', 'left', 'right'],
          engineOf: Array.from({length: queues}, (_, i) => Math.floor(3 * i / queues)), work,
          workNames: ['', 'blur', 'sum'], fences: Array.from({length: queues}, (_, i) => `fence ${i}`), commands,
          losses};
}

/// Returns the parts with the lifetimes of their commands, whose levels are given as the exporter gives them.
export function withLifetimes(parts) {
  const known = parts.commands.flatMap(([lane, , , , queued, , end], index) =>
    queued === null || end === null || end < queued ? [] : [{lane, begin: queued, end, index}]);
  known.sort((a, b) => a.lane - b.lane || a.begin - b.begin || a.end - b.end);
  const ends = new Map(); // by lane: the end of the last lifetime in each level
  const lifetimes = known.map(({lane, begin, end, index}) => {
    if (!ends.has(lane)) ends.set(lane, []);
    const taken = ends.get(lane), free = taken.findIndex((last) => last <= begin);
    const level = free >= 0 ? free : taken.length;
    taken[level] = end;
    return [index, begin, end, level, 0];
  });
  return {...parts, lifetimes};
}

export const colors = Object.fromEntries(COLORS.map((name) => [name, `color of ${name}`]));

/// A canvas whose characters are all 6 pixels wide. `texts` are the texts drawn, each with its place and color;
/// `rectangles` are those filled; `calls` counts the calls by name; `strayed` are the calls with a number that is not
/// finite.
export class RecordingContext {
  constructor() {
    Object.assign(this, {texts: [], rectangles: [], calls: {}, strayed: []});
    Object.assign(this, {globalAlpha: 1, fillStyle: '', strokeStyle: '', lineWidth: 1, lineJoin: '', font: '',
                         textAlign: 'left', textBaseline: ''});
    for (const name of ['beginPath', 'moveTo', 'lineTo', 'bezierCurveTo', 'rect', 'roundRect', 'fill', 'stroke', 'clip',
                        'save', 'restore', 'strokeRect', 'strokeText', 'setLineDash', 'setTransform']) {
      this[name] = (...words) => this.count(name, words);
    }
  }

  count(name, words) {
    this.calls[name] = (this.calls[name] ?? 0) + 1;
    for (const word of words.flat()) {
      if (typeof word === 'number' && !Number.isFinite(word)) this.strayed.push(`${name}(${words.join(', ')})`);
    }
  }

  measureText(text) { return {width: 6 * Array.from(text).length}; }

  fillText(text, x, y) {
    this.count('fillText', [x, y]);
    const width = this.measureText(text).width, left = this.textAlign === 'center' ? x - width / 2 : x;
    this.texts.push({text, left, right: left + width, y, color: this.fillStyle});
  }
  fillRect(left, top, width, height) {
    this.count('fillRect', [left, top, width, height]);
    this.rectangles.push({left, top, width, height, color: this.fillStyle});
  }
}
