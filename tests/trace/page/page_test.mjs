// SPDX-License-Identifier: BSL-1.0
//
// The pages that write_trace_pages wrote: what the browser is allowed to run, and what the script does with events.
//
//   page_test.mjs FOLDER
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {FakePage, between, scriptOf, styleOf} from './fake_page.mjs';

const folder = process.argv[2];
const names = readdirSync(folder).filter((name) => name.endsWith('.html')).map((name) => name.slice(0, -5));
const read = (name) => readFileSync(join(folder, `${name}.html`), 'utf8');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const KEYS = ['n', 'n', 'p', '+', 'ArrowLeft', 'PageDown', 'ArrowDown', 'a', '-', 'Escape', 'N', 'PageUp', '0',
              'ArrowRight', 'ArrowUp', '=', 'r', 'Home', 'End', 'd', 'n', '+', 'd', '/'];

/// Returns where the first wait of the first queue is, found as a reader finds it: by moving the pointer.
function findWait(page, y = 90) {
  for (let x = 260; x < 1000; x += 3) {
    page.pointer('move', x, y);
    if (page.tip?.startsWith('wait')) return [x + 6, y];
  }
  throw new Error(`no wait found at the height ${y}`);
}

test('all pages are there', () => {
  assert.deepEqual(names.sort(), ['empty', 'far_apart', 'forty_queues', 'hostile_names', 'lost_only', 'many_commands',
                                  'many_queues', 'named_only', 'one_signal', 'ordinary', 'three_in_flight',
                                  'three_queues', 'without_times']);
});

for (const name of names) {
  test(`${name}: the security policy allows this style and this script, and nothing else`, () => {
    const text = read(name), policy = between(text, 'http-equiv="Content-Security-Policy" content="', '">');
    assert.deepEqual(policy.split(/;\s*/), ["default-src 'none'", `style-src ${hash(styleOf(text))}`,
                                            `script-src ${hash(scriptOf(text))}`]);
    assert.doesNotMatch(text.replace(between(text, 'id="data">', '</script>'), ''), /\sstyle=|\son\w+=/);
  });

  test(`${name}: every key, button, wheel and drag leaves finite numbers and a frame`, () => {
    const page = new FakePage(read(name));
    for (let round = 0; round < 3; ++round) {
      for (const key of KEYS) {
        assert.ok(page.key(key), `${key} is not handled`);
      }
      for (const id of ['in', 'out', 'fit', 'all', 'numbers', 'next', 'previous']) {
        page.send(page.elements[id], 'click');
      }
      for (const deltaY of [-500, 40, 1000]) page.send(page.canvas, 'wheel', {deltaX: 0, deltaY, deltaMode: 0,
                                                                              offsetX: 700, offsetY: 200});
      page.pointer('down', 600, 300);
      for (const x of [590, 400, 100]) page.pointer('move', x, 300 - x / 2);
      page.pointer('up', 100, 250);
      page.click(500, 100);
      page.send(page.canvas, 'dblclick', {offsetX: 500});
    }
    assert.deepEqual(page.context.strayed, []);
    assert.ok(page.frame().length > 0);
  });
}

test('a command under the pointer is described, and no longer when the pointer leaves', () => {
  const page = new FakePage(read('ordinary'));
  assert.equal(page.tip, null);
  const [x, y] = findWait(page);
  assert.match(page.tip, /^wait presented \u2265 0 queue copy queued/);
  page.pointer('move', x, y);
  page.pointer('leave', 0, 0);
  assert.equal(page.tip, null);
  assert.equal(page.said, '');
});

test('a click pins, and what is pinned stays described until Escape, its button or a click beside it', () => {
  const page = new FakePage(read('ordinary')), [x, y] = findWait(page);
  const unpin = () => page.send(page.elements.unpin, 'click');
  assert.equal(page.pinned, null);
  for (const clear of [() => page.key('Escape'), unpin, () => page.click(x, 480)]) {
    page.click(x, y);
    page.pointer('leave', 0, 0);
    assert.match(page.pinned, /^wait presented/);
    assert.match(page.said, /^wait presented \u2265 0\. queue: copy\. queued: /);
    clear();
    assert.equal(page.pinned, null);
    assert.equal(page.said, 'Nothing is pinned.');
  }
});

test('what is pinned stays while something else is under the pointer', () => {
  const page = new FakePage(read('ordinary')), [x, y] = findWait(page);
  page.click(x, y);
  assert.equal(page.tip, null); // it is described at the side already
  const {pinned} = page, [otherX, otherY] = findWait(page, 320);
  page.pointer('move', otherX, otherY);
  assert.match(page.tip, /^wait blurred \u2265 1/);
  assert.equal(page.pinned, pinned);
  assert.match(pinned, /^wait presented/);
});

