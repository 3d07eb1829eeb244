// SPDX-License-Identifier: BSL-1.0
//
// The page itself: reads the data, listens to mouse, touch and keys, and keeps canvas and description up to date.

import {makeModel, placeOf, whenShown} from './model.mjs';
import {describeCommand, describeLoss, describeTrace, describeWork} from './describe.mjs';
import {findMatches, matchSeries} from './search.mjs';
import {describeRange} from './statistics.mjs';
import {BAR, View} from './view.mjs';
import {COLORS, drawFrame} from './draw.mjs';
import {gutterFor} from './frame.mjs';
import {countText} from './text.mjs';

const byId = (id) => document.getElementById(id);
const canvas = byId('canvas'), context = canvas.getContext('2d'), tip = byId('tip'), search = byId('search');
const model = makeModel(JSON.parse(byId('data').textContent));

/// hovered, pinned    what is under the pointer, and what was chosen by a click, a key or a search: {command}, {work}
///                    or {loss}, or null
/// range              the times of which numbers are shown, {from, to}, or null
/// matches, places    what the search has found, and where, for each lane; null without a search
const state = {
  hovered: null, pinned: null, pointer: null, range: null, matches: null, places: null, colors: {}, frame: 0,
};

function redraw() {
  if (state.frame === 0) {
    state.frame = requestAnimationFrame(() => {
      state.frame = 0;
      draw();
    });
  }
}

const view = new View(model, redraw);

function draw() {
  const {pinned, hovered, places: matches, range, pointer, colors} = state;
  const focus = [pinned, ...isSame(pinned, hovered) ? [] : [hovered]].filter((target) => target);
  drawFrame({context, view, model, colors, focus, matches, range, pointer});
  showTip();
}

function resize() {
  const ratio = window.devicePixelRatio || 1, {width, height} = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.resize(width, height, gutterFor(context, model));
  draw(); // at once: a new size clears the canvas, and the next frame would come too late for this one
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLORS) state.colors[name] = style.getPropertyValue(`--${name}`).trim();
  redraw();
}

let drag = null; // {kind, x, y, start, id, moved} while a button or a finger is down

// ---- words ----

function element(tag, text, name = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = name;
  return made;
}

function showFacts() {
  describeTrace(model).forEach(({text, kind}, i) => {
    byId('facts').append(i > 0 ? ' \u00b7 ' : '', element(kind === 'strong' ? 'b' : 'span', text, kind));
  });
}

function describe(target) {
  if (target.work !== undefined) return describeWork(model, target.work);
  return target.loss === undefined ? describeCommand(model, target.command) : describeLoss(model, target.loss);
}

function fill(card, {title, rows, notes}) {
  const list = document.createElement('dl');
  for (const [name, text] of rows) list.append(element('dt', name), element('dd', text));
  card.replaceChildren(element('h2', title), list, ...notes.map((note) => element('p', note)));
}

/// What is pinned is described at the side already.
function showTip() {
  const {hovered: target, pinned, pointer} = state;
  tip.hidden = !target || !pointer || isSame(target, pinned);
  if (tip.hidden) return;
  if (tip.target !== target) fill(tip, describe(target));
  tip.target = target;
  const {offsetWidth: width, offsetHeight: height} = tip, {x, y} = pointer;
  const left = x + 16 + width > view.width ? x - 16 - width : x + 16;
  const top = y + 14 + height > view.height ? y - 14 - height : y + 14;
  tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}

const say = (text) => { byId('said').textContent = text; };

// ---- hovering and pinning ----

const isSame = (a, b) => a?.command === b?.command && a?.work === b?.work && a?.loss === b?.loss;

function hover(found) {
  if (!isSame(found, state.hovered)) state.hovered = found;
  redraw();
}

/// Describes a target at the side until another one is pinned; none for null.
function pin(target) {
  state.pinned = target;
  byId('pinned').hidden = !target;
  const description = target ? describe(target) : {title: 'Nothing is pinned.', rows: [], notes: []};
  if (target) fill(byId('pin'), description);
  say([description.title, ...description.rows.map((row) => row.join(': ')), ...description.notes].join('. '));
  redraw();
}

