// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_style[] = R"page(/* SPDX-License-Identifier: BSL-1.0 */
:root {
  color-scheme: light dark;
  --ground: #ffffff;
  --panel: #f6f7f9;
  --band: #fafbfc;
  --line: #e3e5ea;
  --ink: #1c1f26;
  --faint: #5c6270;
  --wait: #f8c9da;
  --wait-far: #efabc4;
  --wait-edge: #c9527f;
  --wait-ink: #6d1c3d;
  --signal: #a8124e;
  --arrow: #4463b5;
  --queued: #22897e;
  --pending: #c2410c;
  --lost: #b87700;
  --lost-fill: #fff3d6;
  --lost-ink: #7a4d00;
  --shadow: 0 4px 18px #0003;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14161b;
    --panel: #1b1e25;
    --band: #181b21;
    --line: #2b303a;
    --ink: #e8eaf0;
    --faint: #a0a7b6;
    --wait: #5b3146;
    --wait-far: #834863;
    --wait-edge: #a85f7f;
    --wait-ink: #ffd9e6;
    --signal: #ff6ba1;
    --arrow: #8cacff;
    --queued: #46c2b3;
    --pending: #ff8a4c;
    --lost: #f0b13c;
    --lost-fill: #2e2715;
    --lost-ink: #f7c869;
    --shadow: 0 4px 18px #000a;
  }
}
* {
  box-sizing: border-box;
}
html, body {
  height: 100%;
  margin: 0;
}
body {
  display: flex;
  flex-direction: column;
  background: var(--ground);
  color: var(--ink);
  font: 13px/1.45 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
header, footer {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 18px;
  padding: 8px 14px;
  background: var(--panel);
}
header {
  border-bottom: 1px solid var(--line);
}
footer {
  border-top: 1px solid var(--line);
  color: var(--faint);
  font-size: 12px;
  padding: 5px 14px;
}
h1 {
  font-size: 15px;
  font-weight: 650;
  margin: 0;
  letter-spacing: .01em;
}
#facts {
  color: var(--faint);
}
#facts .strong {
  color: var(--ink);
  font-weight: 600;
}
#facts .warn {
  color: var(--lost-ink);
  font-weight: 600;
}
.buttons {
  margin-left: auto;
  display: flex;
  gap: 6px;
}
button {
  font: inherit;
  color: inherit;
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 6px;
  min-width: 30px;
  padding: 2px 9px;
  cursor: pointer;
}
button:hover {
  border-color: var(--faint);
}
button:focus-visible, canvas:focus-visible {
  outline: 2px solid var(--arrow);
  outline-offset: -2px;
}
kbd {
  font: inherit;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 5px;
  background: var(--ground);
  color: var(--ink);
}
.legend {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 16px;
}
.legend span {
  display: inline-flex;
  align-items: center;
  gap: 6px;
}
.legend svg {
  width: 26px;
  height: 14px;
  overflow: visible;
}
.keys {
  margin-left: auto;
}
main {
  flex: 1;
  position: relative;
  min-height: 0;
  overflow: hidden;
}
canvas {
  position: absolute;
  inset: 0;
  width: 100%;
  height: 100%;
  touch-action: none;
  cursor: grab;
}
canvas.dragging {
  cursor: grabbing;
}
#tip {
  position: absolute;
  left: 0;
  top: 0;
  max-width: min(380px, 90%);
  padding: 8px 11px;
  border-radius: 8px;
  pointer-events: none;
  background: var(--panel);
  border: 1px solid var(--line);
  box-shadow: var(--shadow);
  font-size: 12px;
}
#tip h2 {
  font-size: 13px;
  margin: 0 0 4px;
  overflow-wrap: anywhere;
}
#tip dl {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: 1px 12px;
  margin: 0;
}
#tip dt {
  color: var(--faint);
}
#tip dd {
  margin: 0;
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
#tip p {
  margin: 5px 0 0;
  color: var(--lost-ink);
}
/* Read aloud, not shown. */
#said {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
/* Without a keyboard, or without room for it, the keys are not explained. */
@media (pointer: coarse), (max-width: 700px), (max-height: 500px) {
  .keys {
    display: none;
  }
}
@media (max-height: 340px) {
  footer {
    display: none;
  }
}
)page";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP
