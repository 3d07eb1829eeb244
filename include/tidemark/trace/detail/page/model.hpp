// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_MODEL_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_MODEL_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_model[] =
    "\n// The model: the data of the page, sorted into lanes, with the relations that the page shows.\n//\n// All time"
    "s are nanoseconds since the first event that was executed; null is a time that is not known. Values of fences\n//"
    " and counts of entries are 64-bit numbers, which JavaScript can't hold, so they are strings.\n\n/// A command is "
    "an array; these are the places of its parts. BOX_BEGIN and BOX_END say where it is drawn, which may be\n/// a gue"
    "ss. A wait that is drawn and was not executed is the first thing that its queue has left to do. RELEASED_BY is\n/"
    "// the index of the signal that released a wait, or -1.\nconst LANE = 0, IS_WAIT = 1, FENCE = 2, VALUE = 3, QUEUE"
    "D = 4, OBSERVED = 5, END = 6, BOX_BEGIN = 7, BOX_END = 8,\n  FLAGS = 9, RELEASED_BY = 10;\n\n/// A span of work i"
    "s an array, too. WORK_NAME is an index of workNames; the name of derived work is empty.\nconst WORK_LANE = 0, WOR"
    "K_NAME = 1, WORK_BEGIN = 2, WORK_END = 3;\n\n/// The flags of a command that the page looks at. 2 is set if the c"
    "ommand is known to have been queued.\nconst EXECUTED = 1, BACKWARD = 4, UNCERTAIN = 8, GUESSED = 16;\n\n/// The k"
    "inds of items that a lane has a series of.\nconst KINDS = ['waits', 'signals', 'work', 'queued', 'pending', 'lost"
    "', 'backward'];\n\nfunction widen(range, ...times) {\n  for (const time of times) {\n    if (time === null) conti"
    "nue;\n    range.from = Math.min(range.from, time);\n    range.to = Math.max(range.to, time);\n  }\n}\n\nconst isE"
    "mpty = (range) => !(range.from <= range.to);\n\n/// Returns when a command is shown: at the end of its box, other"
    "wise when it was queued, otherwise null.\nconst whenShown = (command) => command[BOX_END] \?\? command[QUEUED];\n"
    "\n/// Returns whether a command is a wait that was not over when the trace ended, and for which its queue was par"
    "ked.\nconst isOpen = (command) => command[BOX_END] !== null && !(command[FLAGS] & EXECUTED);\n\nfunction sortComm"
    "and(model, command, index) {\n  const lane = model.lanes[command[LANE]], flags = command[FLAGS];\n  const begin ="
    " command[BOX_BEGIN], end = command[BOX_END], queued = command[QUEUED];\n  if (end !== null) {\n    (command[IS_WA"
    "IT] \? lane.waits : lane.signals).push([begin, end, index]);\n    if (flags & BACKWARD) lane.backward.push([end, "
    "end, index]);\n    widen(model.range, begin, end);\n  }\n  if (queued !== null) {\n    (flags & EXECUTED \? lane."
    "queued : lane.pending).push([queued, queued, index]);\n    widen(model.queuedRange, queued);\n  }\n  if (end !== "
    "null || queued !== null) model.walk.push(index);\n  const by = command[RELEASED_BY];\n  if (by >= 0) {\n    model"
    ".nextReleased[index] = model.firstReleased[by];\n    model.firstReleased[by] = index;\n  }\n}\n\n/// Returns the "
    "lanes, and where a group of them begins that has a name. `heads` of a lane says how many groups begin at\n/// it "
    "or before it. Lanes of one engine stand together.\nfunction makeLanes({queues, engines, engineOf}) {\n  const gro"
    "ups = [];\n  const lanes = queues.map((name, index) => {\n    const number = engineOf[index], engine = engines[nu"
    "mber];\n    if (number > 0 && number !== engineOf[index - 1]) groups.push({lane: index, name: engine, size: 0});"
    "\n    if (number > 0) ++groups[groups.length - 1].size;\n    return {name, engine, heads: groups.length, ...Objec"
    "t.fromEntries(KINDS.map((kind) => [kind, []]))};\n  });\n  return {lanes, groups};\n}\n\n/// Makes both ranges ho"
    "ld something: `range` what was executed or lost, `queuedRange` that and what was queued.\nfunction completeRanges"
    "({range, queuedRange, losses}) {\n  for (const {before, after} of losses) widen(range, before, after);\n  if (!is"
    "Empty(range)) widen(queuedRange, range.from, range.to);\n  else if (!isEmpty(queuedRange)) Object.assign(range, q"
    "ueuedRange);\n  else for (const bounds of [range, queuedRange]) Object.assign(bounds, {from: 0, to: 1000});\n}\n"
    "\n/// Returns the model of `data`, which is what the exporter writes:\n///   {notShown, backward, queues: [name],"
    " engines: [name], engineOf: [engine of the queue], fences: [name],\n///    workNames: [name], commands: [command]"
    ", work: [span],\n///    losses: [[lane, is of waits, first, count, time before, time after]]}\n/// The engine 0 s"
    "tands for none.\n/// The model has:\n///   lanes          one for each queue: its name, its engine's, and a serie"
    "s for each kind of item; the number of a gap\n///                  and of a span is its index\n///   groups      "
    "   the engines that have a name: {lane: the first one, name, size}\n///   commands, work, workNames    as in the "
    "data\n///   losses         the gaps: {lane, waits, first, count, before, after}\n///   range          from the fi"
    "rst to the last time that was executed or lost\n///   queuedRange    from the first to the last time of all\n/// "
    "  walk           the indices of all commands that are shown, in the order of time\n///   firstReleased, nextRelea"
    "sed    chains of the waits that a signal released; -1 ends a chain\nfunction makeModel(data) {\n  const count = d"
    "ata.commands.length;\n  const model = {\n    fences: data.fences,\n    commands: data.commands,\n    work: data.w"
    "ork,\n    workNames: data.workNames,\n    notShown: data.notShown,\n    backward: data.backward,\n    ...makeLane"
    "s(data),\n    losses: data.losses.map(([lane, waits, first, lost, before, after]) => ({\n      lane, waits: waits"
    " === 1, first, count: lost, before, after})),\n    range: {from: Infinity, to: -Infinity},\n    queuedRange: {fro"
    "m: Infinity, to: -Infinity},\n    walk: [],\n    firstReleased: new Int32Array(count).fill(-1),\n    nextReleased"
    ": new Int32Array(count).fill(-1),\n  };\n  model.commands.forEach((command, index) => sortCommand(model, command,"
    " index));\n  model.work.forEach(([lane, , begin, end], index) => {\n    model.lanes[lane].work.push([begin, end, "
    "index]);\n    widen(model.range, begin, end);\n  });\n  model.walk.sort((a, b) => whenShown(model.commands[a]) - "
    "whenShown(model.commands[b]));\n  completeRanges(model);\n  model.losses.forEach(({lane, before, after}, index) ="
    "> {\n    model.lanes[lane].lost.push([before \?\? model.range.from, after \?\? model.range.to, index]);\n  });\n "
    " for (const lane of model.lanes) {\n    for (const kind of KINDS) lane[kind] = makeSeries(lane[kind]);\n  }\n  re"
    "turn model;\n}\n\n/// Returns where a target is, which is a {command}, a span of {work} or a {loss}: {lane, from,"
    " to}. `from` and `to` are\n/// null if its times are not known.\nfunction placeOf({commands, work, losses}, targe"
    "t) {\n  if (target.work !== undefined) {\n    const [lane, , from, to] = work[target.work];\n    return {lane, fr"
    "om, to};\n  }\n  if (target.loss !== undefined) {\n    const {lane, before, after} = losses[target.loss];\n    re"
    "turn {lane, from: before \?\? after, to: after \?\? before};\n  }\n  const command = commands[target.command], ti"
    "me = whenShown(command);\n  return {lane: command[LANE], from: command[BOX_BEGIN] \?\? time, to: time};\n}\n\n///"
    " Returns the indices of the waits that the signal `index` released.\nfunction* releasedBy(model, index) {\n  for "
    "(let i = model.firstReleased[index]; i >= 0; i = model.nextReleased[i]) yield i;\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_MODEL_HPP
