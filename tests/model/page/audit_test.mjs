// SPDX-License-Identifier: BSL-1.0
//
// The page of an audit in headless Chromium: the one of three sites that written_test.mjs has written, and the same
// with 400 sites in 40 files.
//
//   audit_test.mjs FOLDER BROWSER [FOLDER_FOR_SCREENSHOTS]
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';

import {Browser} from '../../trace/page/browser.mjs';
import {auditOfMany} from './audit_of_many.mjs';
import {click, count, inSight, leastContrast, overlaps, press, textOf, texts, visit, withData} from './support.mjs';

const [folder, program, shots] = process.argv.slice(2);
const few = join(folder, 'audit.html'), many = join(folder, 'audit_of_400.html');
const data = auditOfMany(400, 40);
let browser;

before(async () => {
  writeFileSync(many, withData(textOf(few), data));
  browser = await Browser.start(program);
});
after(() => browser?.close());
if (shots) mkdirSync(shots, {recursive: true});

const shoot = async (page, name) => {
  if (shots) writeFileSync(join(shots, `${name}.png`), await page.screenshot());
};
const shown = (page) => page.evaluate(`[...document.querySelectorAll('.item')]
  .filter((one) => one.checkVisibility()).length`);
const sites = async (page) => (await texts(page, '.item .at')).length;
const current = (page) => page.evaluate(`[...document.querySelectorAll('.item')]
  .findIndex((one) => one.classList.contains('current'))`);
const said = (page) => page.evaluate(`document.getElementById('said').textContent`);
const chip = (page, name) => page.evaluate(`[...document.querySelectorAll('#chips button')]
  .find((one) => one.innerText.includes('${name}')).click()`);

/// Types a text into the search field, in place of what is there.
async function search(page, text) {
  await page.key('/');
  await page.evaluate(`document.getElementById('search').select()`);
  await page.send('Input.insertText', {text});
  await page.drawn();
}

for (const [name, path, number] of [['audit', few, 3], ['audit of 400', many, 410]]) {
  for (const scheme of ['light', 'dark']) {
    test(`${name}, ${scheme}: the console is silent, all sites are there, and all texts can be read`, async () => {
      await visit(browser, path, async (page) => {
        await page.prefer(scheme);
        for (const [width, height] of [[1400, 850], [700, 700], [320, 480]]) {
          await page.resize(width, height);
          await page.drawn();
          assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
          assert.equal(await page.evaluate('document.documentElement.scrollHeight'), height);
          assert.equal(await sites(page), number);
          assert.ok(await inSight(page, '.item.current', '#list'), `the site, ${width} x ${height}`);
          assert.ok(await inSight(page, '.line.current', '.lines'), `the line, ${width} x ${height}`);
          const apart = await overlaps(page, ['header', '#filters', '#list', '.file', '.lines', '#detail']);
          assert.deepEqual(apart, [], `${width} x ${height}`);
          await shoot(page, `${name}-${width}-${scheme}`);
        }
        await page.resize(1400, 850);
        await press(page, 'Home', 'n', 'n', 'u', 'p', 'End', '1', '2', 'n', 'Escape', 'x');
        const [least, where] = await leastContrast(page);
        assert.ok(least >= 4.5, `${least} of ${where}`);
      });
    });
  }
}

test('each order is marked by its verdict, in the source and in the list', async () => {
  await visit(browser, few, async (page) => {
    assert.deepEqual(await texts(page, '.source .site'),
                     ['memory_order_release', 'memory_order_acquire', 'memory_order_seq_cst']);
    for (const selector of ['.source button.needed', '.item .needed']) assert.equal(await count(page, selector), 2);
    for (const selector of ['.source button.not_needed', '.item .not_needed']) {
      assert.equal(await count(page, selector), 1);
    }
    assert.equal(await current(page), 2); // which is open
  });
});

