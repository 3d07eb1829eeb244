// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_draw[] = R"page(
// Draws one frame.

/// The colors that the style sheet gives, as custom properties of these names.
const COLORS = [
  'ground', 'panel', 'band', 'line', 'ink', 'faint', 'wait', 'wait-far', 'wait-edge', 'wait-ink', 'signal', 'arrow',
  'queued', 'pending', 'lost', 'lost-fill', 'lost-ink',
];

/// Draws what the view shows.
/// context   of the canvas, in CSS pixels
/// colors    by the names of COLORS
/// focus     the indices of the commands to draw with all that belongs to them
/// pointer   where to show the time, {x, y}, or null
/// Returns the labels that it drew.
function drawFrame({context, view, model, colors, focus, pointer}) {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = colors.ground;
  context.fillRect(0, 0, view.width, view.height);
  const labels = new Labels((text) => context.measureText(text).width, view.gutter + 3, view.width - 10);
  const scene = {context, view, model, colors, labels};
  drawBands(scene);
  drawAxis(scene);
  context.save();
  context.beginPath();
  context.rect(view.gutter, AXIS, view.plotWidth, view.height - AXIS);
  context.clip();
  view.eachLane((lane, index) => drawLane(scene, lane, index));
  view.eachLane((lane) => drawArrows(scene, lane));
  drawLabels(context, labels);
  for (const index of focus) drawFocus(scene, index);
  drawEmptiness(scene);
  context.restore();
  drawGutter(scene);
  drawScrollBar(scene);
  drawPointer(scene, pointer);
  return labels.placed;
}
)page";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_DRAW_HPP
