// SPDX-License-Identifier: BSL-1.0
//
// The model: the data of the page, sorted into lanes, with the relations that the page shows.
//
// All times are nanoseconds since the first event that was executed; null is a time that is not known. Values of fences
// and counts of entries are 64-bit numbers, which JavaScript can't hold, so they are strings.

import {makeSeries, valueAt} from './series.mjs';

/// A command is an array; these are the places of its parts. BOX_BEGIN and BOX_END say where it is drawn, which may be
/// a guess. A wait that is drawn and was not executed is the first thing that its queue has left to do. RELEASED_BY is
/// the index of the signal that released a wait, or -1. ERROR says how far the times of the execution may be from the
/// true ones; a command whose times are exact does not have it.
export const LANE = 0, IS_WAIT = 1, FENCE = 2, VALUE = 3, QUEUED = 4, OBSERVED = 5, END = 6, BOX_BEGIN = 7, BOX_END = 8,
  FLAGS = 9, RELEASED_BY = 10, ERROR = 11;

/// A span of work is an array, too. WORK_NAME is an index of workNames; the name of derived work is empty.
export const WORK_LANE = 0, WORK_NAME = 1, WORK_BEGIN = 2, WORK_END = 3;

/// A lifetime is an array, too: from when a command was queued to when it was executed. Of those of one lane that have
/// a time in common no two have the same level. One that is open ends with the trace.
export const OF_COMMAND = 0, LIFE_BEGIN = 1, LIFE_END = 2, LEVEL = 3, OPEN = 4;

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
function makeLanes({queues, engines, engineOf, isThread}) {
  const groups = [];
  const lanes = queues.map((name, index) => {
    const number = engineOf[index], engine = engines[number];
    if (number > 0 && number !== engineOf[index - 1]) groups.push({lane: index, name: engine, size: 0, threads: 0});
    if (number > 0) ++groups[groups.length - 1].size;
    if (number > 0 && isThread[index]) ++groups[groups.length - 1].threads;
    const series = Object.fromEntries(KINDS.map((kind) => [kind, []]));
    return {name, engine, isThread: isThread[index] === 1, heads: groups.length, ...series};
  });
  return {lanes, groups};
}

/// Makes both ranges hold something: `range` what was executed or lost, `queuedRange` that and what was queued.
/// Puts the lifetimes into the series of their lanes and levels, and counts how many commands are in flight.
function sortLifetimes({lanes, commands, lifetimes, lifetimeOf}) {
  const levels = lanes.map(() => []), changes = lanes.map(() => new Map());
  const change = (lane, time, by) => changes[lane].set(time, (changes[lane].get(time) ?? 0) + by);
  lifetimes.forEach(([index, begin, end, level, open], i) => {
    const lane = commands[index][LANE];
    lifetimeOf[index] = i;
    (levels[lane][level] ??= []).push([begin, end, index]);
    change(lane, begin, 1);
    if (!open) change(lane, end, -1);
  });
  lanes.forEach((lane, i) => {
    let depth = 0;
    const sorted = [...changes[i]].filter(([, by]) => by !== 0).sort((a, b) => a[0] - b[0]);
    const steps = sorted.map(([time, by]) => [time, depth += by, 0]);
    lane.levels = levels[i].map(makeSeries);
    lane.depth = makeSeries(steps);
    lane.greatestDepth = steps.reduce((most, step) => Math.max(most, step[1]), 0);
  });
}

/// Returns how many commands of a lane are in flight at `time`.
export const depthAt = (lane, time) => valueAt(lane.depth, time) ?? 0;

function completeRanges({range, queuedRange, losses}) {
  for (const {before, after} of losses) widen(range, before, after);
  if (!isEmpty(range)) widen(queuedRange, range.from, range.to);
  else if (!isEmpty(queuedRange)) Object.assign(range, queuedRange);
  else for (const bounds of [range, queuedRange]) Object.assign(bounds, {from: 0, to: 1000});
}

/// Returns the model of `data`, which is what the exporter writes:
///   {notShown, backward, queues: [name], engines: [name], engineOf: [engine of the queue],
///    isThread: [whether it is a thread that is recorded], fences: [name],
///    workNames: [name], commands: [command], work: [span],
///    losses: [[lane, is of waits, first, count, time before, time after]], lifetimes: [lifetime]}
/// The engine 0 stands for none.
/// The model has:
///   lanes          one for each queue: its name, its engine's, and a series for each kind of item; the number of a gap
///                  and of a span is its index. `levels` has a series of lifetimes for each level, with the numbers of
///                  their commands; in `depth`, the end of an item is how many commands are in flight from its begin on
///   groups         the engines that have a name: {lane: the first one, name, size, threads: how many of them}
///   commands, work, workNames    as in the data
///   losses         the gaps: {lane, waits, first, count, before, after}
///   range          from the first to the last time that was executed or lost
///   queuedRange    from the first to the last time of all
///   walk           the indices of all commands that are shown, in the order of time
///   lifetimeOf     for each command the index of its lifetime; -1 if it has none
///   firstReleased, nextReleased    chains of the waits that a signal released; -1 ends a chain
export function makeModel(data) {
  const count = data.commands.length;
  const model = {
    fences: data.fences,
    commands: data.commands,
    work: data.work,
    lifetimes: data.lifetimes,
    lifetimeOf: new Int32Array(count).fill(-1),
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
  sortLifetimes(model);
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
