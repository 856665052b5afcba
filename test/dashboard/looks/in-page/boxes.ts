/** A piece of text in one line, or a control. */
export interface Box {
  readonly element: Element;
  readonly node: Node;
  readonly text: string;
  readonly rect: Edges;
}

export interface Edges {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface TextLines {
  readonly node: Text;
  readonly parent: HTMLElement;
  readonly rects: readonly DOMRect[];
}

/** What people look at: the open dialog, else the whole page. */
export function shownRoot(): Element {
  return document.querySelector("dialog[open]") ?? document.body;
}

export function isShown(element: Element): boolean {
  if (element.closest(".unseen, .skip, option, title, noscript, [hidden]") !== null) return false;
  return element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
}

/** Every visible text with the rectangle of each of its lines. */
export function shownTexts(root: Element): readonly TextLines[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: TextLines[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!(node instanceof Text) || node.data.trim() === "" || !(parent instanceof HTMLElement)) continue;
    if (!isShown(parent)) continue;
    const rects = rectsOf(node, 0, node.data.length);
    if (rects.length > 0) texts.push({ node, parent, rects });
  }
  return texts;
}

export function rectsOf(node: Text, start: number, end: number): readonly DOMRect[] {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, end);
  return [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
}

/** How many lines these rectangles are in. */
export function lineCount(rects: readonly DOMRect[]): number {
  let lines = 0;
  let bottom = Number.NEGATIVE_INFINITY;
  for (const rect of rects.toSorted((one, other) => one.top - other.top)) {
    if (rect.top < bottom - rect.height / 3) continue;
    lines += 1;
    bottom = rect.bottom;
  }
  return lines;
}

/** The element that breaks its text into lines. */
export function blockOf(element: HTMLElement): HTMLElement {
  let block = element;
  while (getComputedStyle(block).display === "inline" && block.parentElement) block = block.parentElement;
  return block;
}

export function contentWidth(element: HTMLElement): number {
  const { paddingLeft, paddingRight } = getComputedStyle(element);
  return element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}

/** Short enough for a message. */
export function named(element: Element): string {
  const name = [element.tagName.toLowerCase(), ...element.classList].join(".");
  const words = (element.getAttribute("aria-label") ?? element.textContent ?? "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return `${name} “${words.length > 60 ? `${words.slice(0, 60)}…` : words}”`;
}