test('what is marked on a line is the order of the site, or else what stands at its column', async () => {
  const file = '/a/marks.hpp', lines = [
    '  x = a.load(memory_order_acquire) + b.load(memory_order_acquire);',
    '  b.store(a.load(std::memory_order::acquire), std::memory_order::release);  // memory_order_release',
    '  \u00e4\u{1F30A}(), flags.fetch_or(bits, Order);',
    '  seen = count;',
    '  /* "//" */ if (word == "//" || word.load(memory_order_acquire)) return;',
    '  { __atomic_fetch_add(&wait, 1, __ATOMIC_SEQ_CST); }'];
  const places = [[1, 39, 'acquire'], [2, 5, 'release'], [2, 13, 'acquire'], [3, 19, 'acq_rel'], [4, 0, 'seq_cst'],
                  [5, 41, 'acquire'], [6, 0, 'seq_cst']];
  const sites = places.map(([line, column, order]) =>
    ({...data.audit.sites[0], file, line, column, order, text: lines[line - 1].trim()}));
  const audit = {...data.audit, never_executed: [], sources: [{file, lines}], sites};
  const path = join(folder, 'marks.html');
  writeFileSync(path, withData(textOf(few), {program: 'a', audit}));
  await visit(browser, path, async (page) => {
    // Each with the length of the text before it.
    const marks = await page.evaluate(`[...document.querySelectorAll('.source .line')].map((line) =>
      [...line.querySelectorAll('.site')].map((one) => [one.innerText, one.previousSibling.data.length]))`);
    assert.deepEqual(marks, [
      [['memory_order_acquire', lines[0].lastIndexOf('memory_order_acquire')]],
      [['std::memory_order::acquire', 17], ['std::memory_order::release', 3]],
      [['fetch_or', 15]],
      [['seen = count;', 2]],
      [['memory_order_acquire', 43]],
      [['__ATOMIC_SEQ_CST', 33]]]);
    assert.deepEqual(await texts(page, '.source .line .text'), lines.map((line) => line.trim()));
  });
});

test('one click leads from an order to the check that needs it, and to a command that shows how', async () => {
  await visit(browser, few, async (page) => {
    await click(page, '.source button.needed');
    assert.equal(await current(page), 0);
    assert.deepEqual(await texts(page, '#detail .check'), ['handed over']);
    assert.match((await texts(page, '#detail li'))[0], /needed by handed over: DATA RACE, bound 0, execution 1/);
    await click(page, '.item:last-child');
    await click(page, '.item:nth-child(3)');
    assert.match((await texts(page, '#detail h2'))[0], /needed.*pages\.cpp:\d+:\d+: load, acquire/);
    const [command] = await texts(page, '#detail .command code');
    const played = spawnSync('sh', ['-c', command], {encoding: 'utf8'});
    assert.equal(played.status, 1, command);
    assert.match(played.stdout, /^handed over \[bounded 0\] with .*: DATA RACE after 1 execution/, command);
  });
});

test('the filters: verdicts, text, file, and all of them again', async () => {
  await visit(browser, many, async (page) => {
    assert.equal(await shown(page), 410);
    const ofVerdict = (wanted) => data.audit.sites.filter(({verdict}) => verdict === wanted).length;
    await chip(page, 'not needed');
    assert.equal(await shown(page), ofVerdict('not_needed'));
    await chip(page, 'cut off');
    assert.equal(await shown(page), ofVerdict('not_needed') + ofVerdict('cut_off'));
    await shoot(page, 'filtered');
    await press(page, 'Escape');
    assert.equal(await shown(page), 410);
    await search(page, 'compare ring_buffer_1 needed');
    const found = await shown(page);
    assert.ok(found > 0 && found < 40, `${found}`);
    assert.ok((await texts(page, '.item:not([hidden]) .about')).every((text) => /compare exchange/.test(text)));
    await press(page, 'Enter');
    assert.match((await texts(page, '#detail h2'))[0], /ring_buffer_1\.hpp:\d+:\d+: compare exchange/);
    await search(page, 'a word that nobody has written');
    assert.equal(await shown(page), 0);
    assert.deepEqual(await texts(page, '#shown'), ['0 of 410 are shown']);
    await press(page, 'Escape');
    assert.equal(await shown(page), 410);
    const {file} = data.audit.sources[5];
    await page.evaluate(`((one) => {
      one.value = ${JSON.stringify(file)};
      one.dispatchEvent(new Event('change'));
    })(document.getElementById('file'))`);
    assert.equal(await shown(page), 10);
    assert.deepEqual(await texts(page, '.source .path'), [file]);
  });
});

