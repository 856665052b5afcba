/** Reads `a.b.0.c` out of parsed JSON. */
export function valueAt(value: unknown, path: string): unknown {
  let here = value;
  for (const name of path.split(".")) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string, unknown>)[name];
  }
  return here;
}

/** Empty where it is not a text. */
export function textAt(value: unknown, path: string): string {
  const found = valueAt(value, path);
  return typeof found === "string" ? found : "";
}

/** Empty where it is not a list. */
export function listAt(value: unknown, path: string): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

export function numberAt(value: unknown, path: string): number {
  const found = valueAt(value, path);
  return typeof found === "number" ? found : 0;
}
