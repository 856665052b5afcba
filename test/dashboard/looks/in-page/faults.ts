import {
  type Box,
  blockOf,
  contentWidth,
  type Edges,
  isShown,
  lineCount,
  named,
  rectsOf,
  shownRoot,
  shownTexts,
  type TextLines,
} from "./boxes.ts";

/** Below this width lists have two lines to a row or are cards, and from it on they are tables. */
const phoneUpTo = 600;
const minCharsPerLine = 16;
const longestUnbroken = 24;
const maxRowHeight = 64;
/** Neighbours that touch are no overlap; the boxes of text are a little higher than its letters. */
const slack = { x: 2, y: 4 };

/** The least widths that places were designed for, in windows that are wide enough. */
const leastWidths = {
  ".self-service main": 900,
  ".self-service main .card": 320,
  ".sign-in .card": 320,
  "main#content": 640,
};

/** What is wrong with the layout of the page as it is now, in sentences; nothing if all is well. */
function layoutFaults(): readonly string[] {
  const root = shownRoot();
  const texts = shownTexts(root);
  const faults = [
    ...scrolling(),
    ...narrowPlaces(),
    ...narrowTexts(texts),
    ...brokenWords(texts),
    ...overlaps(texts, root),
    ...clipped(root),
    ...cutFields(root),
    ...lists(root),
  ];
  return [...new Set(faults)];
}

function scrolling(): readonly string[] {
  const wider = document.documentElement.scrollWidth - innerWidth;
  return wider > 0 ? [`The page is ${wider} px wider than its window.`] : [];
}

function narrowPlaces(): readonly string[] {
  return Object.entries(leastWidths).flatMap(([selector, least]) =>
    [...document.querySelectorAll<HTMLElement>(selector)].flatMap((place) => {
      const { width } = place.getBoundingClientRect();
      const expected = Math.min(least, innerWidth - 80);
      return isShown(place) && width < expected
        ? [`${selector} is ${Math.round(width)} px wide: at least ${expected}.`]
        : [];
    }),
  );
}

/** Text of three lines or more needs room for some words in each. */
function narrowTexts(texts: readonly TextLines[]): readonly string[] {
  const blocks = Map.groupBy(texts, ({ parent }) => blockOf(parent));
  return [...blocks].flatMap(([block, parts]) => {
    const rects = parts.flatMap((part) => part.rects);
    if (lineCount(rects) < 3) return [];
    const characters = parts.reduce((sum, { node }) => sum + node.data.trim().length, 0);
    const written = rects.reduce((sum, { width }) => sum + width, 0);
    const room = contentWidth(block) / (written / characters);
    return room < minCharsPerLine
      ? [`${named(block)} has room for ${Math.round(room)} characters in a line.`]
      : [];
  });
}

function brokenWords(texts: readonly TextLines[]): readonly string[] {
  return texts
    .filter(({ rects }) => lineCount(rects) > 1)
    .flatMap(({ node, parent }) =>
      [...node.data.matchAll(/[^\s\-–—/]+/g)].flatMap(({ 0: word, index }) => {
        if (word.length > longestUnbroken) return [];
        const isBroken = lineCount(rectsOf(node, index, index + word.length)) > 1;
        return isBroken ? [`“${word}” is broken in the middle, in ${named(parent)}.`] : [];
      }),
    );
}

/** What lies on top of the page on purpose. */
const layers = ".side, .notices, [role=menu], [role=listbox], .search .icon";

function overlaps(texts: readonly TextLines[], root: Element): readonly string[] {
  const controls = [
    ...root.querySelectorAll("button, input, select, textarea, meter, canvas, img, summary"),
  ].filter(isShown);
  const clips = new Clips();
  const boxes: Box[] = [
    ...texts.flatMap(({ node, parent, rects }) =>
      rects.map((rect) => ({
        element: parent,
        node,
        rect: common(rect, clips.of(parent)),
        text: node.data.trim(),
      })),
    ),
    ...controls.map((element) => ({
      element,
      node: element,
      rect: common(element.getBoundingClientRect(), clips.of(element.parentElement)),
      text: named(element),
    })),
  ].filter(
    ({ element, rect }) =>
      element.closest(layers) === null && rect.right > rect.left && rect.bottom > rect.top,
  );
  boxes.sort((one, other) => one.rect.top - other.rect.top);
  const faults: string[] = [];
  for (const [place, one] of boxes.entries()) {
    for (let next = place + 1; next < boxes.length; next += 1) {
      const other = boxes[next];
      if (other === undefined || other.rect.top > one.rect.bottom - slack.y) break;
      if (one.node.contains(other.node) || other.node.contains(one.node)) continue;
      const across = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left);
      const down = Math.min(one.rect.bottom, other.rect.bottom) - other.rect.top;
      if (across > slack.x && down > slack.y) faults.push(`“${one.text}” and “${other.text}” overlap.`);
    }
  }
  return faults;
}

