/** Digits in groups of three: `1,000,000`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `1 request`, `1,000 requests`; `shown` writes the figure where it has to be shorter. */
export function plural(value: number, one: string, many = `${one}s`, shown = count): string {
  return `${shown(value)} ${value === 1 ? one : many}`;
}