test('a drag moves the view and pins nothing', () => {
  const page = new FakePage(read('ordinary')), [x, y] = findWait(page);
  page.pointer('leave', 0, 0);
  const before = page.frame().join();
  page.pointer('down', x, y);
  page.pointer('move', x - 200, y);
  page.pointer('up', x - 200, y);
  assert.equal(page.said, '');
  assert.notEqual(page.frame().join(), before);
  page.key('0');
  page.pointer('leave', 0, 0);
  assert.equal(page.frame().join(), before);
});

test('a finger pins by a tap and does not hover', () => {
  const page = new FakePage(read('ordinary')), [x, y] = findWait(page), touch = {pointerType: 'touch'};
  page.pointer('leave', 0, 0);
  const before = page.frame().join();
  page.pointer('move', x, y, touch);
  assert.equal(page.tip, null);
  assert.equal(page.frame().join(), before);
  page.click(x, y, touch);
  assert.match(page.pinned, /^wait/);
});

test('n and p go through all commands in time, stop at both ends, and say each', () => {
  const page = new FakePage(read('ordinary')), seen = [];
  for (let previous = null; page.said !== previous;) {
    previous = page.said;
    page.key('n');
    seen.push(page.said);
  }
  assert.ok(new Set(seen).size >= 60);
  assert.notEqual(page.pinned, null);
  const last = page.said;
  page.key('p');
  assert.notEqual(page.said, last);
  page.key('n');
  assert.equal(page.said, last);
});

test('what is pinned stays described when it is moved out of view', () => {
  const page = new FakePage(read('ordinary'));
  page.key('n');
  const {pinned} = page;
  assert.notEqual(pinned, null);
  for (let i = 0; i < 30; ++i) page.key('ArrowRight');
  assert.equal(page.pinned, pinned);
});

test('a search counts what matches, marks it, and steps through it in time, round and round', () => {
  const page = new FakePage(read('three_queues')), {found} = page.elements;
  const marks = () => {
    page.context.calls.strokeRect = 0;
    page.frame();
    return page.context.calls.strokeRect;
  };
  assert.equal(marks(), 0);
  page.search('blurred wait');
  assert.equal(found.text, '16 matches');
  assert.equal(marks(), 16);
  page.searchKey('Enter');
  assert.match(page.pinned, /^wait blurred \u2265 1 queue present/);
  assert.equal(found.text, '1 of 16 matches');
  page.searchKey('Enter');
  assert.match(page.pinned, /^wait blurred \u2265 2/);
  page.send(page.elements.previous, 'click');
  page.searchKey('Enter', {shiftKey: true});
  assert.match(page.pinned, /^wait blurred \u2265 16/);
  page.send(page.elements.next, 'click');
  assert.match(page.pinned, /^wait blurred \u2265 1 /);
  page.search('blur y');
  page.searchKey('Enter');
  assert.match(page.pinned, /^blur y queue blur engine compute began/);
  page.search('nothing of this name');
  assert.equal(found.text, '0 matches');
  const {pinned} = page;
  page.searchKey('Enter');
  assert.equal(page.pinned, pinned);
  page.searchKey('Escape');
  assert.deepEqual([found.text, page.elements.search.value, marks()], ['', '', 0]);
});

test('keys that are typed into the search field do nothing else, and / goes there', () => {
  const page = new FakePage(read('three_queues')), before = page.frame().join(), target = page.elements.search;
  for (const key of ['n', '0', '+', 'a', 'ArrowLeft', 'Home']) assert.ok(!page.key(key, {target}), key);
  assert.equal(page.frame().join(), before);
  assert.equal(page.pinned, null);
  assert.ok(page.key('/'));
  assert.equal(page.focused, target);
});

test('Shift and drag gives numbers of a range, r those of what is in view, and Escape takes them away', () => {
  const page = new FakePage(read('three_queues')), before = page.frame().join();
  assert.equal(page.numbers, null);
  page.pointer('down', 300, 120, {shiftKey: true});
  page.pointer('move', 500, 120, {shiftKey: true});
  assert.notEqual(page.numbers, null);
  assert.equal(page.said, '');
  page.pointer('up', 500, 120);
  assert.match(page.said, /copy engine: upload, working: /);
  page.pointer('leave', 0, 0);
  const some = page.numbers;
  assert.match(some, /queue working parked signals mean wait greatest wait mean depth greatest depth present /);
  assert.match(some, / copy engine: upload /);
  assert.equal(page.pinned, null);
  assert.equal(page.frame().join(), before);
  page.key('r');
  assert.match(page.numbers, / 16 .* 16 .* 16 /);
  assert.notEqual(page.numbers, some);
  assert.match(page.said, /compute: blur, working: /);
  page.key('Escape');
  assert.equal(page.numbers, null);
  page.send(page.elements.numbers, 'click');
  assert.notEqual(page.numbers, null);
  page.send(page.elements.close, 'click');
  assert.equal(page.numbers, null);
});

