#!/usr/bin/env node
// SPDX-License-Identifier: BSL-1.0
//
// A lint for JavaScript modules. It knows tokens, not syntax, and holds files to these rules:
//
//   - a name that is used is declared in the file, imported, or a global that the file may use
//   - a name that is declared or imported is used
//   - no var, no == and !=, no eval, no innerHTML and the like, no console, no debugger
//   - no line over 120 columns, no tab, no blank at the end of a line
//   - no function over 50 lines, no file over 500
//
//   lint_javascript.mjs [--globals NAME,NAME...] FILE...        exit status: 0 if there is no complaint, 1 otherwise

import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const MOST_COLUMNS = 120, MOST_FUNCTION_LINES = 50, MOST_LINES = 500;

const KEYWORDS = new Set(
  `async await break case catch class const continue debugger default delete do else export extends false finally for
   from function get if import in instanceof let new null of return set static super switch this throw true try
   typeof undefined var void while yield`.split(/\s+/));

const LANGUAGE = new Set(
  `Array BigInt Boolean Date Error Float64Array Infinity Int32Array JSON Map Math NaN Number Object Promise RegExp Set
   String Symbol Uint32Array isFinite isNaN parseFloat parseInt`.split(/\s+/));

const FORBIDDEN = new Map(Object.entries({
  '==': 'use ===',
  '!=': 'use !==',
  'var': 'use const or let',
  'debugger': 'remove it',
  'console': 'a module writes nothing',
  'eval': 'text must not become code',
  'Function': 'text must not become code',
  'innerHTML': 'text must not become elements',
  'outerHTML': 'text must not become elements',
  'insertAdjacentHTML': 'text must not become elements',
  'with': 'not allowed in modules',
}));

