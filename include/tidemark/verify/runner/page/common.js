// SPDX-License-Identifier: BSL-1.0
//
// What the scripts of all pages share. A raw string literal, see ../page.cpp.
R"page(
const data = JSON.parse(document.getElementById('data').textContent);

const byId = (id) => document.getElementById(id);

const several = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`;

/// Returns a new element. What it holds are elements, and texts, which stay texts.
function make(name, parts = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(parts)) {
    if (value === undefined) continue;
    if (key === 'class') made.className = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/// Returns names of files that are short and all different: as many folders as that takes.
function shortNames(paths) {
  const names = new Map();
  for (const path of paths) {
    const parts = path.split('/');
    let count = 1;
    const end = () => '/' + parts.slice(-count).join('/');
    while (count < parts.length && paths.some((other) => other !== path && ('/' + other).endsWith(end()))) ++count;
    names.set(path, parts.slice(-count).join('/'));
  }
  return names;
}

/// Returns where a comment to the end of the line begins; the length of the line if there is none.
function commentIn(line) {
  let quote = '';
  for (let i = 0; i < line.length; ++i) {
    const c = line[i];
    if (quote) {
      if (c === '\\') ++i;
      else if (c === quote) quote = '';
    } else if (c === '"') {
      quote = c;
    } else if (c === '/' && line[i + 1] === '/') {
      return i;
    }
  }
  return line.length;
}

/// Scrolls an element within its container, no farther than needed; to the middle if it was out of sight.
function bringIntoView(container, element) {
  const around = container.getBoundingClientRect(), its = element.getBoundingClientRect();
  const margin = Math.min(48, around.height / 4);
  if (its.top >= around.top + margin && its.bottom <= around.bottom - margin) return;
  container.scrollTop += (its.top + its.bottom) / 2 - (around.top + around.bottom) / 2;
}

const UNREADABLE = 'This file could not be read. A relative path is one of the folder in which the program was '
  + 'compiled: write the page there.';

/// The text of the files, one file at a time. `dress(file, lines)` may mark the lines of a file that is shown for the
/// first time; line 1 is lines[1].
class Source {
  constructor(root, sources, dress) {
    this.files = new Map(sources.map(({file, lines}) => [file, lines]));
    this.dress = dress;
    this.sheets = new Map();
    this.names = shortNames([...this.files.keys()]);
    this.choice = make('select', {'aria-label': 'File', onchange: () => this.show(this.choice.value, 1)});
    for (const [file, name] of this.names) this.choice.append(make('option', {value: file}, name));
    this.path = make('bdi', {dir: 'ltr'});
    this.lines = make('div', {class: 'lines code', tabindex: '0', 'aria-label': 'Source text'});
    const head = make('div', {class: 'file'}, this.choice, make('span', {class: 'path'}, this.path));
    root.append(make('div', {class: 'source'}, head, this.lines));
    this.file = undefined;
  }

  /// The lines of a file as elements, from 1 on.
  sheetOf(file) {
    if (!this.sheets.has(file)) {
      const lines = [undefined, ...this.files.get(file).map((text, i) => {
        const comment = commentIn(text);
        const code = make('span', {class: 'text'}, text.slice(0, comment));
        if (comment < text.length) code.append(make('span', {class: 'comment'}, text.slice(comment)));
        return make('div', {class: 'line'}, make('span', {class: 'number'}, String(i + 1)), code);
      })];
      const sheet = make('div', {class: 'sheet'}, ...lines.slice(1));
      if (lines.length === 1) sheet.append(make('div', {class: 'none'}, UNREADABLE));
      this.sheets.set(file, {sheet, lines});
      this.dress(file, lines);
    }
    return this.sheets.get(file);
  }

  /// Shows a file at a line, and marks lines: `marks` is a list of [file, line, name of the mark].
  show(file, line, marks = []) {
    for (const marked of this.lines.querySelectorAll('.current, .origin')) marked.classList.remove('current', 'origin');
    if (!this.files.has(file)) return;
    const {sheet, lines} = this.sheetOf(file);
    if (this.file !== file) {
      this.file = file;
      this.choice.value = file;
      this.path.textContent = file;
      this.path.title = file;
      this.lines.replaceChildren(sheet);
      this.lines.scrollTo(0, 0);
    }
    for (const [where, number, mark] of marks) if (where === file) lines[number]?.classList.add(mark);
    this.line = lines[line];
    this.bringBack();
  }

  /// Scrolls to the line that was shown last.
  bringBack() {
    if (this.line?.isConnected) bringIntoView(this.lines, this.line);
  }
}

/// Calls act(key) for keys that are not typed into something; those that it knows do nothing else.
function onKey(act) {
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (act(event.key)) event.preventDefault();
  });
}
)page"
