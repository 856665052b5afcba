/** Foreign text on one line, without characters that control a terminal or mislead a reader. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
}

/** JSON in which such characters are written as escapes. */
export function printableJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (character) =>
    escaped(character),
  );
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, place) => character.charCodeAt(place));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Characters that change the direction of the text around them, and so can disguise it. */
export const directionControls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
