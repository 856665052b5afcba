/** At most this many characters, and an ellipsis for the rest. */
export function withEllipsis(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
