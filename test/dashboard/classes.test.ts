import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dir, "..", "..", "src", "dashboard", "page");

const read = (pattern: string): string[] =>
  [...new Bun.Glob(pattern).scanSync(folder)].sort().map((name) => readFileSync(join(folder, name), "utf8"));

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** The literals of an expression, without those that something is compared with or that a function is called with. */
function literalsIn(expression: string): string[] {
  const literals = [...expression.matchAll(/([!=]== |\()?(?:"([^"]*)"|`([^`]*)`)/g)];
  return literals.flatMap(([, compared, quoted, template = ""]) => {
    if (compared !== undefined) return [];
    if (quoted !== undefined) return [quoted];
    const computed = [...template.matchAll(/\$\{([^}]*)\}/g)].flatMap(([, inner = ""]) => literalsIn(inner));
    // What is joined to a computed part, such as `tone-${kind}`, is no whole class.
    return [template.replaceAll(/[^\s$]*(?:\$\{[^}]*\}[^\s$]*)+/g, " "), ...computed];
  });
}

/** From an opening brace to the one that closes it. */
function braced(text: string, start: number): string {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return text.slice(start + 1, at);
  }
  throw new Error("A brace is not closed.");
}

/** The classes that a page's source gives to its elements: attributes, columns of tables, defaults. */
function classesGiven(source: string): string[] {
  const literals = [...source.matchAll(/\bclass(?:=|: (?:\w+ = )?)(["{])/g)].flatMap((found) => {
    const start = found.index + found[0].length - 1;
    if (found[1] === "{") return literalsIn(braced(source, start));
    return [source.slice(start + 1, source.indexOf('"', start + 1))];
  });
  return literals.flatMap(wordsOf);
}

const unique = (names: readonly string[]): string[] => [...new Set(names)].sort();

const sources = read("**/*.{ts,tsx}");
const rules = read("style/*.css").map((sheet) => sheet.replaceAll(/\/\*[\s\S]*?\*\//g, ""));
const selectors = rules.flatMap((sheet) => sheet.match(/[^{}]+(?=\{)/g) ?? []);
const styled = new Set(selectors.flatMap((selector) => selector.match(/(?<=\.)[a-z][\w-]*/g) ?? []));

describe("the classes of the pages", () => {
  test("each have a rule in a sheet", () => {
    const given = unique(sources.flatMap(classesGiven));
    expect(given.length).toBeGreaterThan(60);
    expect(given.filter((name) => !styled.has(name))).toEqual([]);
  });

  test("and each rule has a class that a page gives", () => {
    // The library of charts gives its own, and some are values: kinds of buttons and phases, a speaker, a tone, a place in a row.
    const computed =
      "uplot u-cursor-x quiet queue failed stream settle assistant good at-title at-value at-about at-side minor";
    const given = new Set([...sources.flatMap(classesGiven), ...wordsOf(computed)]);
    expect(unique([...styled]).filter((name) => !given.has(name))).toEqual([]);
  });

  test("are read from every form in which a page writes them", () => {
    const source = `
      <p class="a b" /><p class={isOpen ? "c" : undefined} /><p class={\`d e-\${kind} \${on ? "f" : ""}\`} />
      <p class={kind === "g" ? "h" : "i"} />; const column = { class: "j k" }; ({ class: name = "l" }) => name`;
    expect(unique(classesGiven(source))).toEqual(["a", "b", "c", "d", "f", "h", "i", "j", "k", "l"]);
  });
});
