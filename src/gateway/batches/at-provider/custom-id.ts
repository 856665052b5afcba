/** The id of a line at the provider, who takes letters, digits, `_` and `-`. It says which batch of ours has sent it. */
export function customId(id: string, no: number): string {
  return `${id}_${no}`;
}

/** The number of the line; null for an id that is not one of this batch. */
export function lineOf(id: string, custom: string): number | null {
  const rest = custom.startsWith(`${id}_`) ? custom.slice(id.length + 1) : "";
  return /^\d{1,9}$/.test(rest) ? Number(rest) : null;
}
