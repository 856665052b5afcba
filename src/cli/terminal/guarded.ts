import { printable } from "../../base/text/printable.ts";
import { plain, type Style } from "./style.ts";
import type { Terminal } from "./terminal.ts";

/** What our own styles write; `style.ts` has the numbers. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const ownStyle = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/;
const layout = /([\n\t])/;

/** A terminal that obeys nothing but our own styles and line breaks, whoever wrote the text. */
export function guarded(terminal: Terminal): Terminal {
  return {
    ...terminal,
    print: (text) => terminal.print(harmless(text, terminal.style)),
    note: (text) => terminal.note(harmless(text, terminal.noteStyle)),
    write: (text) => terminal.write(harmless(text, terminal.style)),
  };
}

function harmless(text: string, style: Style): string {
  if (style === plain) return withoutControls(text);
  return text
    .split(ownStyle)
    .map((part, place) => (place % 2 === 1 ? part : withoutControls(part)))
    .join("");
}

/** Line breaks and tabs stay. */
export function withoutControls(text: string): string {
  return text
    .split(layout)
    .map((part, place) => (place % 2 === 1 ? part : printable(part)))
    .join("");
}
