// SPDX-License-Identifier: BSL-1.0
//
// tools/lint_javascript.mjs: what it complains about, and what it does not.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {lint, tokenize} from '../../../tools/lint_javascript.mjs';

const complaints = (text, globals) => lint(text, globals).map((one) => `${one.line}: ${one.text}`);
const kinds = (text) => tokenize(text).map(({kind, text: part}) => `${kind} ${part}`);

test('a name that nothing declares is found, wherever it stands', () => {
  assert.deepEqual(complaints('export const a = wrong;\n'), ['1: wrong is not declared']);
  assert.deepEqual(complaints('export const a = `${wrong}`;\n'), ['1: wrong is not declared']);
  assert.deepEqual(complaints('export function f(a) {\n  return a.b + {c: wrong}[d];\n}\n'),
                   ['2: wrong is not declared', '2: d is not declared']);
  assert.deepEqual(complaints('export const a = document;\n'), ['1: document is not declared']);
  assert.deepEqual(complaints('export const a = document;\n', ['document']), []);
});

test('a name that nothing uses is found', () => {
  assert.deepEqual(complaints("import {a, b} from './c.mjs';\nexport const d = a;\n"), ['1: b is not used']);
  assert.deepEqual(complaints('const a = 1, b = 2;\nexport const d = b;\n'), ['1: a is not used']);
  assert.deepEqual(complaints('function f() {}\n'), ['1: f is not used']);
  assert.deepEqual(complaints('export function f(a, {b, c: d}, [e]) { return d; }\n'),
                   ['1: a is not used', '1: b is not used', '1: e is not used']);
  assert.deepEqual(complaints('const a = 1;\nexport const b = {a: 2}.a;\n'), ['1: a is not used']);
});

test('declarations of all forms are understood', () => {
  assert.deepEqual(complaints(`import fs, {b} from 'x';
export class C {
  static async make(p) { return new C(p); }
  constructor(q) { this.q = q; }
  get half() { return this.q / 2; }
  * each() { yield this.half; }
  #hidden() { return fs; }
}
export const u = 1, v = (x) => x + u, w = ([y, z = 2], ...rest) => y + z + rest.length + b;
export function* g() { for (const [k, l] of [[1, 2]]) yield k + l; for (let i = 0, j = 1; i < j; ++i) yield v; }
export const h = async (m) => { try { await m; } catch (error) { throw error; } };
`), []);
});

test('what leads to mistakes is not allowed', () => {
  assert.deepEqual(complaints('var a = 1;\nexport const b = a == 1 || a != 2;\n'),
                   ['1: var: use const or let', '2: ==: use ===', '2: !=: use !==']);
  for (const [text, name] of [['debugger', 'debugger'], ['console.log(1)', 'console'], ['eval("1")', 'eval'],
                              ['globalThis.x.innerHTML = ""', 'innerHTML']]) {
    assert.match(complaints(`${text};\n`, ['globalThis', 'console', 'eval'])[0], new RegExp(`^1: ${name}: `));
  }
  assert.deepEqual(complaints("export const a = 'var == console', b = /var == x/, c = 1 === 2; // eval\n"), []);
});

test('layout is checked: columns, tabs, blanks at the end, length of functions and files', () => {
  assert.deepEqual(complaints(`// ${'x'.repeat(118)}\n`), ['1: 121 columns']);
  assert.deepEqual(complaints(`// ${'x'.repeat(117)}\n`), []);
  assert.deepEqual(complaints('\t// x \n'), ['1: a tab', '1: a blank at the end of the line']);
  const body = (lines) => `export function f() {\n${'  f();\n'.repeat(lines - 2)}}\n`;
  assert.deepEqual(complaints(body(50)), []);
  assert.deepEqual(complaints(body(51)), ['1: a function of 51 lines']);
  assert.deepEqual(complaints('//\n'.repeat(500)), []);
  assert.deepEqual(complaints('//\n'.repeat(501)), ['501: more than 500 lines']);
});

test('strings, templates, regular expressions and comments are told apart', () => {
  assert.deepEqual(kinds('a / b / c'), ['name a', 'sign /', 'name b', 'sign /', 'name c']);
  assert.deepEqual(kinds('a = /[/]b/g'), ['name a', 'sign =', 'string /[/]b/g']);
  assert.deepEqual(kinds('`x${{a: `y`}}z`'), ['template `x${', 'sign {', 'name a', 'sign :', 'template `y`', 'sign }',
                                              'template }z`']);
  assert.deepEqual(kinds("'it\\'s' // no\n/* a\n b */ 1_000n"), ["string 'it\\'s'", 'number 1_000n']);
  assert.deepEqual(tokenize('a\n`b\nc`\nd').map(({line}) => line), [1, 2, 4]);
  assert.deepEqual(kinds('a?.b ?? c ? .5 : 1'), ['name a', 'sign ?.', 'name b', 'sign ??', 'name c', 'sign ?',
                                                 'number .5', 'sign :', 'number 1']);
});
