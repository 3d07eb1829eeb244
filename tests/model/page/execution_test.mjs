// SPDX-License-Identifier: BSL-1.0
//
// The pages of executions that written_test.mjs has written, in headless Chromium.
//
//   execution_test.mjs FOLDER BROWSER [FOLDER_FOR_SCREENSHOTS]
import assert from 'node:assert/strict';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';

import {Browser} from '../../trace/page/browser.mjs';
import {click, count, inSight, leastContrast, overlaps, press, textOf, dataOf, texts, visit} from './support.mjs';

const [folder, program, shots] = process.argv.slice(2);
let browser;

before(async () => { browser = await Browser.start(program); });
after(() => browser?.close());
if (shots) mkdirSync(shots, {recursive: true});

const pathOf = (name) => join(folder, `${name}.html`);
const look = (name, act) => visit(browser, pathOf(name), act);
const shoot = async (page, name) => {
  if (shots) writeFileSync(join(shots, `${name}.png`), await page.screenshot());
};
const row = (number) => `#steps tbody tr:nth-child(${number})`;
const current = (page) => page.evaluate(`[...document.querySelectorAll('#steps tbody tr')]
  .findIndex((one) => one.classList.contains('current')) + 1`);
const lineShown = async (page) => (await texts(page, '.source .line.current'))[0];

for (const name of ['race', 'old', 'asleep', 'hostile', 'livelock']) {
  for (const scheme of ['light', 'dark']) {
    test(`${name}, ${scheme}: the console is silent, all steps are there, and all texts can be read`, async () => {
      const data = dataOf(textOf(pathOf(name)));
      await look(name, async (page) => {
        await page.prefer(scheme);
        for (const [width, height] of [[1400, 800], [700, 700], [320, 480]]) {
          await page.resize(width, height);
          await page.drawn();
          assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
          assert.equal(await page.evaluate('document.documentElement.scrollHeight'), height);
          assert.equal(await count(page, '#steps tbody tr'), data.rows.length + (data.assertion ? 1 : 0));
          assert.equal(await count(page, '#steps thead th'), 1 + data.threads);
          assert.ok(await inSight(page, '#steps tr.current', '#scroll'), `the step, ${width} x ${height}`);
          assert.ok(await inSight(page, '.line.current', '.lines'), `the line, ${width} x ${height}`);
          const apart = await overlaps(page, ['header', '#scroll', '.file', '.lines']);
          assert.deepEqual(apart, [], `${width} x ${height}`);
          await shoot(page, `${name}-${width}-${scheme}`);
        }
        await page.resize(1400, 800);
        await press(page, 'Home', 'n', 'n', 'f', 's', 'p', 'End', 'x');
        const [least, where] = await leastContrast(page);
        assert.ok(least >= 4.5, `${least} of ${where}`);
      });
    });
  }
}

test('a click on a read marks the store that it reads, in the table and in the source', async () => {
  await look('race', async (page) => {
    assert.equal(await current(page), 6); // where it has gone wrong
    assert.deepEqual(await texts(page, '#steps .badge.race'), ['RACE', 'RACE']);
    await click(page, row(5));
    assert.equal(await current(page), 5);
    assert.deepEqual(await texts(page, '#steps tr.origin .text'), ['second = 1 (relaxed)']);
    assert.match(await lineShown(page), /second\.load\(memory_order_acquire\)/);
    assert.match((await texts(page, '.source .line.origin'))[0], /second\.store\(1, memory_order_relaxed\)/);
    assert.equal(await count(page, '#arrows path'), 2);
    await shoot(page, 'store');
    await click(page, `${row(5)} button`);
    assert.equal(await current(page), 4);
    assert.deepEqual(await texts(page, '#steps tr.reader .text'), ['second -> 1 (acquire)']);
    assert.equal(await count(page, '#arrows path'), 0);
  });
});

test('the pointer over a read marks the store as long as it is there', async () => {
  await look('race', async (page) => {
    const {x, y} = await page.evaluate(`(({left, top}) => ({x: left + 9, y: top + 9}))(
      document.querySelector('${row(3)}').getBoundingClientRect())`);
    await page.mouse('mouseMoved', x, y);
    await page.drawn();
    assert.deepEqual(await texts(page, '#steps tr.origin .text'), ['first = 1 (release)']);
    assert.equal(await current(page), 6);
    await page.mouse('mouseMoved', x, 5);
    await page.drawn();
    assert.equal(await count(page, '#steps tr.origin'), 0);
  });
});

test('a read of an old value is marked, and the newest store is one click away', async () => {
  await look('old', async (page) => {
    assert.deepEqual(await texts(page, '#steps .badge.old'), ['OLD']);
    await click(page, row(6));
    assert.deepEqual(await texts(page, '#steps tr.newest .text'), ['flags[index] = 1 (release)']);
    await click(page, `${row(6)} button`);
    assert.equal(await current(page), 2);
  });
});

test('with the keyboard alone all steps are reached, and said', async () => {
  await look('race', async (page) => {
    const said = () => page.evaluate(`document.getElementById('said').textContent`);
    await press(page, 'Home');
    assert.equal(await said(), 'row 1, thread 0, message = 42 (plain), race');
    for (const [key, expected] of [['n', 2], ['ArrowDown', 3], ['s', 2], ['End', 6], ['n', 6], ['p', 5], ['ArrowUp', 4],
                                   ['f', 6], ['f', 1], ['p', 1]]) {
      await press(page, key);
      assert.equal(await current(page), expected, key);
    }
    await press(page, 'n', 'n');
    assert.equal(await said(), 'row 3, thread 1, first -> 1 (acquire), from row 2');
    const reached = [];
    for (let i = 0; i < 7; ++i) {
      await page.send('Input.dispatchKeyEvent', {type: 'keyDown', key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9});
      reached.push(await page.evaluate('document.activeElement.id || document.activeElement.ariaLabel'));
    }
    assert.deepEqual(reached, ['previous', 'next', 'store', 'failure', 'scroll', 'File', 'Source text']);
  });
});

test('it says who sleeps at the end, and on what', async () => {
  await look('asleep', async (page) => {
    assert.deepEqual(await texts(page, '#ends p'), ['thread 1 sleeps on word since row 2, and nobody wakes it']);
    assert.deepEqual(await texts(page, '#steps .badge.race'), ['NOBODY WAKES IT']);
    assert.equal(await current(page), 2);
  });
});

test('text of the program is text: no markup, no script', async () => {
  await look('hostile', async (page) => {
    assert.equal(await page.evaluate('document.title'), `</title><b>hostile</b> & 'quoted': USER ASSERT FAILED`);
    assert.deepEqual(await texts(page, 'h1'), [`</title><b>hostile</b> & 'quoted'`]);
    const [last] = await texts(page, '#steps tbody tr:last-child .text');
    assert.match(last, /^<\/script><script>.*<img src=x> \\ "&lt;"$/);
    assert.equal(await count(page, 'script'), 2);
    assert.equal(await count(page, 'img, b'), 0);
  });
});

test('the security policy refuses every other script', async () => {
  const page = await browser.open(pathOf('race'));
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
