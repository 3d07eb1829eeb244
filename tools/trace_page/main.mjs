// SPDX-License-Identifier: BSL-1.0
//
// The page itself: reads the data, listens to mouse, touch and keys, and keeps canvas and description up to date.

import {LANE, makeModel, whenShown} from './model.mjs';
import {describeCommand, describeLoss, describeTrace} from './describe.mjs';
import {View} from './view.mjs';
import {COLORS, drawFrame} from './draw.mjs';
import {gutterFor} from './frame.mjs';

const byId = (id) => document.getElementById(id);
const canvas = byId('canvas'), context = canvas.getContext('2d'), tip = byId('tip');
const model = makeModel(JSON.parse(byId('data').textContent));

/// What is under the pointer, and what was chosen by a click or a key: {command} or {loss}, or null.
const state = {hovered: null, selected: null, pointer: null, colors: {}, frame: 0};

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
  const focus = new Set();
  for (const target of [state.selected, state.hovered]) {
    if (target && target.command !== undefined) focus.add(target.command);
  }
  drawFrame({context, view, model, colors: state.colors, focus, pointer: state.pointer});
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

const describe = (target) =>
  target.loss === undefined ? describeCommand(model, target.command) : describeLoss(model, target.loss);

/// Returns where the description of the selection belongs, or null if the selection is not in view.
function anchorOf({command, loss}) {
  const {lane, time} = loss === undefined
    ? {lane: model.commands[command][LANE], time: whenShown(model.commands[command])}
    : {lane: model.losses[loss].lane, time: model.losses[loss].before ?? model.losses[loss].after ?? model.range.from};
  return view.holds(time, lane) ? {x: view.toX(time), y: view.boxBottom(lane)} : null;
}

function showTip() {
  const target = state.hovered ?? state.selected;
  const anchor = state.hovered ? state.pointer : target && anchorOf(target);
  tip.hidden = !anchor;
  if (!anchor) return;
  if (tip.target !== target) fillTip(target);
  const {offsetWidth: width, offsetHeight: height} = tip, {x, y} = anchor;
  const left = x + 16 + width > view.width ? x - 16 - width : x + 16;
  const top = y + 14 + height > view.height ? y - 14 - height : y + 14;
  tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}

function fillTip(target) {
  const {title, rows, notes} = describe(target), list = document.createElement('dl');
  for (const [name, text] of rows) list.append(element('dt', name), element('dd', text));
  tip.replaceChildren(element('h2', title), list, ...notes.map((note) => element('p', note)));
  tip.target = target;
}

// ---- hovering and selecting ----

const isSame = (a, b) => a?.command === b?.command && a?.loss === b?.loss;

function hover(found) {
  if (!isSame(found, state.hovered)) state.hovered = found;
  redraw();
}

function select(found) {
  state.selected = found;
  const {title, rows, notes} = found ? describe(found) : {title: 'Nothing is selected.', rows: [], notes: []};
  byId('said').textContent = [title, ...rows.map((row) => row.join(': ')), ...notes].join('. ');
  redraw();
}

/// Selects the next command in time, or the previous one; the first one in view if none is selected.
function step(direction) {
  const {walk, commands} = model;
  if (walk.length === 0) return;
  const at = state.selected ? walk.indexOf(state.selected.command) : -1;
  const inView = () => walk.findIndex((index) => whenShown(commands[index]) >= view.from);
  const next = at < 0 ? inView() : at + direction;
  const index = walk[Math.min(Math.max(next, 0), walk.length - 1)];
  view.reveal(whenShown(commands[index]), commands[index][LANE]);
  state.hovered = state.pointer = null;
  select({command: index});
}

function clear() {
  state.hovered = null;
  select(null);
}

/// Shows a name that the gutter had to cut.
function nameUnder(x, y) {
  const lane = x < view.gutter ? model.lanes[view.laneAt(y)] : undefined;
  canvas.title = lane ? lane.name : '';
}

// ---- mouse and touch ----

let drag = null;

function release(event) {
  const clicked = drag && !drag.moved && event.type === 'pointerup';
  drag = null;
  canvas.classList.remove('dragging');
  if (clicked) select(view.pick(event.offsetX, event.offsetY));
}

canvas.addEventListener('pointerdown', (event) => {
  if (event.button !== 0 || drag) return;
  drag = {x: event.offsetX, y: event.offsetY, id: event.pointerId, moved: false};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', (event) => {
  const {offsetX: x, offsetY: y} = event;
  if (event.pointerType !== 'touch') state.pointer = {x, y};
  if (drag && event.pointerId === drag.id) {
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    canvas.classList.add('dragging');
    view.pan((drag.x - x) / view.plotWidth);
    view.scroll(drag.y - y);
    Object.assign(drag, {x, y, moved: true});
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
canvas.addEventListener('dblclick', (event) => view.zoom(.25, event.offsetX));
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const {deltaX, deltaY, offsetX: x, offsetY: y} = event, scale = [1, 16, 400][event.deltaMode];
  if (event.shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) {
    view.pan((deltaX || deltaY) * scale / view.plotWidth);
  } else {
    const turned = Math.max(-240, Math.min(240, deltaY * scale));
    view.zoom(Math.exp(turned * (event.ctrlKey ? .01 : .002)), x);
  }
  state.pointer = {x, y};
  hover(view.pick(x, y));
}, {passive: false});

// ---- keys and buttons ----

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
  n: () => step(1),
  p: () => step(-1),
  escape: clear,
};
window.addEventListener('keydown', (event) => {
  const act = KEYS[event.key.toLowerCase()];
  if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  act(event);
});
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
