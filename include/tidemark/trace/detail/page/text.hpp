// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_TEXT_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_TEXT_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_text[] =
    "\n// Times, durations, counts and the ticks of the time axis, as text.\n\nconst UNITS = [\n  {size: 1e9, name: 's"
    "', decimals: 9}, {size: 1e6, name: 'ms', decimals: 6}, {size: 1e3, name: '\\u00b5s', decimals: 3},\n  {size: 1, n"
    "ame: 'ns', decimals: 0},\n];\nconst unitFor = (nanoseconds) => UNITS.find(({size}) => Math.abs(nanoseconds) >= si"
    "ze) \?\? UNITS[3];\n\nfunction inUnit(nanoseconds, unit, decimals) {\n  const digits = {minimumFractionDigits: de"
    "cimals, maximumFractionDigits: decimals};\n  return `${(nanoseconds / unit.size).toLocaleString('en', digits).rep"
    "lace('-', '\\u2212')} ${unit.name}`;\n}\n\n/// Returns a time, exact to the nanosecond.\nfunction timeText(nanose"
    "conds) {\n  if (nanoseconds === null) return 'not known';\n  const unit = unitFor(nanoseconds);\n  return inUnit("
    "nanoseconds, unit, unit.decimals);\n}\n\n/// Returns a duration with three decimals at most.\nfunction durationTe"
    "xt(nanoseconds) {\n  const unit = unitFor(nanoseconds);\n  return inUnit(nanoseconds, unit, Math.min(unit.decimal"
    "s, 3));\n}\n\n/// Returns a number and what is counted. `number` may be a BigInt.\nfunction countText(number, sin"
    "gular, plural = `${singular}s`) {\n  return `${number.toLocaleString('en')} ${String(number) === '1' \? singular "
    ": plural}`;\n}\n\n/// Returns the ticks of an axis from one time to another on `width` pixels, as [{time, text}]."
    " They are at least 100\n/// pixels apart, at round numbers of nanoseconds, and all in one unit.\nfunction axisTic"
    "ks(from, to, width) {\n  const least = (to - from) / width * 100, power = 10 ** Math.floor(Math.log10(least));\n "
    " const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least));\n  const unit = unitFor(M"
    "ath.max(Math.abs(from), Math.abs(to)));\n  const decimals = Math.max(0, Math.ceil(Math.log10(unit.size / step) - "
    "1e-9));\n  const first = Math.ceil(from / step), count = Math.floor(to / step) - first + 1;\n  return Array.from("
    "{length: Math.max(0, Math.min(count, Math.ceil(width / 100) + 1))}, (_, i) => {\n    const time = (first + i) * s"
    "tep;\n    return {time, text: inUnit(time, unit, decimals)};\n  });\n}\n\n/// Returns `text`, cut and with an ell"
    "ipsis if it is wider than `width`; nothing if not even one character fits.\nfunction shorten(text, width, widthOf"
    ") {\n  if (widthOf(text) <= width) return text;\n  const characters = Array.from(text); // whole code points, so "
    "that no pair of surrogates is cut in two\n  let low = 0, high = characters.length;\n  while (low < high) {\n    c"
    "onst middle = (low + high + 1) >> 1;\n    if (widthOf(`${characters.slice(0, middle).join('')}\\u2026`) <= width)"
    " low = middle;\n    else high = middle - 1;\n  }\n  return low > 0 \? `${characters.slice(0, low).join('')}\\u202"
    "6` : '';\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_TEXT_HPP