const everything: Edges = { left: -1e6, right: 1e6, top: -1e6, bottom: 1e6 };

/** The part of a window that places around an element leave, because they hide or scroll their content. */
class Clips {
  readonly #known = new Map<Element, Edges>();

  of(element: Element | null): Edges {
    if (element === null) return everything;
    const known = this.#known.get(element) ?? this.#measure(element);
    this.#known.set(element, known);
    return known;
  }

  #measure(element: Element): Edges {
    const around = this.of(element.parentElement);
    const { overflowX, display } = getComputedStyle(element);
    return overflowX === "visible" || display === "inline"
      ? around
      : common(around, element.getBoundingClientRect());
  }
}

function common(one: Edges, other: Edges): Edges {
  return {
    left: Math.max(one.left, other.left),
    right: Math.min(one.right, other.right),
    top: Math.max(one.top, other.top),
    bottom: Math.min(one.bottom, other.bottom),
  };
}

/** What is hidden needs an ellipsis, and a title with the whole text. */
function clipped(root: Element): readonly string[] {
  return [...root.querySelectorAll<HTMLElement>("*")].flatMap((element) => {
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
    if (overflowX === "visible" || !isShown(element) || element instanceof HTMLInputElement) return [];
    const hides = (overflow: string) => overflow === "hidden" || overflow === "clip";
    if (hides(overflowY) && element.scrollHeight > element.clientHeight + 3 && element.clientHeight > 0)
      return [`${named(element)} is cut at its bottom.`];
    if (element.scrollWidth <= element.clientWidth + 1) return [];
    if (!hides(overflowX)) {
      const canScroll = element.matches("[tabindex], textarea") || element === document.documentElement;
      return canScroll ? [] : [`${named(element)} scrolls sideways.`];
    }
    if (textOverflow !== "ellipsis") return [`${named(element)} is cut without an ellipsis.`];
    return element.closest("[title]:not([title=''])") === null
      ? [`${named(element)} is cut without a title.`]
      : [];
  });
}

const canvas = document.createElement("canvas").getContext("2d");

function widthOf(text: string, field: HTMLElement): number {
  if (canvas === null) return 0;
  canvas.font = getComputedStyle(field).font;
  return canvas.measureText(text).width;
}

/** A choice or a placeholder that does not fit, and says itself nowhere else. */
function cutFields(root: Element): readonly string[] {
  return [...root.querySelectorAll<HTMLInputElement | HTMLSelectElement>("select, input")].flatMap(
    (field) => {
      if (!isShown(field) || field.title !== "") return [];
      const text =
        field instanceof HTMLSelectElement
          ? field.selectedOptions[0]?.text
          : field.value === ""
            ? field.placeholder
            : "";
      if (!text || widthOf(text, field) <= contentWidth(field) + 1) return [];
      return [`“${text}” is cut in ${field.getAttribute("aria-label") ?? field.name ?? "a field"}.`];
    },
  );
}

function lists(root: Element): readonly string[] {
  return [...root.querySelectorAll<HTMLTableElement>("table.rows")].filter(isShown).flatMap((table) => {
    const { display } = getComputedStyle(table);
    if (innerWidth >= phoneUpTo) return display === "table" ? [] : [`${named(table)} is no table.`];
    if (!table.classList.contains("compact")) return [];
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const tallest = Math.max(0, ...rows.map((row) => row.getBoundingClientRect().height));
    return tallest > maxRowHeight
      ? [`A row of a list is ${Math.round(tallest)} px tall: at most ${maxRowHeight}.`]
      : [];
  });
}

Object.assign(window, { layoutFaults });