/// Shows a target, and pins it.
function goTo(target) {
  const {lane, to} = placeOf(model, target);
  view.reveal(to, lane);
  state.hovered = state.pointer = null;
  pin(target);
}

/// Pins the next command in time, or the previous one; the first one in view if none is pinned.
function step(direction) {
  const {walk, commands} = model;
  if (walk.length === 0) return;
  const at = state.pinned ? walk.indexOf(state.pinned.command) : -1;
  const inView = () => walk.findIndex((index) => whenShown(commands[index]) >= view.from);
  const next = at < 0 ? inView() : at + direction;
  goTo({command: walk[Math.min(Math.max(next, 0), walk.length - 1)]});
}

function clear() {
  state.hovered = null;
  showRange(null);
  pin(null);
}

// ---- searching ----

function findText() {
  state.matches = findMatches(model, search.value);
  state.places = state.matches && matchSeries(model, state.matches);
  byId('found').textContent = state.matches ? countText(state.matches.length, 'match', 'matches') : '';
  redraw();
}

/// Pins the next match in time, or the previous one; after the last one comes the first one.
function stepMatch(direction) {
  const {matches, pinned} = state;
  if (!matches || matches.length === 0) return;
  const at = matches.findIndex((match) => isSame(match, pinned));
  const inView = matches.findIndex((match) => placeOf(model, match).to >= view.from);
  const first = direction > 0 ? inView : matches.length - 1;
  const next = at < 0 ? Math.max(first, 0) : (at + direction + matches.length) % matches.length;
  goTo(matches[next]);
  byId('found').textContent = `${(next + 1).toLocaleString('en')} of ${countText(matches.length, 'match', 'matches')}`;
}

// ---- numbers of a range ----

function showRange(range) {
  state.range = range;
  byId('range').hidden = !range;
  if (range) {
    const {title, head, rows, note} = describeRange(model, range.from, range.to);
    const table = document.createElement('table');
    const line = (tag, texts) => {
      const row = document.createElement('tr');
      row.append(...texts.map((text, i) => element(i === 0 ? 'th' : tag, text)));
      return row;
    };
    table.append(line('th', head), ...rows.map((row) => line('td', row)));
    byId('statistics').replaceChildren(element('h2', title), table, element('p', note));
    if (!drag) say(`${title}. ${rows.map((row) => row.map((text, i) => `${head[i]}: ${text}`).join(', ')).join('. ')}`);
  }
  redraw();
}

/// Chooses the times from one pixel to another.
function chooseRange(a, b) {
  const times = [a, b].map((x) => view.toTime(Math.max(view.gutter, Math.min(x, view.right)))).sort((x, y) => x - y);
  if (times[1] > times[0]) showRange({from: times[0], to: times[1]});
}

/// Shows a name that the gutter had to cut.
function nameUnder(x, y) {
  const lane = x < view.gutter ? model.lanes[view.laneAt(y)] : undefined;
  canvas.title = lane ? lane.name : '';
}

// ---- mouse and touch ----

function release(event) {
  const kind = drag?.kind, clicked = drag && !drag.moved && kind === 'move' && event.type === 'pointerup';
  drag = null;
  canvas.classList.remove('dragging');
  if (kind === 'range') showRange(state.range); // and now it is said
  if (clicked) pin(view.pick(event.offsetX, event.offsetY));
}

/// Returns what a drag does that begins here: it moves the view or the scroll bar, or chooses a range.
function dragKind({offsetX: x, offsetY: y, shiftKey}) {
  if (view.bar && x >= view.width - BAR) {
    const {top, length} = view.bar;
    if (y < top || y > top + length) view.dragBar(y - top - length / 2);
    return 'bar';
  }
  return shiftKey ? 'range' : 'move';
}

