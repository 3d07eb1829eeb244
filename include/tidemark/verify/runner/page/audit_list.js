// SPDX-License-Identifier: BSL-1.0
//
// The first part of the script of the page of an audit: the sites and their list. A raw string literal, see
// ../page.cpp.
R"page(
const {program, audit} = data;

// Each verdict: its name, its sign, and what it means. Those that are not settled come first.
const VERDICTS = {
  not_needed: ['not needed', '\u2717',
               'No check fails when it is weakened. Either it is not needed, or no check has the shape that needs it.'],
  never_executed: ['never executed', '\u2205', 'It is in the program, and no check executes it.'],
  cut_off: ['cut off', '\u2026', 'No check has failed, but a search had no time to end, or too few steps.'],
  not_weakened: ['not weakened', '?', 'It was not executed again when it was to be weakened.'],
  needed: ['needed', '\u2713', 'A check fails when it is weakened.'],
  reviewed: ['reviewed', '\u2248', 'No check fails, and the list of what was reviewed says why that is right.'],
  already_relaxed: ['already relaxed', '\u00b7', 'There is nothing weaker.'],
  without_effect: ['without effect', '\u2013', 'No other thread runs beside it, so that its order has no effect.'],
  unmodelled: ['for the compiler', '\u00a4', 'It holds back the compiler, which the checker does not have.'],
};
const OPEN = ['not_needed', 'never_executed', 'cut_off', 'not_weakened'];

const nameOf = (verdict) => VERDICTS[verdict]?.[0] ?? verdict.replaceAll('_', ' ');
const classOf = (verdict) => Object.hasOwn(VERDICTS, verdict) ? verdict : 'other';
const glyph = (verdict) => make('span', {class: `glyph ${classOf(verdict)}`, title: nameOf(verdict)},
                                VERDICTS[verdict]?.[1] ?? '?');

// ---- sites ----

const unexecuted = audit.never_executed.map((line) =>
  ({...line, column: 0, operation: '', order: '', checks: [], steps: [],
    verdict: line.reason ? 'reviewed' : 'never_executed', is_line: true}));
const names = shortNames([...new Set([...audit.sites, ...unexecuted].map(({file}) => file))]);
const items = [...audit.sites, ...unexecuted]
  .sort((a, b) => names.get(a.file).localeCompare(names.get(b.file)) || a.line - b.line || a.column - b.column);

const isBarrier = ({operation}) => operation.endsWith('barrier');
const wordsOf = (item) => item.is_line ? 'no check executes it'
  : item.operation.replaceAll('_', ' ') + (isBarrier(item) ? '' : `, ${item.order}`);
const checksThatNotice = ({steps}) => [...new Set(steps.flatMap(({check}) => check ? [check] : []))];

for (const item of items) {
  const {file, line, text, function: inside = ''} = item;
  const checks = [...item.checks, ...checksThatNotice(item)];
  item.words = [file, line, text, inside, wordsOf(item), ...checks, nameOf(item.verdict)].join(' ').toLowerCase();
}

let chosen;

// ---- the list ----

const chips = new Map();
const groups = new Map();

/// The verdict in few words, with the check that needs the site.
function outcomeOf(item) {
  const [first, ...others] = item.verdict === 'needed' ? checksThatNotice(item) : [];
  return first ? `by ${first}${others.length ? ', \u2026' : ''}` : nameOf(item.verdict);
}

function makeItem(item) {
  const about = make('div', {class: 'about'}, make('span', {class: 'at'}, String(item.line)),
                     make('span', {}, wordsOf(item)), make('span', {class: 'by'}, outcomeOf(item)));
  item.element = make('div', {class: 'item', onclick: () => choose(item)}, glyph(item.verdict), about,
                      make('div', {class: 'text code'}, item.text));
  return item.element;
}

function makeList() {
  for (const item of items) {
    if (!groups.has(item.file)) {
      const number = make('span', {class: 'number'});
      const head = make('h2', {title: item.file}, make('span', {class: 'path'}, names.get(item.file)), number);
      groups.set(item.file, {head, number, items: []});
    }
    groups.get(item.file).items.push(item);
  }
  for (const {head, items: its} of groups.values()) {
    byId('list').append(make('div', {}, head, ...its.map(makeItem)));
  }
}

function makeFilters() {
  const counts = new Map();
  for (const {verdict} of items) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const known = Object.keys(VERDICTS);
  const present = [...known, ...[...counts.keys()].filter((verdict) => !known.includes(verdict))]
    .filter((verdict) => counts.has(verdict));
  for (const verdict of present) {
    const chip = make('button', {'aria-pressed': 'true', title: VERDICTS[verdict]?.[2], onclick: () => toggle(verdict)},
                      glyph(verdict), ` ${nameOf(verdict)}`,
                      make('span', {class: 'number'}, String(counts.get(verdict))));
    chips.set(verdict, chip);
    byId('chips').append(chip);
  }
  const choice = byId('file');
  choice.append(make('option', {value: ''}, 'all files'));
  for (const [file, {items: its}] of groups) {
    choice.append(make('option', {value: file}, `${names.get(file)} (${its.length})`));
  }
  byId('facts').append(make('span', {class: 'strong'}, several(audit.sites.length, 'site')),
                       ` in ${several(groups.size, 'file')}`,
                       unexecuted.length ? `, ${unexecuted.length} more that no check executes` : '');
  const open = items.filter(({verdict}) => OPEN.includes(verdict)).length;
  byId('facts').append(' \u00b7 ', audit.refusal ? make('span', {class: 'bad'}, audit.refusal)
    : make('span', {class: open ? 'bad' : 'strong'}, open ? `${open} open` : 'nothing is open'));
}

/// What is wrong with the list of what was reviewed, and with all at once that no check has noticed.
function showComplaints() {
  const {keys, check, failure, search} = audit.together ?? {}, complaints = [...audit.complaints ?? []];
  if (check) {
    complaints.push(`All ${keys.length} that no check notices, at once: ${check} fails (${failure}, ${search}). ` +
                    'Each verdict holds alone: make one change, and audit again.');
  }
  byId('complaints').append(...complaints.map((text) => make('div', {class: 'bad'}, text)));
}

const isPressed = (verdict) => chips.get(verdict).getAttribute('aria-pressed') === 'true';

/// A first click leaves one verdict alone; further ones add and take away. Without any, all are shown.
function toggle(verdict) {
  const all = [...chips.keys()], before = all.filter(isPressed);
  let after = before.includes(verdict) ? before.filter((one) => one !== verdict) : [...before, verdict];
  if (before.length === all.length && all.length > 1) after = [verdict];
  if (after.length === 0) after = all;
  for (const [one, chip] of chips) chip.setAttribute('aria-pressed', String(after.includes(one)));
  filter();
}

function filter() {
  const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean), file = byId('file').value;
  let shown = 0;
  for (const {head, number, items: its} of groups.values()) {
    let here = 0;
    for (const item of its) {
      const passes = isPressed(item.verdict) && (!file || item.file === file)
        && words.every((word) => item.words.includes(word));
      item.element.hidden = !passes;
      if (passes) ++here;
    }
    head.parentElement.hidden = here === 0;
    number.textContent = String(here);
    shown += here;
  }
  const all = shown === items.length;
  byId('shown').textContent = all ? `all ${shown} are shown` : `${shown} of ${items.length} are shown`;
}

function showAll() {
  byId('search').value = '';
  byId('file').value = '';
  for (const chip of chips.values()) chip.setAttribute('aria-pressed', 'true');
  filter();
  if (chosen) bringIntoView(byId('list'), chosen.element);
}
)page"
