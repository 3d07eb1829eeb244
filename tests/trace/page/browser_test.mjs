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
const KEYS = ['n', 'n', 'p', '+', 'ArrowLeft', 'PageDown', 'a', '-', 'Escape', 'PageUp', '0', 'ArrowRight', 'n'];
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
  return Object.fromEntries(['ground', 'panel', 'wait', 'signal', 'queued', 'pending', 'lost-fill'].map((name) => {
    const parts = style.getPropertyValue('--' + name).match(/[0-9a-f]{2}/g);
    const [red, green, blue] = parts.map((part) => parseInt(part, 16));
    return [name, counts.get(blue << 16 | green << 8 | red) ?? 0];
  }));
})()`);

const tip = (page) => page.evaluate(`document.getElementById('tip').checkVisibility() ? tip.innerText : null`);
const said = (page) => page.evaluate(`document.getElementById('said').textContent`);

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

test('waits, signals, gaps and what was queued are seen, and in an empty trace none of them', async () => {
  for (const scheme of ['light', 'dark']) {
    await visit('ordinary', async (page) => {
      await page.prefer(scheme);
      await page.drawn();
      const counts = await countColors(page);
      for (const [name, least] of Object.entries({wait: 20_000, signal: 4_000, 'lost-fill': 2_000, queued: 300,
                                                  pending: 20, ground: 100_000})) {
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

test('with the keyboard alone all buttons and the canvas are reached, and the selection is said', async () => {
  await visit('ordinary', async (page) => {
    const reached = [];
    for (let i = 0; i < 5; ++i) {
      await page.send('Input.dispatchKeyEvent', {type: 'keyDown', key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9});
      reached.push(await page.evaluate('document.activeElement.id'));
    }
    assert.deepEqual(reached, ['out', 'in', 'fit', 'all', 'canvas']);
    assert.notEqual(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`), 'none');
    await page.key('n');
    await page.drawn();
    assert.match(await said(page), /^(?:wait|signal) /);
    assert.match(await tip(page), /^(?:wait|signal) /);
    await shoot(page, 'keyboard');
    await page.key('Escape');
    await page.drawn();
    assert.equal(await tip(page), null);
  });
});

test('names are text: no markup, no script', async () => {
  await visit('hostile_names', async (page) => {
    let text = '';
    for (let i = 0; i < 8; ++i) {
      await page.key('n');
      await page.drawn();
      text += await tip(page);
    }
    for (const name of ['</script><script>window.broken = true</script>', "<img src=x onerror='window.broken = true'>",
                        '<!-- <script> = 1', '\u{1F30A}\uFFFD"\\${}`']) {
      assert.ok(text.includes(name), `${name} is not in ${text}`);
    }
    assert.equal(await page.evaluate(`document.querySelectorAll('script, img').length`), 2);
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
