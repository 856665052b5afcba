import { isObject, type Json } from "../../../base/json.ts";

export interface JsonLine {
  readonly text: string;
  /** Whether the line belongs to a dropped field. */
  readonly isDropped: boolean;
}

/** Indented JSON, line by line, with the dropped fields marked. `dropped` has paths such as `tools[2].strict`. */
export function jsonLines(value: Json, dropped: readonly string[] = []): readonly JsonLine[] {
  const marked = new Set(dropped);
  const lines: JsonLine[] = [];
  const add = (each: Json, path: string, head: string, end: string, depth: number, within: boolean): void => {
    const isDropped = within || marked.has(path);
    const line = (text: string, at: number) => lines.push({ text: "  ".repeat(at) + text, isDropped });
    const items: readonly (readonly [string, Json, string])[] = Array.isArray(each)
      ? each.map((item, place) => ["", item, `${path}[${place}]`] as const)
      : isObject(each)
        ? Object.entries(each).map(([name, item]) => {
            return [
              `${JSON.stringify(name)}: `,
              item ?? null,
              path === "" ? name : `${path}.${name}`,
            ] as const;
          })
        : [];
    if (items.length === 0) {
      line(`${head}${JSON.stringify(each)}${end}`, depth);
      return;
    }
    const [open, close] = Array.isArray(each) ? "[]" : "{}";
    line(`${head}${open}`, depth);
    for (const [place, [name, item, at]] of items.entries())
      add(item, at, name, place === items.length - 1 ? "" : ",", depth + 1, isDropped);
    line(`${close}${end}`, depth);
  };
  add(value, "", "", "", 0, false);
  return lines;
}
