// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_DESCRIBE_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_DESCRIBE_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_describe[] =
    "\n// What the page says about the trace, a command or a gap, in words.\n\n/// Returns the fence and the value of "
    "a command, for example \"uploaded >= 3\" with the mathematical sign.\nfunction fenceText(model, command) {\n  ret"
    "urn `${model.fences[command[FENCE]]} ${command[IS_WAIT] \? '\\u2265' : '='} ${command[VALUE]}`;\n}\n\n/// Returns"
    " how many entries a gap lacks, and of which log.\nconst lossText = ({count, waits}) =>\n  waits \? countText(BigI"
    "nt(count), 'wait') + ' lost' : countText(BigInt(count), 'signal') + ' lost';\n\n/// Returns the facts of the head"
    "er: [{text, kind}]; kind is 'strong', 'plain' or 'warn'.\nfunction describeTrace(model) {\n  const facts = [\n   "
    " {text: countText(model.lanes.length, 'queue'), kind: 'strong'},\n    ...model.groups.length > 0 \? [{text: count"
    "Text(model.groups.length, 'engine'), kind: 'plain'}] : [],\n    {text: countText(model.commands.length, 'command'"
    "), kind: 'strong'},\n  ];\n  const {from, to} = model.range;\n  if (model.walk.length > 0) facts.push({text: `ove"
    "r ${durationText(to - from)}`, kind: 'plain'});\n  const lost = model.losses.reduce((sum, {count}) => sum + BigIn"
    "t(count), 0n);\n  const entries = countText(lost, 'log entry', 'log entries');\n  const warn = (number, text) => "
    "{ if (number > 0) facts.push({text, kind: 'warn'}); };\n  warn(model.losses.length, `${entries} lost in ${countTe"
    "xt(model.losses.length, 'gap')}`);\n  warn(model.backward, `${countText(model.backward, 'time stamp')} went backw"
    "ard`);\n  warn(model.notShown, `${countText(model.notShown, 'command')} without a time not shown`);\n  return fac"
    "ts;\n}\n\nconst didNotStall = (command) => command[OBSERVED] === null && command[END] !== null;\n\nfunction timeR"
    "ows(command) {\n  const executed = command[FLAGS] & EXECUTED;\n  const queued = command[QUEUED], observed = comma"
    "nd[OBSERVED], end = command[END];\n  const rows = [['queued', timeText(queued)]];\n  if (command[IS_WAIT] && exec"
    "uted) {\n    rows.push(['stalled from', didNotStall(command) \? 'did not stall' : timeText(observed)]);\n  }\n  r"
    "ows.push([command[IS_WAIT] \? 'ended' : 'signalled', executed \? timeText(end) : 'execution not seen']);\n  if (c"
    "ommand[IS_WAIT] && observed !== null && end !== null) rows.push(['stalled for', durationText(end - observed)]);\n"
    "  if (queued !== null && end !== null) rows.push(['queued for', durationText(end - queued)]);\n  return rows;\n}"
    "\n\nfunction releaseRows(model, index) {\n  const command = model.commands[index], rows = [];\n  if (command[IS_W"
    "AIT] && command[FLAGS] & EXECUTED) {\n    // A wait that did not stall was not released: a signal had reached its"
    " value before.\n    const by = model.commands[command[RELEASED_BY]], word = didNotStall(command) \? 'reached' : '"
    "released';\n    rows.push([`${word} by`, by \? `${fenceText(model, by)} on ${model.lanes[by[LANE]].name}` : 'not "
    "known']);\n    if (by && by[END] !== null && command[END] !== null) {\n      const span = durationText(command[EN"
    "D] - by[END]);\n      rows.push([word, didNotStall(command) \? `${span} before the wait` : `${span} after the sig"
    "nal`]);\n    }\n  }\n  const released = [...releasedBy(model, index)].length;\n  if (released > 0) rows.push(['re"
    "leases', countText(released, 'wait')]);\n  return rows;\n}\n\nfunction commandNotes(command) {\n  const flags = c"
    "ommand[FLAGS], notes = [];\n  if (flags & BACKWARD) notes.push('A time stamp of this command is smaller than one "
    "before it.');\n  if (flags & GUESSED) {\n    notes.push('Its end was not recorded. It is drawn at the nearest kno"
    "wn time of its log, or when it was queued.');\n  }\n  if (flags & UNCERTAIN && flags & EXECUTED) {\n    notes.pus"
    "h('When it was queued is not known, because entries of its log were lost.');\n  } else if (flags & UNCERTAIN) {\n"
    "    notes.push('It may have been executed: entries of its log were lost.');\n  }\n  return notes;\n}\n\nconst que"
    "ueRows = ({name, engine}) => [['queue', name], ...engine \? [['engine', engine]] : []];\n\n/// Returns what is kn"
    "own about a command: {title, rows: [[name, text]], notes: [text]}.\nfunction describeCommand(model, index) {\n  c"
    "onst command = model.commands[index];\n  return {\n    title: `${command[IS_WAIT] \? 'wait' : 'signal'} ${fenceTe"
    "xt(model, command)}`,\n    rows: [...queueRows(model.lanes[command[LANE]]), ...timeRows(command), ...releaseRows("
    "model, index)],\n    notes: commandNotes(command),\n  };\n}\n\n/// Returns what is known about a gap, in the same"
    " form.\nfunction describeLoss(model, index) {\n  const loss = model.losses[index];\n  return {\n    title: lossTe"
    "xt(loss),\n    rows: [...queueRows(model.lanes[loss.lane]), ['first entry', `number ${loss.first}`],\n           "
    "['after', timeText(loss.before)], ['before', timeText(loss.after)]],\n    notes: ['The log was overwritten before"
    " these entries were read.'],\n  };\n}\n\n/// Returns what is known about a span of work, in the same form.\nfunct"
    "ion describeWork(model, index) {\n  const span = model.work[index], name = model.workNames[span[WORK_NAME]];\n  r"
    "eturn {\n    title: name === '' \? 'work' : name,\n    rows: [...queueRows(model.lanes[span[WORK_LANE]]), ['began"
    "', timeText(span[WORK_BEGIN])],\n           ['ended', timeText(span[WORK_END])], ['worked for', durationText(span"
    "[WORK_END] - span[WORK_BEGIN])]],\n    notes: name === ''\n      \? ['Derived from the logs: the time between two"
    " waits or signals. The queue may have had nothing to do.'] : [],\n  };\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_DESCRIBE_HPP
