// SPDX-License-Identifier: BSL-1.0
//
// The labels of one frame. They are collected while boxes and bars are drawn, and are drawn last, so that nothing hides
// them. No label touches another one: the one that was added first wins.

const HEIGHT = 14, GAP = 6;

export class Labels {
  /// `widthOf` measures a text in pixels. No label leaves the pixels from `left` to `right`.
  constructor(widthOf, left, right) {
    Object.assign(this, {widthOf, left, right, placed: []});
  }

  /// Adds the first of `texts` that is at most `room` wide, its left edge at `x` and its middle at `y`, in the style
  /// {ink, ground}. Returns whether there was one and its place was free.
  add(texts, x, y, room, style) {
    const most = Math.min(room, this.right - x);
    const text = texts.find((candidate) => this.widthOf(candidate) <= most);
    if (text === undefined || x < this.left) return false;
    const label = {text, x, y, width: this.widthOf(text), ...style};
    if (this.placed.some((other) => touch(label, other))) return false;
    this.placed.push(label);
    return true;
  }

  /// Adds a text with its middle at `x`, moved so far that it does not leave the frame.
  addCentered(text, x, y, style) {
    const width = this.widthOf(text), left = Math.max(Math.min(x - width / 2, this.right - width), this.left);
    return this.add([text], left, y, width, style);
  }
}

function touch(a, b) {
  return Math.abs(a.y - b.y) < HEIGHT && a.x < b.x + b.width + GAP && b.x < a.x + a.width + GAP;
}

/// Draws labels, each with a rim of its ground so that it can be read over lines and arrows.
export function drawLabels(context, labels) {
  context.textAlign = 'left';
  context.lineJoin = 'round';
  for (const {text, x, y, ink, ground} of labels.placed) {
    context.strokeStyle = ground;
    context.lineWidth = 3;
    context.strokeText(text, x, y);
    context.fillStyle = ink;
    context.fillText(text, x, y);
  }
  context.lineWidth = 1;
}
