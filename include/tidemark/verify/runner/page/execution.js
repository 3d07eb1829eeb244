// SPDX-License-Identifier: BSL-1.0
//
// The script of the page of an execution. A raw string literal, see ../page.cpp.
R"page(
const {rows, threads, assertion, ends} = data;
// An assertion that has failed is shown as one row more, at the end.
const steps = rows.map((row, i) => ({...row, number: i + 1}));
if (assertion) {
  const {file, line} = {...steps.at(-1), ...assertion};
  steps.push({thread: assertion.thread, phase: 'threads', text: assertion.text, file, line, fails: true});
}
const names = shortNames([...new Set(steps.map(({file}) => file))]);
const readers = new Map(); // of each row with a store
for (const {from, number} of steps) {
  if (from && !readers.has(from)) readers.set(from, []);
  if (from) readers.get(from).push(number);
}
const failures = steps.flatMap((step, i) => step.race || step.fails || step.asleep ? [i] : []);
const elements = [];
let chosen = -1;

// ---- the table ----

const nameOfRow = (number) => number === 0 ? 'start' : String(number);

/// Something to click on that leads to another row.
function link(text, number, title) {
  if (number === 0) return make('span', {class: 'badge plain', title}, text);
  const go = (event) => {
    event.stopPropagation();
    choose(number - 1);
  };
  return make('button', {title, tabindex: '-1', onclick: go}, text);
}

function wordsOf(step) {
  const line = make('div', {class: 'what'});
  if (step.race) line.append(make('span', {class: 'badge race'}, 'RACE'));
  else if (step.fails) line.append(make('span', {class: 'badge race'}, 'FAILS'));
  if (step.phase !== 'threads') line.append(make('span', {class: 'badge plain'}, `${step.phase}()`));
  line.append(make('span', {class: 'text'}, step.text));
  if (step.asleep) line.append(make('span', {class: 'badge race'}, 'NOBODY WAKES IT'));
  if (step.from !== undefined) {
    const title = step.from === 0 ? 'the value that was there at the start' : `the store of row ${step.from}`;
    line.append(link(`\u2190 ${nameOfRow(step.from)}`, step.from, title));
  }
  if (step.newest !== undefined) {
    line.append(make('span', {class: 'badge old', title: 'The language allows this old value all the same.'}, 'OLD'));
    line.append(link(`newest ${nameOfRow(step.newest)}`, step.newest, 'the newest store, which it does not see'));
  }
  if (step.aba) {
    const title = 'The value has changed, and changed back, since this thread has read it.';
    line.append(make('span', {class: 'badge old', title}, 'ABA'));
  }
  return line;
}

const textOf = ({file, line}) => (data.sources.find((one) => one.file === file)?.lines[line - 1] ?? '').trim();

function placeOf(step) {
  if (step.line === 0) return make('div', {class: 'where'}, step.file || 'a line that is not known');
  const place = (names.size > 1 ? `${names.get(step.file)}:` : '') + step.line;
  const text = make('code', {}, textOf(step));
  return make('div', {class: 'where', title: `${step.file}:${step.line}`},
              make('span', {class: 'code at'}, `${place}  `), text);
}

function makeRow(step, index) {
  const row = make('tr', {onclick: () => choose(index), onmouseenter: () => mark(index),
                          onmouseleave: () => mark(chosen)});
  if (step.race) row.classList.add('race');
  if (step.fails || step.asleep) row.classList.add('fails');
  row.append(make('th', {scope: 'row'}, String(step.number ?? '')));
  for (let thread = 0; thread < threads; ++thread) {
    row.append(thread === step.thread
      ? make('td', {class: `thread-${thread}`}, wordsOf(step), placeOf(step)) : make('td'));
  }
  elements.push(row);
  return row;
}

function makeTable() {
  const head = make('tr', {}, make('th', {scope: 'col'}, 'row'));
  for (let thread = 0; thread < threads; ++thread) {
    head.append(make('th', {scope: 'col', class: `thread-${thread}`}, `thread ${thread}`));
  }
  byId('steps').append(make('thead', {}, head), make('tbody', {}, ...steps.map(makeRow)));
}

// ---- what belongs to a row ----

const marked = [];
const MARKS = {origin: 'read', newest: 'newest', reader: 'reads it'};

/// Marks the rows that belong to a row: the store that it reads, the newest one, and those that read what it stores.
function mark(index) {
  for (const row of marked.splice(0)) {
    row.classList.remove(...Object.keys(MARKS));
    row.querySelector('.mark').remove();
  }
  const step = steps[index];
  if (!step) return drawArrow(undefined, undefined);
  const add = (number, name) => {
    const row = elements[number - 1];
    if (!marked.includes(row)) marked.push(row);
    row.classList.add(name);
    row.querySelector('.mark')?.remove();
    row.firstChild.append(make('span', {class: 'mark'}, MARKS[name]));
  };
  for (const number of readers.get(step.number) ?? []) add(number, 'reader');
  if (step.newest) add(step.newest, 'newest');
  if (step.from) add(step.from, 'origin');
  return drawArrow(elements[step.from - 1], elements[index]);
}