/// After these a slash begins a regular expression.
const BEFORE_EXPRESSION = /^(?:[([{,;:=!&|?+\-*%<>~^]|=>|&&|\|\||\?\?|return|typeof|case|in|of|do|else|yield|await)$/;

const SKIPPED = /(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/|^#![^\n]*)/y;
const STRING = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y;
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const NUMBER = /(?:0[xb][0-9a-f_]+|\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?n?/yi;
const NAME = /#?[\p{ID_Start}$_][\p{ID_Continue}$]*/yu;
const SIGNS = `=== !== ... >>> ??= &&= ||= => == != ?? && || ** ++ -- << >> <= >= += -= *= /= %= &= |= ^=`.split(' ');
const SIGN = new RegExp(`${SIGNS.map((sign) => sign.replace(/[^\w]/g, '\\$&')).join('|')}|\\?\\.(?!\\d)|[^]`, 'y');

/// Returns the tokens of a text: [{kind, text, line}]; kind is 'name', 'number', 'string', 'template' or 'sign'. The
/// expressions in a template string are tokens of their own.
export function tokenize(text) {
  const tokens = [], braces = []; // for each open brace: whether it belongs to a template string
  let at = 0, line = 1;
  const match = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const take = (kind, part) => {
    if (kind) tokens.push({kind, text: part, line});
    at += part.length;
    line += part.split('\n').length - 1;
  };
  const takeTemplate = (from) => {
    let end = from;
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1;
    const open = text.startsWith('${', end);
    if (open) braces.push(true);
    take('template', text.slice(at, end + (open ? 2 : 1)));
  };
  while (at < text.length) {
    const skipped = match(SKIPPED);
    if (skipped) {
      take(null, skipped);
      continue;
    }
    if (text[at] === '`') {
      takeTemplate(at + 1);
      continue;
    }
    if (text[at] === '}' && braces.pop()) {
      takeTemplate(at + 1);
      continue;
    }
    const previous = tokens.at(-1)?.text ?? ';';
    if (text[at] === '/' && BEFORE_EXPRESSION.test(previous) && match(REGULAR_EXPRESSION)) {
      take('string', match(REGULAR_EXPRESSION));
      continue;
    }
    if (text[at] === '{') braces.push(false);
    const kinds = [['string', STRING], ['number', NUMBER], ['name', NAME], ['sign', SIGN]];
    const [kind, pattern] = kinds.find(([, candidate]) => match(candidate));
    take(kind, match(pattern));
  }
  return tokens;
}

/// Returns for each opening bracket the index of the closing one, and the other way round.
function pairBrackets(tokens) {
  const partner = new Map(), open = [];
  tokens.forEach(({kind, text}, i) => {
    const opens = kind === 'sign' ? '([{'.includes(text) : kind === 'template' && text.endsWith('${');
    const closes = kind === 'sign' ? ')]}'.includes(text) : kind === 'template' && text.startsWith('}');
    if (closes) {
      const start = open.pop();
      partner.set(start, i).set(i, start);
    }
    if (opens) open.push(i);
  });
  return partner;
}

const isName = (token) => token?.kind === 'name' && !KEYWORDS.has(token.text) && !token.text.startsWith('#');

/// A name that belongs to an object: after a dot, or a key.
function isProperty(tokens, i) {
  const previous = tokens[i - 1]?.text, next = tokens[i + 1]?.text;
  return previous === '.' || previous === '?.' || (next === ':' && (previous === '{' || previous === ','));
}

/// Returns the names that a pattern declares, from one token to another: {a, b: c = 1}, [d], ...e. Names in default
/// values are not told from those, which is harmless for the rules of this file.
function* patternNames(tokens, from, to) {
  for (let i = from; i < to; ++i) {
    if (isName(tokens[i]) && !isProperty(tokens, i) && tokens[i - 1]?.text !== '=') yield i;
  }
}

/// Returns the indices of the declarators of a const or let that begins at `start`.
function* declarators(tokens, partner, start) {
  for (let i = start; i < tokens.length;) {
    const end = '[{'.includes(tokens[i].text) ? partner.get(i) : i;
    yield* patternNames(tokens, i, end + 1);
    for (i = end + 1; i < tokens.length && ![',', ';'].includes(tokens[i].text); ++i) {
      if (['of', 'in', ')'].includes(tokens[i].text)) return;
      i = partner.get(i) > i ? partner.get(i) : i;
    }
    if (tokens[i]?.text !== ',') return;
    ++i;
  }
}

/// Whether the bracket at `i` encloses the parameters of a function or a method.
function opensParameters(tokens, partner, i) {
  if (tokens[i].text !== '(') return false;
  const after = tokens[partner.get(i) + 1]?.text, before = tokens[i - 1], further = tokens[i - 2];
  if (after === '=>') return true;
  if (after !== '{' || before?.kind !== 'name') return false;
  return before.text === 'function' || !KEYWORDS.has(before.text) || further?.text === 'function';
}

/// Returns the indices of all tokens that declare a name.
function declarations(tokens, partner) {
  const found = new Set(), add = (names) => { for (const i of names) found.add(i); };
  tokens.forEach(({text, kind}, i) => {
    if (kind === 'name' && ['const', 'let', 'var'].includes(text)) add(declarators(tokens, partner, i + 1));
    if (kind === 'name' && (text === 'function' || text === 'class')) {
      const at = tokens[i + 1]?.text === '*' ? i + 2 : i + 1;
      if (isName(tokens[at])) found.add(at);
    }
    if (text === 'import') {
      const names = isName(tokens[i + 1]) ? i + 3 : i + 1; // a default import stands before the comma
      if (names > i + 1) found.add(i + 1);
      if (tokens[names]?.text === '{') add(patternNames(tokens, names + 1, partner.get(names)));
    }
    if (text === 'catch' && tokens[i + 1]?.text === '(') add(patternNames(tokens, i + 2, partner.get(i + 1)));
    if (kind === 'sign' && opensParameters(tokens, partner, i)) add(patternNames(tokens, i + 1, partner.get(i)));
    if (isName(tokens[i]) && tokens[i + 1]?.text === '=>') found.add(i);
  });
  return found;
}

/// A method of a class or an object: a name before parameters, where no expression can be.
function isMethod(tokens, partner, i) {
  const opens = tokens[i + 1]?.text === '(' && tokens[partner.get(i + 1) + 1]?.text === '{';
  return opens && ['{', '}', ',', ';', 'get', 'set', 'static', 'async', '*'].includes(tokens[i - 1]?.text);
}

function checkNames(tokens, globals, complain) {
  const partner = pairBrackets(tokens), declared = declarations(tokens, partner), known = new Map(), used = new Set();
  for (const i of declared) {
    if (!known.has(tokens[i].text)) known.set(tokens[i].text, tokens[i].line);
  }
  const exported = (i) => tokens[i - 2]?.text === 'export' || tokens[i - 3]?.text === 'export'; // function*
  tokens.forEach((token, i) => {
    if (!isName(token) || isProperty(tokens, i)) return;
    if (declared.has(i)) {
      if (exported(i)) used.add(token.text);
      return;
    }
    if (isMethod(tokens, partner, i)) return;
    used.add(token.text);
    const isKnown = known.has(token.text) || LANGUAGE.has(token.text) || globals.has(token.text);
    if (!isKnown) complain(token.line, `${token.text} is not declared`);
  });
  exportedConstants(tokens).forEach((name) => used.add(name));
  for (const [name, line] of known) {
    if (!used.has(name) && !/^_/.test(name)) complain(line, `${name} is not used`);
  }
}

/// All names of `export const A = 1, B = 2;`.
function exportedConstants(tokens) {
  const names = [], partner = pairBrackets(tokens);
  tokens.forEach(({text}, i) => {
    if (text !== 'export' || tokens[i + 1]?.text !== 'const') return;
    for (const at of declarators(tokens, partner, i + 2)) names.push(tokens[at].text);
  });
  return names;
}

function checkFunctions(tokens, complain) {
  const partner = pairBrackets(tokens);
  tokens.forEach(({text, line}, i) => {
    const body = partner.get(i) + 1;
    if (text !== '(' || !opensParameters(tokens, partner, i)) return;
    const start = tokens[body].text === '=>' ? body + 1 : body;
    if (tokens[start]?.text !== '{') return;
    const lines = tokens[partner.get(start)].line - line + 1;
    if (lines > MOST_FUNCTION_LINES) complain(line, `a function of ${lines} lines`);
  });
}

/// Returns the complaints about a text: [{line, text}]. `globals` are names that it may use without declaring them.
export function lint(text, globals = []) {
  const complaints = [], complain = (line, what) => complaints.push({line, text: what});
  const lines = text.split('\n');
  lines.forEach((one, i) => {
    if (one.length > MOST_COLUMNS) complain(i + 1, `${one.length} columns`);
    if (/\t/.test(one)) complain(i + 1, 'a tab');
    if (/\s$/.test(one)) complain(i + 1, 'a blank at the end of the line');
  });
  if (lines.length - 1 > MOST_LINES) complain(lines.length - 1, `more than ${MOST_LINES} lines`);
  const tokens = tokenize(text);
  for (const {kind, text: part, line} of tokens) {
    const reason = kind === 'name' || kind === 'sign' ? FORBIDDEN.get(part) : undefined;
    if (reason) complain(line, `${part}: ${reason}`);
  }
  checkNames(tokens, new Set(globals), complain);
  checkFunctions(tokens, complain);
  return complaints.sort((a, b) => a.line - b.line);
}

function main(words) {
  const globals = words[0] === '--globals' ? words.splice(0, 2)[1].split(',') : [];
  if (words.length === 0) throw new Error('which files?');
  let count = 0;
  for (const file of words) {
    for (const {line, text} of lint(readFileSync(file, 'utf8'), globals)) {
      process.stdout.write(`${file}:${line}: ${text}\n`);
      ++count;
    }
  }
  process.stdout.write(`${words.length} files, ${count} complaints\n`);
  process.exitCode = count > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2));
