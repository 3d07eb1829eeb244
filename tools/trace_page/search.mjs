// SPDX-License-Identifier: BSL-1.0
//
// Finds what a reader types: words that all must match. A word matches a command or a span of work if it is a part of
// the name of its queue, engine, fence or work, if it is "wait", "signal" or "work", or if it is the command's value.
// Of a number in a name, a word must be the whole number.

import {FENCE, IS_WAIT, LANE, VALUE, WORK_LANE, WORK_NAME, placeOf} from './model.mjs';
import {makeSeries} from './series.mjs';

/// The signs between a fence and a value in our own labels: a reader may paste one of them.
const SIGNS = new Set(['=', '>=', '\u2265']);

/// Returns for each word which names hold it: [[whether]].
function namesWith(words, names) {
  const lower = names.map((name) => name.toLowerCase()), numbers = lower.map((name) => new Set(name.match(/\d+/g)));
  return words.map((word) => /^\d+$/.test(word)
    ? numbers.map((all) => all.has(word)) : lower.map((name) => name.includes(word)));
}

/// Returns the matches of a text in the order of time, as targets (placeOf() in model.mjs); null if it has no word.
export function findMatches(model, text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '' && !SIGNS.has(word));
  if (words.length === 0) return null;
  const lanes = namesWith(words, model.lanes.map(({name, engine}) => `${name}\n${engine}`));
  const fences = namesWith(words, model.fences), names = namesWith(words, model.workNames);
  const found = [];
  model.walk.forEach((command) => {
    const parts = model.commands[command], kind = parts[IS_WAIT] ? 'wait' : 'signal';
    const matches = (word, i) =>
      word === parts[VALUE] || word === kind || lanes[i][parts[LANE]] || fences[i][parts[FENCE]];
    if (words.every(matches)) found.push({command});
  });
  model.work.forEach((parts, work) => {
    const matches = (word, i) => word === 'work' || lanes[i][parts[WORK_LANE]] || names[i][parts[WORK_NAME]];
    if (words.every(matches)) found.push({work});
  });
  const time = new Map(found.map((target) => [target, placeOf(model, target).to]));
  return found.sort((a, b) => time.get(a) - time.get(b));
}

/// Returns the places of matches as a series for each lane; the numbers of their items are indices of `matches`.
export function matchSeries(model, matches) {
  const items = model.lanes.map(() => []);
  matches.forEach((target, index) => {
    const {lane, from, to} = placeOf(model, target);
    items[lane].push([from, to, index]);
  });
  return items.map(makeSeries);
}
