// SPDX-License-Identifier: BSL-1.0
//
// Writes the pages of the checks in tests/model/verify/pages.cpp, and looks at what is in them.
//
//   written_test.mjs PROGRAM FOLDER
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {dataOf, textOf} from './support.mjs';

const [program, folder] = process.argv.slice(2);
const CHECKS = {race: 'a race of three threads', old: 'old values', asleep: 'nobody wakes it',
                hostile: `</title><b>hostile</b> & 'quoted'`, livelock: 'without end'};

rmSync(folder, {recursive: true, force: true});
mkdirSync(folder, {recursive: true});

/// Returns the exit status and what the program says.
function play(...words) {
  const {status, stdout, stderr} = spawnSync(program, words, {encoding: 'utf8'});
  return {status, said: stdout + stderr};
}

/// A browser may run the page's own script and style, and load nothing.
function isClosed(html) {
  const [, policy] = html.match(/Content-Security-Policy" content="([^"]*)"/), [number] = policy.match(/nonce-\d{15,}/);
  assert.equal(policy, `default-src 'none';\n style-src '${number}'; script-src '${number}'`);
  assert.equal(html.match(/<script/g).length, 2);
  assert.doesNotMatch(html.replace(/<script type="application\/json"[^]*?<\/script>/, ''),
                      /@[a-z ]+@|https?:(?!\/\/www\.w3\.org\/2000\/svg)|<link|<img|src=|url\(|innerHTML/);
}

for (const [name, check] of Object.entries(CHECKS)) {
  test(`the page of '${check}' is written, needs nothing else, and has its source`, () => {
    const path = join(folder, `${name}.html`), {status, said} = play(check, '--page', path);
    assert.equal(status, 0, said);
    assert.match(said, /as expected\nThe execution is shown in /);
    const html = textOf(path), data = dataOf(html);
    isClosed(html);
    assert.equal(data.check, check);
    assert.equal(data.sources.length, 1);
    assert.match(data.sources[0].lines[0], /SPDX-License-Identifier/);
    for (const {file, line} of data.rows) {
      assert.equal(file, data.sources[0].file);
      assert.match(data.sources[0].lines[line - 1], /store|load|wait/);
    }
  });
}

test('the rows are those of the table', () => {
  const {said} = play(CHECKS.old, '--table'), {rows} = dataOf(textOf(join(folder, 'old.html')));
  assert.equal(rows.length, said.match(/^\d+ *\|/gm).length);
  assert.deepEqual(rows.filter(({newest}) => newest !== undefined).map(({text, from, newest}) => [text, from, newest]),
                   [['flags[index] -> 0 (acquire)', 0, 2]]);
  assert.match(said, /flags\[index\] -> 0 \(acquire\) <- start[ |\n]+OLD: newest 2\n/);
  const marked = rows.flatMap(({race, text}) => race ? [text] : []);
  assert.deepEqual(marked, said.match(/(?<=RACE: )\S.*?(?= +\||$)/gm));
  assert.equal(rows[0].phase, 'before');
});

test('who sleeps is marked, and said', () => {
  const {rows, ends} = dataOf(textOf(join(folder, 'asleep.html')));
  assert.deepEqual(rows.flatMap(({asleep, text}) => asleep ? [text] : []), ['sleeps on word']);
  assert.deepEqual(ends, ['thread 1 sleeps on word since row 2, and nobody wakes it']);
});

test('an assertion has its text and its place', () => {
  const {assertion, sources} = dataOf(textOf(join(folder, 'hostile.html')));
  assert.match(assertion.text, /^<\/script><script>window/);
  assert.match(sources[0].lines[assertion.line - 1], /expect\(/);
});

test('the page of a weakened site says which it is, and by which search it was found', () => {
  const {said} = play('handed over', '--sites'), [, site] = said.match(/^site (\S+) store release/m);
  const path = join(folder, 'weakened.html'), words = ['--weaken', `${site}=relaxed`, '--bound', '1', '--page', path];
  assert.equal(play('handed over', ...words).status, 1);
  const {what, searched} = dataOf(textOf(path));
  assert.equal(what, 'DATA RACE');
  assert.equal(searched, `bound 1, 1 execution, with ${site}=relaxed`);
});

test('a stored execution has the same page', () => {
  const stored = join(folder, 'stored.txt'), path = join(folder, 'replayed.html');
  play(CHECKS.race, '--store', stored);
  assert.match(play('--replay', stored, '--page', path).said, /The execution is shown in /);
  assert.deepEqual(dataOf(textOf(path)).rows, dataOf(textOf(join(folder, 'race.html'))).rows);
});

test('the page of an audit holds what the text says', () => {
  const path = join(folder, 'audit.html'), {status, said} = play('handed over', '--audit', '--page', path);
  assert.equal(status, 1, said);
  assert.match(said, /3 sites, 4 weakenings: 2 noticed, 2 not needed[^]*\nThe audit is shown in /);
  const html = textOf(path), {audit, program: called} = dataOf(html);
  isClosed(html);
  assert.equal(called, program);
  assert.deepEqual(audit.sites.map(({verdict}) => verdict), ['needed', 'needed', 'not_needed']);
  for (const {text, steps} of audit.sites) {
    assert.ok(said.includes(text), text);
    for (const {what} of steps) assert.ok(said.includes(`    ${what}: `), what);
  }
});

test('where nothing fails there is no page, and no page is for several checks', () => {
  const path = join(folder, 'none.html'), {status, said} = play('handed over', '--page', path);
  assert.equal(status, 0, said);
  assert.match(said, /There is no page, because nothing has failed/);
  assert.ok(!existsSync(path));
  assert.equal(play('--page', path).status, 2);
  assert.match(play('--page', path).said, /--store and --page are for one check/);
  const missing = play(CHECKS.race, '--page', join(folder, 'no such folder', 'a.html'));
  assert.match(missing.said, /cannot write/);
  assert.equal(missing.status, 1);
});
