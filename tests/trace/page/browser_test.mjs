// SPDX-License-Identifier: BSL-1.0
//
// The pages that write_trace_pages wrote, in headless Chromium: whatever a reader does, nothing is on the console; and
// what only a browser can tell: layout, colors, focus, time.
//
//   browser_test.mjs FOLDER BROWSER [FOLDER_FOR_SCREENSHOTS]
import assert from 'node:assert/strict';
import {mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';

import {Browser} from './browser.mjs';

const [folder, program, shots] = process.argv.slice(2);
const names = readdirSync(folder).filter((name) => name.endsWith('.html')).map((name) => name.slice(0, -5));
const KEYS = ['n', 'n', 'p', '+', 'ArrowLeft', 'PageDown', 'd', 'a', '-', 'n', 'r', 'Escape', 'd', 'PageUp', '0',
              'ArrowRight', 'n', 'd', 'End', 'r', 'd'];
let browser;

before(async () => { browser = await Browser.start(program); });
after(() => browser?.close());
if (shots) mkdirSync(shots, {recursive: true});

/// Opens a page, calls visit(page), and fails if the console got anything.
async function visit(name, act) {
  const page = await browser.open(join(folder, `${name}.html`));
  try {
    await act(page);
    await page.drawn();
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.close();
  }
}

async function shoot(page, name) {
  if (shots) writeFileSync(join(shots, `${name}.png`), await page.screenshot());
}

/// Returns the rectangles of elements: {left, top, right, bottom}.
const boxes = (page, selector) => page.evaluate(`[...document.querySelectorAll('${selector}')].map((one) => {
  const {left, top, right, bottom} = one.getBoundingClientRect();
  return {left, top, right, bottom};
})`);

/// Returns how many pixels of the canvas have each color of the style sheet, by name.
const countColors = (page) => page.evaluate(`(() => {
  const {width, height} = canvas, copy = Object.assign(document.createElement('canvas'), {width, height});
  const context = copy.getContext('2d', {willReadFrequently: true}), style = getComputedStyle(document.documentElement);
  context.drawImage(canvas, 0, 0);
  const counts = new Map(), pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  for (const pixel of pixels) counts.set(pixel & 0xffffff, (counts.get(pixel & 0xffffff) ?? 0) + 1);
  return Object.fromEntries(['ground', 'panel', 'wait', 'work', 'signal', 'queued', 'pending',
                              'lost-fill', 'match'].map((name) => {
    const parts = style.getPropertyValue('--' + name).match(/[0-9a-f]{2}/g);
    const [red, green, blue] = parts.map((part) => parseInt(part, 16));
    return [name, counts.get(blue << 16 | green << 8 | red) ?? 0];
  }));
})()`);

/// Returns the text of an element; null if it is not shown.
const shown = (page, id) =>
  page.evaluate(`((one) => one.checkVisibility() ? one.innerText : null)(document.getElementById('${id}'))`);
const tip = (page) => shown(page, 'tip');
const said = (page) => page.evaluate(`document.getElementById('said').textContent`);

/// Types a text into the search field, in place of what is there.
async function search(page, text) {
  await page.key('/');
  await page.evaluate(`document.getElementById('search').select()`);
  await page.send('Input.insertText', {text});
  await page.drawn();
}

async function wheel(page, x, y, deltaY) {
  await page.mouse('mouseMoved', x, y);
  await page.mouse('mouseWheel', x, y, {deltaX: 0, deltaY});
}

/// Presses the button at the first point, moves to the second, and releases it.
async function drag(page, [x0, y0], [x1, y1], modifiers = 0) {
  await page.mouse('mouseMoved', x0, y0, {modifiers});
  await page.mouse('mousePressed', x0, y0, {button: 'left', buttons: 1, clickCount: 1, modifiers});
  await page.mouse('mouseMoved', (x0 + x1) / 2, (y0 + y1) / 2, {button: 'left', buttons: 1, modifiers});
  await page.mouse('mouseMoved', x1, y1, {button: 'left', buttons: 1, modifiers});
  await page.mouse('mouseReleased', x1, y1, {button: 'left', clickCount: 1, modifiers});
  await page.drawn();
}

/// Keeps what the canvas shows, and returns which of the pictures that were kept before looks the same; the number of
/// the new one if none does. The pointer must be elsewhere. Two frames may differ by a step of a color at the edge of a
/// text.
const keep = (page) => page.evaluate(`(() => {
  const {width, height} = canvas, copy = Object.assign(document.createElement('canvas'), {width, height});
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const picture = context.getImageData(0, 0, width, height).data;
  window.pictures ??= [];
  const same = (other) => other.length === picture.length && other.every((part, i) => Math.abs(part - picture[i]) < 8);
  const found = window.pictures.findIndex(same);
  return found < 0 ? window.pictures.push(picture) - 1 : found;
})()`);

for (const name of names) {
  test(`${name}: nothing on the console, in both schemes, by mouse and by keys, in windows of all sizes`, async () => {
    await visit(name, async (page) => {
      await shoot(page, name);
      for (const [scheme, width, height] of [['light', 1280, 720], ['dark', 500, 400], ['light', 300, 200]]) {
        await page.prefer(scheme);
        await page.resize(width, height);
        await page.drawn();
        for (const key of KEYS) await page.key(key);
        await page.drawn();
        for (const deltaY of [-300, 800]) await page.mouse('mouseWheel', width - 60, 120, {deltaX: 0, deltaY});
        await page.click(width / 2, 130);
        await page.drawn();
        await page.mouse('mousePressed', width / 2, 130, {button: 'left', buttons: 1, clickCount: 1});
        await page.mouse('mouseMoved', width / 2 - 70, 100, {button: 'left', buttons: 1});
        await page.mouse('mouseReleased', width / 2 - 70, 100, {button: 'left', clickCount: 1});
        await page.drawn();
        await shoot(page, `${name}-${width}-${scheme}`);
      }
      assert.equal(await page.evaluate('window.broken'), undefined);
    });
  });
}

test('waits, work, signals, gaps and what was queued are seen, and in an empty trace none of them', async () => {
  for (const scheme of ['light', 'dark']) {
    await visit('ordinary', async (page) => {
      await page.prefer(scheme);
      await page.drawn();
      const counts = await countColors(page);
      for (const [name, least] of Object.entries({wait: 20_000, work: 2_000, signal: 4_000, 'lost-fill': 2_000,
                                                  queued: 300, pending: 20, ground: 100_000})) {
        assert.ok(counts[name] >= least, `${counts[name]} pixels of ${name} in the ${scheme} scheme`);
      }
    });
    await visit('empty', async (page) => {
      await page.prefer(scheme);
      await page.drawn();
      const {ground, panel, ...others} = await countColors(page);
      assert.ok(ground > 100_000 && panel > 10_000);
      assert.deepEqual(new Set(Object.values(others)), new Set([0]));
    });
  }
});

test('the dark scheme makes the canvas and the page dark, at once', async () => {
  await visit('ordinary', async (page) => {
    const look = async (scheme) => {
      await page.prefer(scheme);
      await page.drawn();
      return page.evaluate(`(() => {
        const copy = document.createElement('canvas').getContext('2d');
        copy.drawImage(canvas, canvas.width - 3, canvas.height - 3, 1, 1, 0, 0, 1, 1);
        return [...copy.getImageData(0, 0, 1, 1).data, getComputedStyle(document.body).backgroundColor].join(' ');
      })()`);
    };
    assert.equal(await look('light'), '255 255 255 255 rgb(255, 255, 255)');
    assert.equal(await look('dark'), '20 22 27 255 rgb(20, 22, 27)');
    assert.equal(await look('light'), '255 255 255 255 rgb(255, 255, 255)');
  });
});

test('buttons, facts and legend never overlap, and nothing is wider than the window', async () => {
  for (const [width, height] of [[1600, 900], [1280, 720], [800, 600], [420, 700], [320, 480]]) {
    await visit('ordinary', async (page) => {
      await page.resize(width, height);
      await page.drawn();
      const found = [...await boxes(page, 'h1, #facts, button'), ...await boxes(page, '.legend > span')];
      found.forEach((a, i) => found.slice(i + 1).forEach((b) => {
        const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        assert.ok(apart, `${JSON.stringify(a)} overlaps ${JSON.stringify(b)} at ${width} x ${height}`);
      }));
      for (const {left, right} of found) assert.ok(left >= 0 && right <= width);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
      assert.equal(await page.evaluate('document.documentElement.scrollHeight'), height);
      const [{top, bottom}] = await boxes(page, 'canvas');
      assert.ok(bottom - top >= 150, `the canvas is ${bottom - top} high at ${width} x ${height}`);
    });
  }
});

test('the description stays within the canvas, wherever the pointer is', async () => {
  await visit('hostile_names', async (page) => {
    const [{left, top, right, bottom}] = await boxes(page, 'canvas');
    let seen = 0;
    for (const x of [left + 270, 600, 900, right - 12]) {
      for (const y of [top + 90, top + 200, top + 290, bottom - 250]) {
        await page.mouse('mouseMoved', x, y);
        await page.drawn();
        if (await tip(page) === null) continue;
        ++seen;
        const [box] = await boxes(page, '#tip');
        const inside = box.left >= left && box.top >= top && box.right <= right && box.bottom <= bottom;
        assert.ok(inside, JSON.stringify(box));
      }
    }
    assert.ok(seen >= 4, `${seen} descriptions seen`);
  });
});

test('[A131] the button In flight and the key d show each command from queued to end, and go back', async () => {
  await visit('three_in_flight', async (page) => {
    const pressed = () => page.evaluate(`document.getElementById('depth').getAttribute('aria-pressed')`);
    const usual = await keep(page);
    assert.equal(await pressed(), 'false');
    const [{left, top}] = await boxes(page, '#depth');
    await page.click(left + 5, top + 5);
    await page.drawn();
    assert.equal(await pressed(), 'true');
    assert.notEqual(await keep(page), usual);
    await shoot(page, 'in-flight');
    await page.key('d');
    await page.drawn();
    assert.equal(await pressed(), 'false');
    assert.equal(await keep(page), usual);
  });
});

test('with the keyboard alone all buttons and the canvas are reached, and what is pinned is said', async () => {
  await visit('ordinary', async (page) => {
    const wanted = ['search', 'previous', 'next', 'numbers', 'depth', 'out', 'in', 'fit', 'all', 'canvas'];
    const reached = [];
    for (let i = 0; i < wanted.length; ++i) {
      await page.send('Input.dispatchKeyEvent', {type: 'keyDown', key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9});
      reached.push(await page.evaluate('document.activeElement.id'));
    }
    assert.deepEqual(reached, wanted);
    assert.notEqual(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`), 'none');
    await page.key('n');
    await page.drawn();
    assert.match(await said(page), /^(?:wait|signal) /);
    assert.match(await shown(page, 'pin'), /^(?:wait|signal) /);
    await shoot(page, 'keyboard');
    await page.key('Escape');
    await page.drawn();
    assert.equal(await shown(page, 'pin'), null);
  });
});

for (const [name, queues, wanted, below] of [['three_queues', 3, 'blurred 7', 90],
                                             ['forty_queues', 40, 'signal graphics 7', 157]]) {
  test(`${name}: a search marks what it finds, and goes from one match to the next`, async () => {
    await visit(name, async (page) => {
      assert.equal((await countColors(page)).match, 0);
      await search(page, wanted);
      assert.match(await shown(page, 'found'), /^[1-9]\d* match/);
      const {match} = await countColors(page);
      assert.ok(match >= 60, `${match} pixels of match`);
      await page.key('Enter');
      await page.drawn();
      const first = await shown(page, 'pin');
      assert.match(first, /^(?:wait|signal) (?:blurred|stage \d+ done) [=\u2265] 7\n/);
      await shoot(page, `${name}-search`);
      await page.key('Enter');
      await page.drawn();
      assert.notEqual(await shown(page, 'pin'), first);
      await page.key('Escape');
      await page.drawn();
      assert.equal(await page.evaluate(`document.activeElement.id`), 'canvas');
      assert.equal((await countColors(page)).match, 0);
    });
  });

  test(`${name}: a search for an engine finds what its queues did, and nothing else`, async () => {
    await visit(name, async (page) => {
      await search(page, 'compute');
      const found = Number.parseInt(await shown(page, 'found'), 10);
      await search(page, '');
      await search(page, 'engine that is not there');
      assert.equal(await shown(page, 'found'), '0 matches');
      await search(page, 'compute');
      const pinned = new Set();
      for (let i = 0; i < 5; ++i) {
        await page.key('Enter');
        await page.drawn();
        pinned.add(await shown(page, 'pin'));
      }
      assert.ok(found >= 5 && pinned.size === 5, `${found} matches, ${pinned.size} pinned`);
      for (const text of pinned) assert.match(text, /engine\s+compute/);
      await shoot(page, `${name}-engine`);
    });
  });

  test(`${name}: what is pinned stays described while others are hovered`, async () => {
    await visit(name, async (page) => {
      const [{left, top, right}] = await boxes(page, 'canvas'), y = top + below;
      const found = [];
      for (let x = left + 200; x < right - 20 && found.length < 2; x += 4) {
        await page.mouse('mouseMoved', x, y);
        await page.drawn();
        const text = await tip(page);
        if (!text || text === found[0]) continue;
        if (found.push(text) === 1) await page.click(x, y);
      }
      assert.equal(found.length, 2);
      await page.drawn();
      assert.deepEqual([await shown(page, 'pin'), await tip(page)], found);
      await shoot(page, `${name}-pinned`);
      const [close] = await boxes(page, '#unpin');
      await page.click((close.left + close.right) / 2, (close.top + close.bottom) / 2);
      await page.drawn();
      assert.equal(await shown(page, 'pin'), null);
    });
  });

  test(`${name}: keys and wheel zoom, and fit goes back`, async () => {
    await visit(name, async (page) => {
      assert.equal(await keep(page), 0);
      await page.key('+');
      await page.drawn();
      assert.equal(await keep(page), 1);
      await wheel(page, 600, 300, -400);
      await page.mouse('mouseMoved', 600, 700);
      await page.drawn();
      assert.equal(await keep(page), 2);
      await page.key('0');
      await page.drawn();
      assert.equal(await keep(page), 0);
    });
  });

  test(`${name}: the lanes scroll if there are more than fit`, async () => {
    await visit(name, async (page) => {
      const [{left, top, right, bottom}] = await boxes(page, 'canvas'), away = () => page.mouse('mouseMoved', 600, 710);
      const seen = [await keep(page)];
      const look = async () => {
        await away();
        await page.drawn();
        seen.push(await keep(page));
      };
      await drag(page, [right - 6, top + 50], [right - 6, bottom + 200]);
      await look();
      await shoot(page, `${name}-bottom`);
      await wheel(page, left + 40, top + 200, -300);
      await look();
      await page.key('End');
      await look();
      await page.key('Home');
      await look();
      if (queues > 3) assert.deepEqual(seen, [0, 1, 2, 1, 0]);
    });
  });

  test(`${name}: Shift and drag gives numbers for each queue`, async () => {
    await visit(name, async (page) => {
      await drag(page, [420, 200], [760, 230], 8);
      const rows = await page.evaluate(`document.querySelectorAll('#statistics tr').length`);
      assert.equal(rows, queues + 1);
      assert.match(await shown(page, 'statistics'), /working\s+parked\s+signals\s+mean wait\s+greatest wait/);
      await shoot(page, `${name}-numbers`);
      const [main] = await boxes(page, 'canvas'), [card] = await boxes(page, '#range');
      assert.ok(card.left >= main.left && card.right <= main.right);
      assert.ok(card.top >= main.top && card.bottom <= main.bottom);
      await page.key('Escape');
      await page.drawn();
      assert.equal(await shown(page, 'statistics'), null);
    });
  });
}

test('names are text: no markup, no script', async () => {
  await visit('hostile_names', async (page) => {
    let text = '';
    for (let i = 0; i < 8; ++i) {
      await page.key('n');
      await page.drawn();
      text += await shown(page, 'pin');
    }
    await search(page, 'work engine');
    await page.key('Enter');
    await page.drawn();
    text += await shown(page, 'pin');
    for (const name of ['<b>engine</b>', '<script>work</script>', '</script><script>window.broken = true</script>',
                        "<img src=x onerror='window.broken = true'>", '<!-- <script> = 1', '\u{1F30A}\uFFFD"\\${}`']) {
      assert.ok(text.includes(name), `${name} is not in ${text}`);
    }
    assert.equal(await page.evaluate(`document.querySelectorAll('script, img, main b').length`), 2);
    assert.equal(await page.evaluate('window.broken'), undefined);
  });
});

test('the security policy refuses every other script', async () => {
  const page = await browser.open(join(folder, 'ordinary.html'));
  await page.evaluate(`(() => {
    const script = document.createElement('script');
    script.text = 'window.broken = 1';
    document.body.append(script);
  })()`);
  await page.drawn();
  assert.equal(await page.evaluate('window.broken'), undefined);
  assert.match(page.complaints.join(), /Content Security Policy/);
  await page.close();
});

test('of 100,000 commands most frames are drawn in less than half a second', async () => {
  await visit('many_commands', async (page) => {
    const times = [];
    for (const key of ['0', '+', '+', '+', '+', '+', '+', '+', '+', 'a']) {
      await page.key(key);
      await page.drawn();
      times.push(await page.evaluate(`(() => {
        const copy = document.createElement('canvas').getContext('2d');
        window.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
        return new Promise((done) => {
          let start = 0;
          requestAnimationFrame((begun) => { start = begun; });
          requestAnimationFrame(() => {
            copy.drawImage(canvas, 0, 0);
            copy.getImageData(0, 0, 1, 1);
            done(performance.now() - start);
          });
        });
      })()`));
    }
    times.sort((a, b) => a - b);
    assert.ok(times[times.length >> 1] < 500, `${times.map(Math.round)} ms`);
  });
});
