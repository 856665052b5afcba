/**
 * Tests whether an event has one of these types, which announce a response: by its `event` line, or else by a `type` at
 * the beginning of its data.
 */
export function openingTest(...types: readonly string[]): (event: string) => boolean {
  const names = types.map((type) => type.replaceAll(".", "\\.")).join("|");
  const opening = new RegExp(
    `^(?:event: ?(?:${names})(?:\\n|$)|data: ?\\{\\s*"type"\\s*:\\s*"(?:${names})")`,
  );
  return (event) => opening.test(event);
}
