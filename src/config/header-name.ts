/** In either case, as headers are. */
export function isHeaderName(text: string): boolean {
  return /^[a-z0-9-]+$/i.test(text);
}
