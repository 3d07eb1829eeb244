// SPDX-License-Identifier: BSL-1.0
//
// Times, counts, ticks and shortened names.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {axisTicks, countText, durationText, lanesText, shorten, timeText} from '../../../tools/trace_page/text.mjs';

const MICRO = '\u00b5s', MINUS = '\u2212';

test('times are exact to the nanosecond, durations have three decimals at most', () => {
  assert.equal(timeText(0), '0 ns');
  assert.equal(timeText(999), '999 ns');
  assert.equal(timeText(1_234), `1.234 ${MICRO}`);
  assert.equal(timeText(-1_234_567), `${MINUS}1.234567 ms`);
  assert.equal(timeText(3_723_000_000_001), '3,723.000000001 s');
  assert.equal(timeText(null), 'not known');
  assert.equal(durationText(1_234_567), '1.235 ms');
  assert.equal(durationText(12), '12 ns');
});

test('counts are grouped and have the right number', () => {
  assert.equal(countText(1, 'wait'), '1 wait');
  assert.equal(countText(0, 'wait'), '0 waits');
  assert.equal(countText(12_500, 'wait'), '12,500 waits');
  assert.equal(countText(1n, 'log entry', 'log entries'), '1 log entry');
  assert.equal(countText(2n ** 64n, 'log entry', 'log entries'), '18,446,744,073,709,551,616 log entries');
});

test('ticks are round, in view, far enough apart and different, from nanoseconds to decades', () => {
  for (const from of [0, 17, -3e5, 1e9, 1e18, -1e18]) {
    for (let span = 20; span < 1e19; span *= 7.3) {
      if (Math.abs(from) * 2e-13 > span) continue; // the view does not zoom in so far
      for (const width of [50, 1000, 5000]) {
        const to = from + span, ticks = axisTicks(from, to, width);
        const step = ticks.length > 1 ? ticks[1].time - ticks[0].time : 0;
        assert.ok(ticks.length <= width / 100 + 1);
        if (width >= 1000) assert.ok(ticks.length >= 4, `${ticks.length} ticks from ${from} over ${span}`);
        for (const {time} of ticks) assert.ok(time >= from - 1e-9 * span && time <= to + 1e-9 * span);
        assert.equal(new Set(ticks.map(({text}) => text)).size, ticks.length);
        if (step > 0) assert.ok(step / span * width >= 99);
      }
    }
  }
});

test('the ticks of an ordinary view are what a reader expects', () => {
  assert.deepEqual(axisTicks(-100, 4_100_000, 500).map(({text}) => text), ['0 ms', '1 ms', '2 ms', '3 ms', '4 ms']);
  assert.deepEqual(axisTicks(999_990, 1_000_010, 1000).map(({time}) => time),
                   Array.from({length: 11}, (_, i) => 999_990 + 2 * i));
  assert.equal(axisTicks(999_990, 1_000_010, 1000)[0].text, '0.999990 ms');
});

test('names are cut so that they fit, and never within a character', () => {
  const widthOf = (text) => 6 * Array.from(text).length;
  assert.equal(shorten('copy', 24, widthOf), 'copy');
  assert.equal(shorten('copying', 24, widthOf), 'cop\u2026');
  assert.equal(shorten('copying', 6, widthOf), '');
  const unitsOf = (text) => 6 * text.length; // two for each wave
  assert.equal(shorten('\u{1F30A}\u{1F30A}\u{1F30A}', 24, unitsOf), '\u{1F30A}\u2026');
});

test('queues and threads are counted apart', () => {
  assert.deepEqual([lanesText(0, 0), lanesText(1, 0), lanesText(4, 3), lanesText(2, 2), lanesText(3, 1)],
                   ['0 queues', '1 queue', '1 queue, 3 threads', '2 threads', '2 queues, 1 thread']);
});
