// SPDX-License-Identifier: BSL-1.0
//
// The second part of the script of the page of an audit: the source, and the site that is looked at. A raw string
// literal, see ../page.cpp.
R"page(
// ---- the source ----

/// The place in a text of a column, which counts bytes.
function placeOf(text, column) {
  let bytes = 1, place = 0;
  for (const c of text) {
    if (bytes >= column) break;
    const code = c.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    place += c.length;
  }
  return place;
}

/// Which part of a line shows a site: the name of its order behind its column; else the name at its column.
function rangeOf(item, text, taken) {
  const isFree = (begin, end) => taken.every(([from, to]) => end <= from || to <= begin);
  const start = item.column > 0 ? placeOf(text, item.column) : 0;
  const order = item.order || '[a-z]+(?:_[a-z]+)?';
  const name = `(?:std::)?memory_order(?:_|::)${order}\\b|__ATOMIC_${item.order.toUpperCase() || '[A-Z_]+'}\\b`;
  for (const found of text.matchAll(new RegExp(name, 'g'))) {
    const end = found.index + found[0].length;
    if (found.index >= start && isFree(found.index, end)) return [found.index, end];
  }
  const word = /\w+/g;
  word.lastIndex = start;
  for (let found = word.exec(text); found && item.column > 0; found = word.exec(text)) {
    const end = found.index + found[0].length;
    if (isFree(found.index, end)) return [found.index, end];
  }
  const begin = text.search(/\S/);
  return begin >= 0 && isFree(begin, text.length) ? [begin, text.trimEnd().length] : undefined;
}

function dressLine(line, its) {
  const code = line.lastChild, text = code.textContent, comment = commentIn(text), ranges = [];
  for (const item of its) {
    const range = rangeOf(item, text.slice(0, comment), ranges);
    if (range) ranges.push([...range, item]);
    line.firstChild.prepend(glyph(item.verdict));
  }
  ranges.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let at = 0;
  for (const [begin, end, item] of ranges) {
    const title = `${wordsOf(item)}: ${nameOf(item.verdict)}`;
    item.mark = make('button', {class: `site ${classOf(item.verdict)}`, tabindex: '-1', title,
                                onclick: () => choose(item)}, text.slice(begin, end));
    parts.push(text.slice(at, begin), item.mark);
    at = end;
  }
  parts.push(text.slice(at, comment));
  if (comment < text.length) parts.push(make('span', {class: 'comment'}, text.slice(comment)));
  code.replaceChildren(...parts);
}

/// Marks the sites of a file.
function dress(file, lines) {
  const byLine = new Map();
  for (const item of groups.get(file)?.items ?? []) {
    if (lines[item.line]) byLine.set(item.line, [...(byLine.get(item.line) ?? []), item]);
  }
  for (const [number, its] of byLine) dressLine(lines[number], its);
}

// ---- the site that is looked at ----

