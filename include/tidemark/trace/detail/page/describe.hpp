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
    "uted) {\n    rows.push(['stalled from', didNotStall(command) \? 'did not stall' : timeText(observed)]);\n  }\n  i"
    "f (isOpen(command)) rows.push(['next to execute from', timeText(command[BOX_BEGIN])]);\n  rows.push([command[IS_W"
    "AIT] \? 'ended' : 'signalled', executed \? timeText(end) : 'execution not seen']);\n  if (command[IS_WAIT] && obs"
    "erved !== null && end !== null) rows.push(['stalled for', durationText(end - observed)]);\n  if (queued !== null "
    "&& end !== null) rows.push(['queued for', durationText(end - queued)]);\n  return rows;\n}\n\nfunction releaseRow"
    "s(model, index) {\n  const command = model.commands[index], rows = [];\n  if (command[IS_WAIT] && command[FLAGS] "
    "& EXECUTED) {\n    // A wait that did not stall was not released: a signal had reached its value before.\n    con"
    "st by = model.commands[command[RELEASED_BY]], word = didNotStall(command) \? 'reached' : 'released';\n    rows.pu"
    "sh([`${word} by`, by \? `${fenceText(model, by)} on ${model.lanes[by[LANE]].name}` : 'not known']);\n    if (by &"
    "& by[END] !== null && command[END] !== null) {\n      const span = durationText(command[END] - by[END]);\n      r"
    "ows.push([word, didNotStall(command) \? `${span} before the wait` : `${span} after the signal`]);\n    }\n  }\n  "
    "const released = [...releasedBy(model, index)].length;\n  if (released > 0) rows.push(['releases', countText(rele"
    "ased, 'wait')]);\n  return rows;\n}\n\nfunction commandNotes(command) {\n  const flags = command[FLAGS], notes = "
    "[];\n  if (flags & BACKWARD) notes.push('A time stamp of this command is smaller than one before it.');\n  if (is"
    "Open(command)) {\n    notes.push('It was not over when the trace ended. Until then its queue was parked, or still"
    " worked.');\n  }\n  if (flags & GUESSED) {\n    notes.push('Its end was not recorded. It is drawn at the nearest "
    "known time of its log, or when it was queued.');\n  }\n  if (flags & UNCERTAIN && flags & EXECUTED) {\n    notes."
    "push('When it was queued is not known, because entries of its log were lost.');\n  } else if (flags & UNCERTAIN) "
    "{\n    notes.push('It may have been executed: entries of its log were lost.');\n  }\n  return notes;\n}\n\nconst "
    "queueRows = ({name, engine}) => [['queue', name], ...engine \? [['engine', engine]] : []];\n\n/// Returns what is"
    " known about a command: {title, rows: [[name, text]], notes: [text]}.\nfunction describeCommand(model, index) {\n"
    "  const command = model.commands[index];\n  return {\n    title: `${command[IS_WAIT] \? 'wait' : 'signal'} ${fenc"
    "eText(model, command)}`,\n    rows: [...queueRows(model.lanes[command[LANE]]), ...timeRows(command), ...releaseRo"
    "ws(model, index)],\n    notes: commandNotes(command),\n  };\n}\n\n/// Returns what is known about a gap, in the s"
    "ame form.\nfunction describeLoss(model, index) {\n  const loss = model.losses[index];\n  return {\n    title: los"
    "sText(loss),\n    rows: [...queueRows(model.lanes[loss.lane]), ['first entry', `number ${loss.first}`],\n        "
    "   ['after', timeText(loss.before)], ['before', timeText(loss.after)]],\n    notes: ['The log was overwritten bef"
    "ore these entries were read.'],\n  };\n}\n\n/// Returns what is known about a span of work, in the same form.\nfu"
    "nction describeWork(model, index) {\n  const span = model.work[index], name = model.workNames[span[WORK_NAME]];\n"
    "  return {\n    title: name === '' \? 'work' : name,\n    rows: [...queueRows(model.lanes[span[WORK_LANE]]), ['be"
    "gan', timeText(span[WORK_BEGIN])],\n           ['ended', timeText(span[WORK_END])], ['worked for', durationText(s"
    "pan[WORK_END] - span[WORK_BEGIN])]],\n    notes: name === ''\n      \? ['Derived from the logs: the time between "
    "two waits or signals. The queue may have had nothing to do.'] : [],\n  };\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_DESCRIBE_HPP
