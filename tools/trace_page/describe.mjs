// SPDX-License-Identifier: BSL-1.0
//
// What the page says about the trace, a command or a gap, in words.

import {BACKWARD, BOX_BEGIN, END, ERROR, EXECUTED, FENCE, FLAGS, GUESSED, IS_WAIT, LANE, OBSERVED, QUEUED, RELEASED_BY,
        UNCERTAIN, VALUE, WORK_BEGIN, WORK_END, WORK_LANE, WORK_NAME, depthAt, isOpen, releasedBy} from './model.mjs';
import {countText, durationText, lanesText, timeText} from './text.mjs';

/// Returns the fence and the value of a command, for example "uploaded >= 3" with the mathematical sign.
export function fenceText(model, command) {
  return `${model.fences[command[FENCE]]} ${command[IS_WAIT] ? '\u2265' : '='} ${command[VALUE]}`;
}

/// Returns how many entries a gap lacks, and of which log.
export const lossText = ({count, waits}) =>
  waits ? countText(BigInt(count), 'wait') + ' lost' : countText(BigInt(count), 'signal') + ' lost';

/// Returns the facts of the header: [{text, kind}]; kind is 'strong', 'plain' or 'warn'.
export function describeTrace(model) {
  const engines = model.groups.filter(({size, threads}) => size > threads).length; // others are threads
  const facts = [
    {text: lanesText(model.lanes.length, model.lanes.filter(({isThread}) => isThread).length), kind: 'strong'},
    ...engines > 0 ? [{text: countText(engines, 'engine'), kind: 'plain'}] : [],
    {text: countText(model.commands.length, 'command'), kind: 'strong'},
  ];
  const {from, to} = model.range;
  if (model.walk.length > 0) facts.push({text: `over ${durationText(to - from)}`, kind: 'plain'});
  const lost = model.losses.reduce((sum, {count}) => sum + BigInt(count), 0n);
  const entries = countText(lost, 'log entry', 'log entries');
  const warn = (number, text) => { if (number > 0) facts.push({text, kind: 'warn'}); };
  warn(model.losses.length, `${entries} lost in ${countText(model.losses.length, 'gap')}`);
  warn(model.backward, `${countText(model.backward, 'time stamp')} went backward`);
  warn(model.notShown, `${countText(model.notShown, 'command')} without a time not shown`);
  return facts;
}

const didNotStall = (command) => command[OBSERVED] === null && command[END] !== null;

function timeRows(command) {
  const executed = command[FLAGS] & EXECUTED;
  const queued = command[QUEUED], observed = command[OBSERVED], end = command[END];
  const rows = [['queued', timeText(queued)]];
  if (command[IS_WAIT] && executed) {
    rows.push(['stalled from', didNotStall(command) ? 'did not stall' : timeText(observed)]);
  }
  if (isOpen(command)) rows.push(['next to execute from', timeText(command[BOX_BEGIN])]);
  rows.push([command[IS_WAIT] ? 'ended' : 'signalled', executed ? timeText(end) : 'execution not seen']);
  if (command[IS_WAIT] && observed !== null && end !== null) rows.push(['stalled for', durationText(end - observed)]);
  if (command[ERROR]) rows.push(['exact to', `\u00b1 ${durationText(Number(command[ERROR]))}`]);
  if (queued !== null && end !== null) rows.push(['queued for', durationText(end - queued)]);
  return rows;
}

function releaseRows(model, index) {
  const command = model.commands[index], rows = [];
  if (command[IS_WAIT] && command[FLAGS] & EXECUTED) {
    // A wait that did not stall was not released: a signal had reached its value before.
    const by = model.commands[command[RELEASED_BY]], word = didNotStall(command) ? 'reached' : 'released';
    rows.push([`${word} by`, by ? `${fenceText(model, by)} on ${model.lanes[by[LANE]].name}` : 'not known']);
    if (by && by[END] !== null && command[END] !== null) {
      const span = durationText(command[END] - by[END]);
      rows.push([word, didNotStall(command) ? `${span} before the wait` : `${span} after the signal`]);
    }
  }
  const released = [...releasedBy(model, index)].length;
  if (released > 0) rows.push(['releases', countText(released, 'wait')]);
  return rows;
}

function commandNotes(command) {
  const flags = command[FLAGS], notes = [];
  if (flags & BACKWARD) notes.push('A time stamp of this command is smaller than one before it.');
  if (isOpen(command)) {
    notes.push('It was not over when the trace ended. Until then its queue was parked, or still worked.');
  }
  if (flags & GUESSED) {
    notes.push('Its end was not recorded. It is drawn at the nearest known time of its log, or when it was queued.');
  }
  if (flags & UNCERTAIN && flags & EXECUTED) {
    notes.push('When it was queued is not known, because entries of its log were lost.');
  } else if (flags & UNCERTAIN) {
    notes.push('It may have been executed: entries of its log were lost.');
  }
  return notes;
}

/// How many commands of its queue were in flight when a command was queued, itself included.
function depthRows(model, index) {
  const command = model.commands[index];
  if (model.lifetimeOf[index] < 0) return [];
  return [['in flight then', countText(depthAt(model.lanes[command[LANE]], command[QUEUED]), 'command')]];
}

const queueRows = ({name, engine, isThread}) =>
  [[isThread ? 'thread' : 'queue', name], ...engine ? [['engine', engine]] : []];

/// Returns what is known about a command: {title, rows: [[name, text]], notes: [text]}.
export function describeCommand(model, index) {
  const command = model.commands[index];
  return {
    title: `${command[IS_WAIT] ? 'wait' : 'signal'} ${fenceText(model, command)}`,
    rows: [...queueRows(model.lanes[command[LANE]]), ...timeRows(command), ...depthRows(model, index),
           ...releaseRows(model, index)],
    notes: commandNotes(command),
  };
}

/// Returns what is known about a gap, in the same form.
export function describeLoss(model, index) {
  const loss = model.losses[index];
  return {
    title: lossText(loss),
    rows: [...queueRows(model.lanes[loss.lane]), ['first entry', `number ${loss.first}`],
           ['after', timeText(loss.before)], ['before', timeText(loss.after)]],
    notes: ['The log was overwritten before these entries were read.'],
  };
}

/// Returns what is known about a span of work, in the same form.
export function describeWork(model, index) {
  const span = model.work[index], name = model.workNames[span[WORK_NAME]];
  return {
    title: name === '' ? 'work' : name,
    rows: [...queueRows(model.lanes[span[WORK_LANE]]), ['began', timeText(span[WORK_BEGIN])],
           ['ended', timeText(span[WORK_END])], ['worked for', durationText(span[WORK_END] - span[WORK_BEGIN])]],
    notes: name === ''
      ? ['Derived from the logs: the time between two waits or signals. The queue may have had nothing to do.'] : [],
  };
}
