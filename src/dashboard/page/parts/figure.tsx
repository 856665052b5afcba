/** A figure in short. Pointing at it shows all its digits. */
export function Figure({
  value,
  format,
  unit,
}: {
  value: number;
  format: (value: number) => string;
  unit: string;
}) {
  return <span title={`${exactNumber.format(value)} ${unit}`}>{format(value)}</span>;
}

const exactNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 9 });

/** All digits of a figure. */
export function exactFigure(value: number): string {
  return exactNumber.format(value);
}