function dragTo(x, y) {
  if (drag.kind === 'bar') {
    view.dragBar(y - drag.y);
  } else if (drag.kind === 'range') {
    chooseRange(drag.start, x);
  } else {
    view.pan((drag.x - x) / view.plotWidth);
    view.scroll(drag.y - y);
  }
  Object.assign(drag, {x, y, moved: true});
}

canvas.addEventListener('pointerdown', (event) => {
  if (event.button !== 0 || drag) return;
  const {offsetX: x, offsetY: y} = event;
  drag = {x, y, start: x, id: event.pointerId, moved: false, kind: dragKind(event)};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', (event) => {
  const {offsetX: x, offsetY: y} = event;
  if (event.pointerType !== 'touch') state.pointer = {x, y};
  if (drag && event.pointerId === drag.id) {
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    canvas.classList.add('dragging');
    dragTo(x, y);
    hover(null);
  } else if (event.pointerType !== 'touch') {
    nameUnder(x, y);
    hover(view.pick(x, y));
  }
});
canvas.addEventListener('pointerup', release);
canvas.addEventListener('pointercancel', release);
canvas.addEventListener('pointerleave', () => {
  state.pointer = null;
  hover(null);
});
canvas.addEventListener('dblclick', ({offsetX: x}) => { if (x <= view.right) view.zoom(.25, x); });
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const {deltaX, deltaY, offsetX: x, offsetY: y} = event, scale = [1, 16, 400][event.deltaMode];
  if (x < view.gutter || x >= view.width - BAR && view.bar) {
    view.scroll(deltaY * scale);
  } else if (event.shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) {
    view.pan((deltaX || deltaY) * scale / view.plotWidth);
  } else {
    const turned = Math.max(-240, Math.min(240, deltaY * scale));
    view.zoom(Math.exp(turned * (event.ctrlKey ? .01 : .002)), x);
  }
  state.pointer = {x, y};
  hover(view.pick(x, y));
}, {passive: false});

// ---- keys and buttons ----

function toggleLifetimes() {
  view.showLifetimes(!view.lifetimes);
  byId('depth').setAttribute('aria-pressed', String(view.lifetimes));
}

const KEYS = {
  arrowleft: (event) => view.pan(event.shiftKey ? -.5 : -.1),
  arrowright: (event) => view.pan(event.shiftKey ? .5 : .1),
  arrowup: () => view.scroll(-view.lane / 2),
  arrowdown: () => view.scroll(view.lane / 2),
  pageup: () => view.scroll(-view.height / 2),
  pagedown: () => view.scroll(view.height / 2),
  '+': () => view.zoom(.7),
  '=': () => view.zoom(.7),
  '-': () => view.zoom(1 / .7),
  0: () => view.fit(model.range),
  a: () => view.fit(model.queuedRange),
  home: () => view.scroll(-view.mostTop),
  end: () => view.scroll(view.mostTop),
  d: () => toggleLifetimes(),
  n: () => step(1),
  p: () => step(-1),
  r: () => showRange({from: view.from, to: view.to}),
  '/': () => search.focus(),
  escape: clear,
};
window.addEventListener('keydown', (event) => {
  const act = KEYS[event.key.toLowerCase()];
  if (!act || event.target === search || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  act(event);
});
search.addEventListener('input', findText);
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') stepMatch(event.shiftKey ? -1 : 1);
  if (event.key !== 'Escape') return;
  search.value = '';
  findText();
  canvas.focus();
});
byId('previous').addEventListener('click', () => stepMatch(-1));
byId('next').addEventListener('click', () => stepMatch(1));
byId('unpin').addEventListener('click', () => pin(null));
byId('close').addEventListener('click', () => showRange(null));
byId('numbers').addEventListener('click', KEYS.r);
byId('depth').addEventListener('click', KEYS.d);
byId('in').addEventListener('click', () => view.zoom(.5));
byId('out').addEventListener('click', () => view.zoom(2));
byId('fit').addEventListener('click', () => view.fit(model.range));
byId('all').addEventListener('click', () => view.fit(model.queuedRange));
new ResizeObserver(resize).observe(canvas);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', readColors);
showFacts();
readColors();
resize();
view.fit(model.range);
