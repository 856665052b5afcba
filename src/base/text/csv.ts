import { printable } from "./printable.ts";

/** A decimal number as text, with more digits than a double has. It is a number to a spreadsheet, too. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The fields of a line. An object is written as JSON. */
export function csvLine(fields: readonly unknown[]): string {
  return fields.map(csvField).join(",");
}

/**
 * Characters that make a spreadsheet read a cell as a formula, also after blanks, and after the semicolon that some use
 * to separate cells.
 */
const formula = /(^|;)(?=[\s\u00a0]*[=+\-@＝＋－＠])/g;

/** Quotes where CSV requires it, and marks with an apostrophe what a spreadsheet would run as a formula. */
function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return decimal(value);
  if (value instanceof Decimal) return value.text;
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  const text = printable(shown.replace(/^(?=[\t\r])/, "'")).replaceAll(formula, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without an exponent, which accounting programs do not read: 0.000000005 and not 5e-9. */
function decimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, "");
}
