// SPDX-License-Identifier: BSL-1.0
//
// The model: the data of the page, sorted into lanes, with the relations that the page shows.
//
// All times are nanoseconds since the first event that was executed; null is a time that is not known. Values of fences
// and counts of entries are 64-bit numbers, which JavaScript can't hold, so they are strings.

import {makeSeries} from './series.mjs';

/// A command is an array; these are the places of its parts. BOX_BEGIN and BOX_END say where it is drawn, which may be
/// a guess. A wait that is drawn and was not executed is the first thing that its queue has left to do. RELEASED_BY is
/// the index of the signal that released a wait, or -1.
export const LANE = 0, IS_WAIT = 1, FENCE = 2, VALUE = 3, QUEUED = 4, OBSERVED = 5, END = 6, BOX_BEGIN = 7, BOX_END = 8,
  FLAGS = 9, RELEASED_BY = 10;

/// A span of work is an array, too. WORK_NAME is an index of workNames; the name of derived work is empty.
export const WORK_LANE = 0, WORK_NAME = 1, WORK_BEGIN = 2, WORK_END = 3;

/// The flags of a command that the page looks at. 2 is set if the command is known to have been queued.
export const EXECUTED = 1, BACKWARD = 4, UNCERTAIN = 8, GUESSED = 16;

/// The kinds of items that a lane has a series of.
const KINDS = ['waits', 'signals', 'work', 'queued', 'pending', 'lost', 'backward'];

function widen(range, ...times) {
  for (const time of times) {
    if (time === null) continue;
    range.from = Math.min(range.from, time);
    range.to = Math.max(range.to, time);
  }
}

const isEmpty = (range) => !(range.from <= range.to);

/// Returns when a command is shown: at the end of its box, otherwise when it was queued, otherwise null.
export const whenShown = (command) => command[BOX_END] ?? command[QUEUED];

/// Returns whether a command is a wait that was not over when the trace ended, and for which its queue was parked.
export const isOpen = (command) => command[BOX_END] !== null && !(command[FLAGS] & EXECUTED);

function sortCommand(model, command, index) {
  const lane = model.lanes[command[LANE]], flags = command[FLAGS];
  const begin = command[BOX_BEGIN], end = command[BOX_END], queued = command[QUEUED];
  if (end !== null) {
    (command[IS_WAIT] ? lane.waits : lane.signals).push([begin, end, index]);
    if (flags & BACKWARD) lane.backward.push([end, end, index]);
    widen(model.range, begin, end);
  }
  if (queued !== null) {
    (flags & EXECUTED ? lane.queued : lane.pending).push([queued, queued, index]);
    widen(model.queuedRange, queued);
  }
  if (end !== null || queued !== null) model.walk.push(index);
  const by = command[RELEASED_BY];
  if (by >= 0) {
    model.nextReleased[index] = model.firstReleased[by];
    model.firstReleased[by] = index;
  }
}

/// Returns the lanes, and where a group of them begins that has a name. `heads` of a lane says how many groups begin at
/// it or before it. Lanes of one engine stand together.
function makeLanes({queues, engines, engineOf}) {
  const groups = [];
  const lanes = queues.map((name, index) => {
    const number = engineOf[index], engine = engines[number];
    if (number > 0 && number !== engineOf[index - 1]) groups.push({lane: index, name: engine, size: 0});
    if (number > 0) ++groups[groups.length - 1].size;
    return {name, engine, heads: groups.length, ...Object.fromEntries(KINDS.map((kind) => [kind, []]))};
  });
  return {lanes, groups};
}

/// Makes both ranges hold something: `range` what was executed or lost, `queuedRange` that and what was queued.
function completeRanges({range, queuedRange, losses}) {
  for (const {before, after} of losses) widen(range, before, after);
  if (!isEmpty(range)) widen(queuedRange, range.from, range.to);
  else if (!isEmpty(queuedRange)) Object.assign(range, queuedRange);
  else for (const bounds of [range, queuedRange]) Object.assign(bounds, {from: 0, to: 1000});
}

/// Returns the model of `data`, which is what the exporter writes:
///   {notShown, backward, queues: [name], engines: [name], engineOf: [engine of the queue], fences: [name],
///    workNames: [name], commands: [command], work: [span],
///    losses: [[lane, is of waits, first, count, time before, time after]]}
/// The engine 0 stands for none.
/// The model has:
///   lanes          one for each queue: its name, its engine's, and a series for each kind of item; the number of a gap
///                  and of a span is its index
///   groups         the engines that have a name: {lane: the first one, name, size}
///   commands, work, workNames    as in the data
///   losses         the gaps: {lane, waits, first, count, before, after}
///   range          from the first to the last time that was executed or lost
///   queuedRange    from the first to the last time of all
///   walk           the indices of all commands that are shown, in the order of time
///   firstReleased, nextReleased    chains of the waits that a signal released; -1 ends a chain
export function makeModel(data) {
  const count = data.commands.length;
  const model = {
    fences: data.fences,
    commands: data.commands,
    work: data.work,
    workNames: data.workNames,
    notShown: data.notShown,
    backward: data.backward,
    ...makeLanes(data),
    losses: data.losses.map(([lane, waits, first, lost, before, after]) => ({
      lane, waits: waits === 1, first, count: lost, before, after})),
    range: {from: Infinity, to: -Infinity},
    queuedRange: {from: Infinity, to: -Infinity},
    walk: [],
    firstReleased: new Int32Array(count).fill(-1),
    nextReleased: new Int32Array(count).fill(-1),
  };
  model.commands.forEach((command, index) => sortCommand(model, command, index));
  model.work.forEach(([lane, , begin, end], index) => {
    model.lanes[lane].work.push([begin, end, index]);
    widen(model.range, begin, end);
  });
  model.walk.sort((a, b) => whenShown(model.commands[a]) - whenShown(model.commands[b]));
  completeRanges(model);
  model.losses.forEach(({lane, before, after}, index) => {
    model.lanes[lane].lost.push([before ?? model.range.from, after ?? model.range.to, index]);
  });
  for (const lane of model.lanes) {
    for (const kind of KINDS) lane[kind] = makeSeries(lane[kind]);
  }
  return model;
}

/// Returns where a target is, which is a {command}, a span of {work} or a {loss}: {lane, from, to}. `from` and `to` are
/// null if its times are not known.
export function placeOf({commands, work, losses}, target) {
  if (target.work !== undefined) {
    const [lane, , from, to] = work[target.work];
    return {lane, from, to};
  }
  if (target.loss !== undefined) {
    const {lane, before, after} = losses[target.loss];
    return {lane, from: before ?? after, to: after ?? before};
  }
  const command = commands[target.command], time = whenShown(command);
  return {lane: command[LANE], from: command[BOX_BEGIN] ?? time, to: time};
}

/// Returns the indices of the waits that the signal `index` released.
export function* releasedBy(model, index) {
  for (let i = model.firstReleased[index]; i >= 0; i = model.nextReleased[i]) yield i;
}
