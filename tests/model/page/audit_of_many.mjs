// SPDX-License-Identifier: BSL-1.0
//
// An audit of many sites: what a program would write if its checks executed so many.

const FOLDERS = ['/home/somebody/a project/include/project/queue', '/home/somebody/a project/include/project/ring',
                 '/home/somebody/a project/third_party/a_folder_with_a_long_name/that_never_seems_to_end/include'];
const LONG = 'the_check_with_a_long_name<configuration<4, 2>>.with_parameters.and_a_shape_that_is_long, too';

/// Returns the operation of a site, its text with a column, and its weakenings; all of it depends on the number.
function operation(number) {
  const kinds = [
    ['load', 'acquire', 'const auto seen = head_.load(std::memory_order_acquire);', 'load', ['acquire -> relaxed']],
    ['store', 'release', 'tail_.store(next, memory_order_release);  // (R7): publishes the slot', 'store',
     ['release -> relaxed']],
    ['read_modify_write', 'acq_rel', '\tif (count_.fetch_sub(1, Order) == 1) \u00fcbergib(*this);', 'fetch_sub',
     ['acq_rel -> acquire', 'acq_rel -> release', 'acq_rel -> relaxed']],
    ['compare_exchange', 'seq_cst', `while (!top_.compare_exchange_weak(seen, wanted, std::memory_order::seq_cst)) ${
      'spin(attempt++, seen, wanted); '.repeat(number % 7)}`, 'compare_exchange_weak',
     ['seq_cst -> acq_rel', 'seq_cst -> relaxed', 'where it fails, seq_cst -> acquire']],
    ['fence', 'seq_cst', 'atomic_thread_fence(memory_order_seq_cst);', 'atomic_thread_fence', ['seq_cst -> acq_rel']],
    ['heavy_barrier', 'seq_cst', 'platform::heavy_barrier();', 'heavy_barrier', ['of its own thread only', 'left out']],
  ];
  const [what, order, text, name, weakenings] = kinds[number % kinds.length];
  const before = new TextEncoder().encode(text.slice(0, text.indexOf(name)));
  return {what, order, text, column: before.length + 1, weakenings};
}

const VERDICTS = ['needed', 'needed', 'needed', 'not_needed', 'needed', 'reviewed', 'needed', 'cut_off', 'needed',
                  'without_effect', 'needed', 'already_relaxed', 'needed', 'not_weakened', 'unmodelled', 'needed',
                  'a_verdict_of_the_future'];

function stepOf(what, verdict, number, key) {
  const step = {what, verdict, key: `${key} | ${what}`};
  if (verdict === 'needed') {
    Object.assign(step, {check: number % 5 === 0 ? LONG : `check ${number % 29}`, failure: 'DATA RACE',
                         search: number % 3 === 0 ? 'random' : `bound ${number % 4}`, execution: 7 * number + 1});
  }
  if (verdict === 'reviewed') step.reason = 'The lock that is held here orders all of it; see the head of the file.';
  if (verdict === 'cut_off') step.reason = 'bound 2 had no time to end';
  return step;
}

/// Returns the data of a page with so many sites, as many in each file.
export function auditOfMany(sites, files) {
  const audit = {tidemark_audit: 1, good: false, refusal: '', totals: {}, sites: [], never_executed: [], sources: []};
  const perFile = sites / files;
  for (let f = 0; f < files; ++f) {
    const file = `${FOLDERS[f % 3]}/${f % 2 ? 'hazard' : 'ring_buffer'}_${Math.floor(f / 6)}.hpp`;
    const lines = Array.from({length: 300 + 20 * f}, (_, i) =>
      i % 9 === 0 ? `// Line ${i + 1} explains what <b>follows</b>, with many words.` : `  line(${i + 1});`);
    for (let i = 0; i < perFile; ++i) {
      const number = f * perFile + i, {what, order, text, column, weakenings} = operation(number);
      const line = 12 + Math.floor(i * (lines.length - 30) / perFile), verdict = VERDICTS[number % VERDICTS.length];
      lines[line - 1] = `    ${text}`;
      const has = !['without_effect', 'already_relaxed', 'unmodelled'].includes(verdict);
      const key = `${file.slice(file.lastIndexOf('/') + 1)}: ${text.trim()}`;
      const steps = has ? weakenings.map((each, k) => stepOf(each, k > 0 ? 'needed' : verdict, number, key)) : [];
      audit.sites.push({file, line, column: column + 4, text: text.trim(), operation: what, order,
                        function: `void project::ring<T, Platform>::function_${number}(T&) [with T = int]`,
                        failure: what === 'compare_exchange' ? 'seq_cst' : '', key, beside_others: true, verdict,
                        checks: Array.from({length: 1 + number % 9}, (_, k) => `check ${(number + k) % 29}`), steps});
    }
    if (f % 4 === 0) {
      lines[lines.length - 5] = '  dropped_.fetch_add(1, std::memory_order_relaxed);';
      audit.never_executed.push({file, line: lines.length - 4, text: lines[lines.length - 5].trim(), key: 'dropped_',
                                 ...(f % 8 === 0 ? {} : {reason: 'It counts, and orders nothing.'})});
    }
    audit.sources.push({file, lines: f === 7 ? [] : lines});
  }
  return {program: '/home/somebody/a project/build/model_checks', audit};
}
