// SPDX-License-Identifier: BSL-1.0
//
// As much of a browser as the script of the page needs: elements, events, frames. It runs the script of a written page.
import {Script, createContext} from 'node:vm';

import {RecordingContext} from './support.mjs';

class FakeElement {
  constructor(tag = 'div') {
    Object.assign(this, {tag, textContent: '', children: [], listeners: {}, style: {}, hidden: false, title: '',
                         value: '', className: '', offsetWidth: 200, offsetHeight: 100});
    this.classList = {add: (name) => { this.className = name; }, remove: () => { this.className = ''; }};
  }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  addEventListener(type, listener) { (this.listeners[type] ??= []).push(listener); }
  setPointerCapture() {}
  setAttribute(name, value) { this[name] = value; }
  getBoundingClientRect() { return {width: 1000, height: 500}; }

  /// All text below this element.
  get text() {
    const texts = [this.textContent, ...this.children.map((child) => child.text ?? child)];
    return texts.filter((text) => text !== '').join(' ');
  }
}

/// Returns the text between two marks of a page.
export function between(text, open, close) {
  const from = text.indexOf(open) + open.length, to = text.indexOf(close, from);
  if (from < open.length || to < 0) throw new Error(`the page has no ${open}`);
  return text.slice(from, to);
}

export const scriptOf = (text) => between(text, '<script type="module">', '</script>');
export const styleOf = (text) => between(text, '<style>', '</style>');

/// Runs the script of a page.
export class FakePage {
  constructor(text) {
    const ids = [...text.matchAll(/<(\w+) [^>]*\bid="(\w+)"/g)];
    this.elements = Object.fromEntries(ids.map(([, tag, id]) => [id, new FakeElement(tag)]));
    for (const one of Object.values(this.elements)) one.focus = () => { this.focused = one; };
    for (const id of ['pinned', 'range']) this.elements[id].hidden = true;
    this.context = new RecordingContext();
    this.canvas = this.elements.canvas;
    this.canvas.getContext = () => this.context;
    this.elements.data.textContent = between(text, '<script type="application/json" id="data">', '</script>');
    this.window = new FakeElement('window');
    this.window.devicePixelRatio = 2;
    this.window.matchMedia = () => this.window;
    this.frames = [];
    const page = this;
    class ResizeObserver {
      constructor(resized) { page.resized = resized; }
      observe() {}
    }
    const globals = {
      document: {documentElement: new FakeElement('html'), createElement: (tag) => new FakeElement(tag),
                 getElementById: (id) => this.elements[id] ?? null},
      getComputedStyle: () => ({getPropertyValue: (name) => ` color of ${name.slice(2)}`}),
      requestAnimationFrame: (draw) => this.frames.push(draw), ResizeObserver, window: this.window,
    };
    new Script(`'use strict';${scriptOf(text)}`, {filename: 'page'}).runInContext(createContext(globals));
    this.draw();
  }

  /// Runs the frames that were asked for. Returns how many.
  draw() {
    const frames = this.frames.splice(0);
    frames.forEach((frame) => frame());
    return frames.length;
  }

  /// Lets an event happen, and the frame after it.
  send(target, type, event = {}) {
    let prevented = false;
    const common = {type, button: 0, pointerId: 1, pointerType: 'mouse', preventDefault: () => { prevented = true; }};
    for (const listener of target.listeners[type] ?? []) listener({...common, ...event});
    this.draw();
    return prevented;
  }

  key(key, more = {}) { return this.send(this.window, 'keydown', {key, ...more}); }
  pointer(type, x, y, more = {}) { return this.send(this.canvas, `pointer${type}`, {offsetX: x, offsetY: y, ...more}); }
  click(x, y, more = {}) {
    this.pointer('down', x, y, more);
    this.pointer('up', x, y, more);
  }

  /// Types a text into the search field, in place of what is there.
  search(text) {
    this.elements.search.value = text;
    this.send(this.elements.search, 'input');
  }
  searchKey(key, more = {}) { return this.send(this.elements.search, 'keydown', {key, ...more}); }

  /// What the description next to the pointer says; null if none is shown.
  get tip() { return this.elements.tip.hidden ? null : this.elements.tip.text; }
  /// What the card of the pinned target says, and the one with the numbers of a range; null if it is not shown.
  get pinned() { return this.elements.pinned.hidden ? null : this.elements.pin.text; }
  get numbers() { return this.elements.range.hidden ? null : this.elements.statistics.text; }
  get said() { return this.elements.said.textContent; }

  /// The texts of the last frame.
  frame() {
    this.context.texts.length = 0;
    this.resized();
    return this.context.texts.map(({text}) => text);
  }
}
