/** Case-insensitive, as header names are. */
export function isHeaderName(text: string): boolean {
  return /^[a-z0-9-]+$/i.test(text);
}
