/** A name that a client made up may be of any length, and hold anything. */
const maxNameLength = 100;

/** The error message for an unknown model, with the nearest names that the caller can use. Operators find the name in it, see `unknownModelIn`. */
export function unknownModelMessage(name: string, nearest: readonly string[] = []): string {
  const shown = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}"]/gu, "?").slice(0, maxNameLength);
  const fact = `There is no model "${shown}${name.length > maxNameLength ? "…" : ""}"; GET /v1/models lists them.`;
  return nearest.length === 0 ? fact : `${fact} Try ${nearest.map((id) => JSON.stringify(id)).join(" or ")}.`;
}

/** The name in such a message; null if it is another one. */
export function unknownModelIn(message: string | null): string | null {
  return /^There is no model "([^"]*)";/.exec(message ?? "")?.[1] ?? null;
}
