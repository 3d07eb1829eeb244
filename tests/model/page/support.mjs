// SPDX-License-Identifier: BSL-1.0
//
// What the tests of the runner's pages share.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

const DATA = /(?<=<script type="application\/json" id="data">\n)[^]*?(?=<\/script>)/;

export const textOf = (path) => readFileSync(path, 'utf8');

/// Returns the data of a page.
export const dataOf = (html) => JSON.parse(html.match(DATA)[0]);

/// Returns the page with other data.
export const withData = (html, data) => html.replace(DATA, () => JSON.stringify(data).replaceAll('<', '\\u003c'));

/// Opens a page, calls act(page), and fails if the console got anything.
export async function visit(browser, path, act) {
  const page = await browser.open(path);
  try {
    await act(page);
    await page.drawn();
    assert.deepEqual(page.complaints, []);
    assert.equal(await page.evaluate('window.broken'), undefined);
  } finally {
    await page.close();
  }
}

/// Clicks in the middle of the first element of a selector, which must be in sight.
export async function click(page, selector) {
  const {x, y} = await page.evaluate(`(() => {
    const one = document.querySelector(${JSON.stringify(selector)}), box = one.getBoundingClientRect();
    return {x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2};
  })()`);
  await page.click(x, y);
  await page.drawn();
}

/// Presses keys one after the other.
export async function press(page, ...keys) {
  for (const key of keys) await page.key(key);
  await page.drawn();
}

/// Returns the texts of all elements of a selector.
export const texts = (page, selector) =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText.trim())`);

export const count = (page, selector) =>
  page.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);

/// Whether an element is within its container, as far as that can show it.
export const inSight = (page, selector, container) => page.evaluate(`(() => {
  const its = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
  const around = document.querySelector(${JSON.stringify(container)}).getBoundingClientRect();
  return its.top >= around.top - 1 && its.top < around.bottom && its.bottom > around.top
    && its.left < around.right && its.right > around.left;
})()`);

/// Returns which of these elements overlap.
export const overlaps = (page, selectors) => page.evaluate(`(() => {
  const boxes = ${JSON.stringify(selectors)}.map((one) => [one, document.querySelector(one).getBoundingClientRect()]);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1)
    .filter(([, b]) => !apart(a, b)).map(([other]) => one + ' ' + other));
})()`);

/// Returns the least contrast of the texts that are shown, as WCAG has it, and which text that is.
export const leastContrast = (page) => page.evaluate(`(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((part, i) => part * a + under[i] * (1 - a));
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const light = (color) => color.map((part) => part / 255)
    .map((part) => part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [.2126, .7152, .0722][i], 0);
  let least = [Infinity, ''];
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].filter((child) => child.nodeType === 3 && child.data.trim());
    if (own.length === 0 || !one.checkVisibility() || one.matches(':disabled, option')) continue;
    const under = ground(one), text = over(parse(getComputedStyle(one).color), under);
    const [a, b] = [light(text), light(under)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < least[0]) least = [ratio, one.className + ': ' + own[0].data.trim()];
  }
  return least;
})()`);