const quote = (word) => /^[\w./:=+,@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/// The command that plays the check with the weakened site, and shows how it fails.
function commandOf(item, {what, check, search}) {
  const how = what === 'left out' ? 'removed' : what === 'of its own thread only' ? 'own_thread'
    : (what.startsWith('where it fails') ? 'failure:' : '') + what.slice(what.lastIndexOf(' ') + 1);
  const bound = /^bound (\d+)/.exec(search);
  const site = `${item.file}:${item.line}:${item.column}=${how}`;
  const kind = bound ? ['--bound', bound[1]] : ['--search', 'random'];
  return [quote(program), quote(check), '--weaken', quote(site), ...kind].join(' ');
}

function toCopy(text) {
  const button = make('button', {onclick: () => {
    navigator.clipboard?.writeText(text).then(() => { button.textContent = 'Copied'; }, () => {});
  }}, 'Copy');
  return make('div', {class: 'command'}, make('code', {}, text), button);
}

function describeStep(item, step) {
  const tone = make('span', {class: `tone ${classOf(step.verdict)}`}, nameOf(step.verdict));
  const line = make('li', {}, make('span', {class: 'weakening'}, step.what), tone);
  if (step.check !== undefined) {
    const found = `: ${step.failure}, ${step.search}, execution ${step.execution}`;
    line.append(' by ', make('span', {class: 'strong check'}, step.check), found, toCopy(commandOf(item, step)));
  } else if (step.reason) {
    line.append(`: ${step.reason}`);
  } else if (step.key) {
    line.append(make('p', {class: 'faint'}, 'Once it was reviewed, its line in the list of --reviewed begins with:'),
                toCopy(step.key));
  }
  return line;
}

function describe(item) {
  const at = `${names.get(item.file)}:${item.line}${item.column ? `:${item.column}` : ''}`;
  const head = make('h2', {}, glyph(item.verdict),
                    make('span', {class: `tone ${classOf(item.verdict)}`}, nameOf(item.verdict)),
                    ` \u2014 ${at}: ${wordsOf(item)}`);
  const parts = [head];
  if (item.failure) parts.push(make('p', {}, `where it fails: ${item.failure}`));
  if (item.reason) parts.push(make('p', {}, item.reason));
  parts.push(make('p', {class: 'faint'}, VERDICTS[item.verdict]?.[2] ?? ''));
  if (item.function) parts.push(make('p', {class: 'faint code'}, item.function));
  if (item.checks.length) parts.push(make('p', {class: 'faint'}, `Executed by: ${item.checks.join(', ')}`));
  if (item.steps.length) parts.push(make('ul', {}, ...item.steps.map((step) => describeStep(item, step))));
  else if (item.key && item.is_line && !item.reason) parts.push(describeStep(item, {what: '', verdict: item.verdict,
                                                                                   key: item.key}));
  return parts;
}

function choose(item) {
  if (!item) return;
  chosen?.element.classList.remove('current');
  chosen?.mark?.classList.remove('current');
  chosen = item;
  item.element.classList.add('current');
  bringIntoView(byId('list'), item.element);
  source.show(item.file, item.line, [[item.file, item.line, 'current']]);
  item.mark?.classList.add('current');
  byId('detail').replaceChildren(...describe(item));
  byId('detail').scrollTo(0, 0);
  source.bringBack();
  item.mark?.scrollIntoView({block: 'nearest', inline: 'nearest'}); // of a long line
  byId('said').textContent = `line ${item.line}, ${wordsOf(item)}, ${item.verdict === 'needed' ? 'needed ' : ''}${
    outcomeOf(item)}`;
}

/// Goes through the sites that are shown.
function go(step, isWanted = () => true) {
  const shown = items.filter((item) => !item.element.hidden || item === chosen), at = shown.indexOf(chosen);
  for (let i = at + step; i >= 0 && i < shown.length; i += step) {
    if (!shown[i].element.hidden && isWanted(shown[i])) return choose(shown[i]);
  }
  return undefined;
}

const isOpen = ({verdict}) => OPEN.includes(verdict);
const firstShown = (isWanted = () => true) => items.find((item) => !item.element.hidden && isWanted(item));

function goToOpen() {
  const before = chosen;
  go(1, isOpen);
  if (chosen === before) choose(firstShown(isOpen));
}

const KEYS = {
  n: () => go(1), ArrowDown: () => go(1), p: () => go(-1), ArrowUp: () => go(-1), u: goToOpen,
  Home: () => choose(firstShown()), End: () => choose(items.filter((item) => !item.element.hidden).at(-1)),
  '/': () => byId('search').focus(), Escape: showAll,
};

// ---- the page ----

const source = new Source(byId('source'), audit.sources, dress);
makeList();
makeFilters();
showComplaints();
filter();
document.title = `audit: ${items.filter(isOpen).length} open of ${items.length}`;
byId('previous').addEventListener('click', KEYS.p);
byId('next').addEventListener('click', KEYS.n);
byId('open').addEventListener('click', goToOpen);
byId('open').disabled = !items.some(isOpen);
byId('search').addEventListener('input', filter);
byId('search').addEventListener('keydown', ({key}) => {
  if (key === 'Enter') choose(firstShown());
  if (key === 'Enter' || key === 'Escape') byId('list').focus();
  if (key === 'Escape') showAll();
});
byId('file').addEventListener('change', () => {
  filter();
  choose(firstShown());
});
onKey((key) => {
  const verdict = /^[1-9]$/.test(key) ? [...chips.keys()][key - 1] : undefined;
  if (verdict) toggle(verdict);
  else if (Object.hasOwn(KEYS, key)) KEYS[key]();
  return verdict !== undefined || Object.hasOwn(KEYS, key);
});
new ResizeObserver(() => {
  if (chosen) bringIntoView(byId('list'), chosen.element);
  source.bringBack();
}).observe(document.body);
if (items.length) choose(firstShown(isOpen) ?? firstShown());
else byId('detail').append(make('p', {}, audit.refusal || 'Nothing was audited.'));
)page"