test('with the keyboard alone all sites are reached, and said', async () => {
  await visit(browser, many, async (page) => {
    await press(page, 'Home');
    assert.equal(await current(page), 0);
    await press(page, 'n', 'ArrowDown', 'n', 'p');
    assert.equal(await current(page), 2);
    await press(page, 'ArrowUp', 'End');
    assert.equal(await current(page), 409);
    await press(page, 'Home', 'u');
    assert.match(await said(page), /^line \d+, .*, (?:not needed|never executed|cut off|not weakened)/);
    await press(page, '1');
    assert.equal(await shown(page), 24);
    await press(page, 'Home', 'n');
    assert.match(await said(page), /, not needed$/);
    await press(page, 'Escape', '5', 'Home');
    assert.match(await said(page), /, needed by /);
    await press(page, 'Escape');
    const reached = [];
    for (let i = 0; i < 20; ++i) {
      await page.send('Input.dispatchKeyEvent', {type: 'keyDown', key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9});
      reached.push(await page.evaluate(`document.activeElement.id || document.activeElement.className
        || document.activeElement.ariaLabel || document.activeElement.ariaPressed`));
    }
    assert.deepEqual(reached.filter((name) => name !== 'true').slice(0, 9),
                     ['previous', 'next', 'open', 'search', 'file', 'list', 'File', 'lines code', 'detail']);
  });
});

test('what is in sight is what was chosen, also on a line that is longer than the window', async () => {
  await visit(browser, many, async (page) => {
    await page.evaluate(`document.getElementById('search').value = 'compare'`);
    await page.evaluate(`document.getElementById('search').dispatchEvent(new Event('input'))`);
    await press(page, 'Home');
    for (let i = 0; i < 12; ++i) {
      await press(page, 'n');
      for (const [one, around] of [['.item', '#list'], ['.line', '.lines'], ['.site', '.lines']]) {
        assert.ok(await inSight(page, `${one}.current`, around), `${one} ${i}`);
      }
      assert.equal((await texts(page, '.site.current'))[0], 'std::memory_order::seq_cst');
    }
    await shoot(page, 'long lines');
  });
});

test('a file that could not be read, and a verdict that the page does not know', async () => {
  await visit(browser, many, async (page) => {
    await search(page, data.audit.sources[7].file);
    await press(page, 'Enter');
    assert.match((await texts(page, '.source .none'))[0], /^This file could not be read\. A relative path /);
    await press(page, 'Escape');
    await chip(page, 'a verdict of the future');
    assert.equal(await shown(page), data.audit.sites.filter(({verdict}) => /future/.test(verdict)).length);
  });
});

test('an audit that was refused says why', async () => {
  const path = join(folder, 'refused.html'), refusal = 'box fails as it is: <b>DATA RACE</b>';
  const complaints = ['reviewed.txt:3: <b>no</b> weakening has this key'];
  const nothing = {...data.audit, sites: [], never_executed: [], sources: [], refusal, complaints};
  writeFileSync(path, withData(textOf(few), {program: 'a', audit: nothing}));
  await visit(browser, path, async (page) => {
    assert.match((await texts(page, '#facts'))[0], /box fails as it is: <b>DATA RACE<\/b>$/);
    assert.deepEqual(await texts(page, '#detail'), [refusal]);
    assert.deepEqual(await texts(page, '#complaints'), complaints);
    await press(page, 'n', 'u', 'Home', 'End', '1', 'Escape');
  });
});

test('that the weakenings nobody notices are too much together is said', async () => {
  const path = join(folder, 'together.html'), together = {keys: ['a', 'b'], failure: 'DATA RACE', search: 'bound 1'};
  for (const check of ['', '<b>box</b>']) {
    const audit = {...data.audit, complaints: [], together: {...together, check}};
    writeFileSync(path, withData(textOf(few), {program: 'a', audit}));
    await visit(browser, path, async (page) => {
      const said = 'All 2 that no check notices, at once: <b>box</b> fails (DATA RACE, bound 1). ' +
        'Each verdict holds alone: make one change, and audit again.';
      assert.deepEqual(await texts(page, '#complaints'), [check && said]);
    });
  }
});

test('of 400 sites in 40 files, most are filtered and shown in less than half a second', async () => {
  await visit(browser, many, async (page) => {
    const times = [];
    for (const [act, key] of [['filter', 'c'], ['filter', 'check 7'], ['filter', ''], ['go', 'n'], ['go', 'End'],
                              ['go', 'Home'], ['go', 'u'], ['go', '1'], ['go', 'Escape']]) {
      times.push(await page.evaluate(`(() => {
        const start = performance.now(), search = document.getElementById('search');
        if ('${act}' === 'go') window.dispatchEvent(new KeyboardEvent('keydown', {key: '${key}'}));
        else search.value = '${key}';
        search.dispatchEvent(new Event('input'));
        document.body.getBoundingClientRect();
        return new Promise((done) => requestAnimationFrame(() => done(performance.now() - start)));
      })()`));
    }
    times.sort((a, b) => a - b);
    assert.ok(times[times.length >> 1] < 500, `${times.map(Math.round)} ms`);
    if (shots) process.stdout.write(`# ${times.map(Math.round)} ms\n`);
  });
});
