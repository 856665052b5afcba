type Paint = (text: string) => string;

/** The text styles of Sluice. Without colours each returns the text unchanged. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly warn: Paint;
  readonly bad: Paint;
  readonly accent: Paint;
}

const paint =
  (open: number, close: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`;

export const coloured: Style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  good: paint(32, 39),
  warn: paint(33, 39),
  bad: paint(31, 39),
  accent: paint(36, 39),
};

const asIs: Paint = (text) => text;

export const plain: Style = { bold: asIs, dim: asIs, good: asIs, warn: asIs, bad: asIs, accent: asIs };

/** Colours are used only on a terminal, and not if NO_COLOR is set. */
export function styleFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return plain;
  return isTerminal && env["TERM"] !== "dumb" ? coloured : plain;
}
