// SPDX-License-Identifier: BSL-1.0
//
// Times, durations, counts and the ticks of the time axis, as text.

const UNITS = [
  {size: 1e9, name: 's', decimals: 9}, {size: 1e6, name: 'ms', decimals: 6}, {size: 1e3, name: '\u00b5s', decimals: 3},
  {size: 1, name: 'ns', decimals: 0},
];
const unitFor = (nanoseconds) => UNITS.find(({size}) => Math.abs(nanoseconds) >= size) ?? UNITS[3];

function inUnit(nanoseconds, unit, decimals) {
  const digits = {minimumFractionDigits: decimals, maximumFractionDigits: decimals};
  return `${(nanoseconds / unit.size).toLocaleString('en', digits).replace('-', '\u2212')} ${unit.name}`;
}

/// Returns a time, exact to the nanosecond.
export function timeText(nanoseconds) {
  if (nanoseconds === null) return 'not known';
  const unit = unitFor(nanoseconds);
  return inUnit(nanoseconds, unit, unit.decimals);
}

/// Returns a duration with three decimals at most.
export function durationText(nanoseconds) {
  const unit = unitFor(nanoseconds);
  return inUnit(nanoseconds, unit, Math.min(unit.decimals, 3));
}

/// Returns a number and what is counted. `number` may be a BigInt.
export function countText(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString('en')} ${String(number) === '1' ? singular : plural}`;
}

/// Returns how many queues and threads there are, for example "2 queues, 3 threads".
export function lanesText(count, threads) {
  const parts = [];
  if (count > threads || threads === 0) parts.push(countText(count - threads, 'queue'));
  if (threads > 0) parts.push(countText(threads, 'thread'));
  return parts.join(', ');
}

/// Returns the ticks of an axis from one time to another on `width` pixels, as [{time, text}]. They are at least 100
/// pixels apart, at round numbers of nanoseconds, and all in one unit.
export function axisTicks(from, to, width) {
  const least = (to - from) / width * 100, power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least));
  const unit = unitFor(Math.max(Math.abs(from), Math.abs(to)));
  const decimals = Math.max(0, Math.ceil(Math.log10(unit.size / step) - 1e-9));
  const first = Math.ceil(from / step), count = Math.floor(to / step) - first + 1;
  return Array.from({length: Math.max(0, Math.min(count, Math.ceil(width / 100) + 1))}, (_, i) => {
    const time = (first + i) * step;
    return {time, text: inUnit(time, unit, decimals)};
  });
}

/// Returns `text`, cut and with an ellipsis if it is wider than `width`; nothing if not even one character fits.
export function shorten(text, width, widthOf) {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(text); // whole code points, so that no pair of surrogates is cut in two
  let low = 0, high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(`${characters.slice(0, middle).join('')}\u2026`) <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${characters.slice(0, low).join('')}\u2026` : '';
}
