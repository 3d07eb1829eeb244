// SPDX-License-Identifier: BSL-1.0
//
// The colors of the page, in both schemes: text can be read, and marks can be told from what is behind them. The limits
// are those of the Web Content Accessibility Guidelines: 4.5 for text, 3 for marks.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {COLORS} from '../../../tools/trace_page/draw.mjs';

const style = readFileSync(new URL('../../../tools/trace_page/page.css', import.meta.url), 'utf8');

/// Returns the custom properties of the `number`-th :root block.
function properties(number) {
  const block = [...style.matchAll(/:root \{([^}]*)\}/g)][number][1];
  const found = block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g);
  return Object.fromEntries([...found].map(([, name, color]) => [name, color]));
}
const light = properties(0), schemes = {light, dark: {...light, ...properties(1)}};

function luminance(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
  });
  return .2126 * red + .7152 * green + .0722 * blue;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high + .05) / (low + .05);
}

const TEXTS = [
  ['ink', 'ground'], ['ink', 'panel'], ['faint', 'panel'], ['faint', 'ground'], ['wait-ink', 'wait'],
  ['wait-ink', 'ground'], ['signal', 'ground'], ['signal', 'band'], ['lost-ink', 'lost-fill'], ['lost-ink', 'panel'],
  ['ground', 'ink'], ['work-ink', 'work'], ['ink', 'head'],
];
const MARKS = [
  ['wait-edge', 'ground'], ['wait-edge', 'band'], ['signal', 'wait'], ['signal', 'lost-fill'], ['arrow', 'ground'],
  ['arrow', 'band'], ['queued', 'ground'], ['pending', 'ground'], ['lost', 'ground'], ['lost', 'lost-fill'],
  ['work-edge', 'ground'], ['work-edge', 'band'], ['signal', 'work'], ['match', 'ground'], ['match', 'band'],
  ['match', 'wait'],
];

for (const [scheme, colors] of Object.entries(schemes)) {
  test(`the ${scheme} scheme has all colors`, () => {
    for (const name of COLORS) assert.match(colors[name] ?? '', /^#/, name);
  });
  for (const [kind, pairs, least] of [['text', TEXTS, 4.5], ['marks', MARKS, 3]]) {
    test(`the ${scheme} scheme has enough contrast for ${kind}`, () => {
      for (const [front, back] of pairs) {
        const found = contrast(colors[front], colors[back]);
        assert.ok(found >= least, `${front} on ${back}: ${found.toFixed(2)}`);
      }
    });
  }
}

test('the formula for contrast is right at both ends', () => {
  assert.equal(contrast('#000000', '#ffffff').toFixed(2), '21.00');
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48');
});