const cellOf = (row) => row.querySelector('td[class]');

/// An arrow from the store to the step that reads it.
function drawArrow(from, to) {
  const svg = byId('arrows');
  svg.replaceChildren();
  if (!from || !to) return;
  const one = cellOf(from), other = cellOf(to);
  const right = (cell) => cell.offsetLeft + cell.offsetWidth;
  const start = right(one) - 10, y = other.offsetTop + Math.min(14, other.offsetHeight / 2);
  let end = start - 16, back = 7;
  if (one.offsetLeft < other.offsetLeft) [end, back] = [other.offsetLeft, -7];
  else if (one.offsetLeft > other.offsetLeft) end = right(other);
  const draw = (name, d) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('class', name);
    path.setAttribute('d', d);
    svg.append(path);
  };
  draw('shaft', `M${start} ${one.offsetTop + one.offsetHeight}Q${start} ${y} ${end + back} ${y}`);
  draw('head', `M${end} ${y}l${back} -4v8z`);
}

// ---- the step that is looked at ----

function say(step) {
  const parts = [step.number ? `row ${step.number}` : 'the end', `thread ${step.thread}`, step.text];
  if (step.from !== undefined) parts.push(`from ${step.from === 0 ? 'the start' : `row ${step.from}`}`);
  if (step.newest !== undefined) parts.push(`old: the newest is ${step.newest === 0 ? 'the start' : step.newest}`);
  if (step.race) parts.push('race');
  if (step.fails) parts.push('fails');
  byId('said').textContent = parts.join(', ');
}

function choose(index) {
  if (!steps[index]) return;
  elements[chosen]?.classList.remove('current');
  elements[chosen]?.removeAttribute('aria-current');
  chosen = index;
  const step = steps[index], origin = steps[step.from - 1];
  elements[index].classList.add('current');
  elements[index].setAttribute('aria-current', 'true');
  mark(index);
  bringIntoView(byId('scroll'), elements[index]);
  const marks = [[step.file, step.line, 'current']];
  if (origin) marks.unshift([origin.file, origin.line, 'origin']);
  source.show(step.file, step.line, marks);
  byId('previous').disabled = index === 0;
  byId('next').disabled = index === steps.length - 1;
  byId('store').disabled = !step.from;
  say(step);
}

const goToStore = () => choose((steps[chosen].from ?? 0) - 1);
const goToFailure = () => choose(failures.find((index) => index > chosen) ?? failures[0] ?? steps.length - 1);

const KEYS = {
  n: () => choose(chosen + 1), ArrowDown: () => choose(chosen + 1),
  p: () => choose(chosen - 1), ArrowUp: () => choose(chosen - 1),
  Home: () => choose(0), End: () => choose(steps.length - 1),
  s: goToStore, f: goToFailure,
};

// ---- the page ----

/// Dots beside the lines that the threads execute.
function dress(file, lines) {
  const dots = new Set(steps.filter((step) => step.file === file).map(({line, thread}) => `${line} ${thread}`));
  for (const dot of [...dots].sort()) {
    const [line, thread] = dot.split(' ');
    const number = lines[line]?.firstChild;
    if (!number) continue;
    if (!number.querySelector('.dots')) number.prepend(make('span', {class: 'dots'}));
    number.firstChild.append(make('i', {class: `thread-${thread}`, title: `thread ${thread}`}));
  }
}

function describe() {
  document.title = `${data.check}: ${data.what}`;
  byId('name').textContent = data.check;
  const olds = steps.filter(({newest}) => newest !== undefined).length;
  byId('facts').append(make('span', {class: 'bad'}, data.what || 'does not fail'), ` \u00b7 ${data.searched} \u00b7 `,
                       `${several(rows.length, 'step')} of ${several(threads, 'thread')}`,
                       olds ? ` \u00b7 ${several(olds, 'read')} of an old value` : '');
  const racing = steps.filter(({race}) => race);
  const texts = [...ends];
  if (racing.length === 2) texts.push(`Nothing orders rows ${racing[0].number} and ${racing[1].number}: they race.`);
  byId('ends').append(...texts.map((text) => make('p', {class: 'strong'}, text)));
  if (texts.length === 0) byId('ends').append(make('p', {}, `It ends here: ${data.what || 'it does not fail'}.`));
}

const source = new Source(byId('right'), data.sources, dress);
makeTable();
describe();
byId('previous').addEventListener('click', KEYS.p);
byId('next').addEventListener('click', KEYS.n);
byId('store').addEventListener('click', goToStore);
byId('failure').addEventListener('click', goToFailure);
onKey((key) => {
  if (!Object.hasOwn(KEYS, key)) return false;
  KEYS[key]();
  return true;
});
new ResizeObserver(() => {
  mark(chosen);
  bringIntoView(byId('scroll'), elements[chosen]);
  source.bringBack();
}).observe(document.body);
choose(failures.at(-1) ?? steps.length - 1);
)page"