test('40 queues scroll by the bar, by a wheel over their names, and by keys', () => {
  const page = new FakePage(read('forty_queues'));
  const first = () => page.frame().find((text) => /^stage \d+$/.test(text));
  const last = () => page.frame().findLast((text) => /^stage \d+$/.test(text));
  assert.equal(first(), 'stage 0');
  page.key('End');
  assert.equal(last(), 'stage 39');
  page.key('Home');
  assert.equal(first(), 'stage 0');
  page.pointer('down', 995, 40);
  page.pointer('move', 995, 60);
  page.pointer('move', 995, 600);
  page.pointer('up', 995, 600);
  assert.equal(last(), 'stage 39');
  assert.equal(page.pinned, null);
  page.send(page.canvas, 'wheel', {deltaX: 0, deltaY: -1e6, deltaMode: 0, offsetX: 50, offsetY: 200});
  assert.equal(first(), 'stage 0');
  page.pointer('down', 995, 480); // beside the part that moves: it comes to the pointer
  page.pointer('up', 995, 480);
  assert.equal(last(), 'stage 39');
});

test('the buttons zoom in and out, and fit as the keys do', () => {
  const page = new FakePage(read('ordinary'));
  const after = (act) => {
    page.key('0');
    page.key('+');
    page.key('ArrowRight');
    act();
    return page.frame().join();
  };
  const unchanged = after(() => {});
  const click = (id) => page.send(page.elements[id], 'click');
  for (const id of ['in', 'out', 'fit', 'all']) assert.notEqual(after(() => click(id)), unchanged, id);
  assert.equal(after(() => click('fit')), after(() => page.key('0')));
  assert.equal(after(() => click('all')), after(() => page.key('a')));
  assert.equal(after(() => { click('in'); click('out'); }), unchanged);
});

test('[A131] d and its button show what is in flight, where a click pins a command, and take it back', () => {
  const page = new FakePage(read('three_in_flight'));
  page.key('a');
  const before = page.frame().join();
  page.key('d');
  assert.notEqual(page.frame().join(), before);
  assert.equal(page.elements.depth['aria-pressed'], 'true');
  assert.ok(page.frame().some((text) => /^up to 3/.test(text)));
  for (let x = 300; x < 900 && page.pinned === null; x += 10) page.click(x, 140);
  assert.match(page.pinned, /^signal copied = .* in flight then [123] command/);
  page.send(page.elements.unpin, 'click');
  page.pointer('leave', 0, 0);
  page.send(page.elements.depth, 'click');
  assert.equal(page.elements.depth['aria-pressed'], 'false');
  assert.equal(page.frame().join(), before);
});

test('keys of the browser are left to it', () => {
  const page = new FakePage(read('ordinary')), before = page.frame().join();
  assert.ok(!page.key('Tab'));
  assert.ok(!page.key('+', {ctrlKey: true}));
  assert.ok(!page.key('ArrowLeft', {altKey: true}));
  assert.ok(!page.key('x'));
  assert.equal(page.frame().join(), before);
});

test('the header says how much there is and what is wrong', () => {
  const page = new FakePage(read('ordinary'));
  assert.match(page.elements.facts.text, /3 queues .* 73 commands .* 6 log entries lost in 2 gaps/);
  assert.match(page.elements.facts.text, /1 time stamp went backward/);
  assert.match(new FakePage(read('without_times')).elements.facts.text, /2 commands without a time not shown/);
});

test('many changes before a frame make one frame', () => {
  const page = new FakePage(read('ordinary'));
  for (let i = 0; i < 5; ++i) {
    for (const listener of page.window.listeners.keydown) listener({key: '+', preventDefault() {}});
  }
  assert.equal(page.draw(), 1);
});

test('a canvas on a screen of high density has as many pixels as the screen', () => {
  const page = new FakePage(read('ordinary'));
  assert.deepEqual([page.canvas.width, page.canvas.height], [2000, 1000]);
});
