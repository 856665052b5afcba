import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject } from "../../src/base/json.ts";
import { Places } from "../../src/config/places.ts";

function placesIn(text: string): Places {
  return new Places(text, Bun.TOML.parse(text) as JsonObject);
}

/** Every path of a document, tables and elements too. */
function pathsOf(value: unknown, path = ""): string[] {
  const below = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, `${path}[${index}]`))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => pathsOf(item, path === "" ? name : `${path}.${name}`))
      : [];
  return path === "" ? below : [path, ...below];
}

const folder = join(import.meta.dir, "../../config");
const shipped = readdirSync(folder).filter((name) => name.endsWith(".toml"));

describe("the line of a path", () => {
  test.each(shipped)("is found in %s for everything that is in it", (name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const lines = text.split("\n");
    const places = placesIn(text);
    for (const path of pathsOf(Bun.TOML.parse(text))) {
      const line = lines[(places.lineOf(path) ?? 0) - 1] ?? "";
      const names = path.split(/[.[\]]+/).filter((part) => part !== "" && !/^\d+$/.test(part));
      expect(
        names.some((part) => line.includes(part)),
        `${path}: ${line}`,
      ).toBe(true);
    }
    const models = [...text.matchAll(/^id = "([^"]+)"/gm)].map(([, id = ""]) => id);
    for (const id of models)
      expect(lines[(places.lineOf(`${places.pathOfModel(id)}.id`) ?? 0) - 1]).toContain(id);
  });

  const text = `# [not.a.table]
top = 1
[server]   # listens
host = "a#b" # [x]
"odd name" = 'it"s'
list = [ # one
  "[[models]]",
  'id = "z"', { a = 1 },
]
after = """
[[models]]
id = "w" \\""" ""
""" # over
raw = '''
host = 1'''
[[models]]
id = "a"
price.input = 1
price."out put" = 2
  [[models.deployments]]
  provider = "p"
  [models.deployments.price]
  input = 3
  [[models.deployments]]
  provider = "q"
[[models]]
  id = "b"
  [models.timeouts]
  idle = 1
[providers.x.timeouts]
idle = 2
`;
  const places = placesIn(text);

  test.each([
    ["top", 2],
    ["server", 3],
    ["server.host", 4],
    ['server."odd name"', 5],
    ["server.list", 6],
    ["server.list[1]", 6],
    ["server.after", 10],
    ["server.raw", 14],
    ["models[0]", 16],
    ["models[0].id", 17],
    ["models[0].price", 18],
    ["models[0].price.input", 18],
    ['models[0].price."out put"', 19],
    ["models[0].deployments[0]", 20],
    ["models[0].deployments[0].provider", 21],
    ["models[0].deployments[0].price.input", 23],
    ["models[0].deployments[1].provider", 25],
    ["models[1].id", 27],
    ["models[1].timeouts.idle", 29],
    ["models[1].nothing.here", 26],
    ["providers.x.timeouts.idle", 31],
  ])("%s is %i", (path, line) => {
    expect(places.lineOf(path)).toBe(line);
  });

  test.each([
    ["a quotation mark within a text", 'a = "\\"["'],
    ["a backslash at the end of a plain text", "a = '['\na2 = '\\'"],
    ["a comment with brackets and quotation marks", `a = 1 # [ ${"'".repeat(3)}`],
    ["an apostrophe within a text", `a = "it's ["`],
    ["a quotation mark within a plain text", "a = '\"['"],
    ["blanks around names", ' a . "b c" = 1'],
    ["a list in a list", "a = [[1, 2],\n  [3]\n]"],
    ["names that every object has", "a = { constructor = 1, toString = 2 }"],
    ["a text of several lines that ends with a bracket", 'a = """\n["""'],
  ])("is found after %s", (_, before) => {
    const toml = `[ t . u ]\n${before}\nnext = 1\n[[ v ]]\nw = 2\n`;
    const at = placesIn(toml);
    const line = (wanted: string) => toml.split("\n").indexOf(wanted) + 1;
    expect([at.lineOf("t.u.next"), at.lineOf("v[0].w")]).toEqual([line("next = 1"), line("w = 2")]);
    if (before.startsWith(" ")) expect(at.lineOf('t.u.a."b c"')).toBe(2);
  });

  test("is null for what the file does not have at all", () => {
    expect([places.lineOf("SLUICE_PORT"), places.lineOf("log.level"), places.lineOf("")]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test("comes with the model's id where it has one", () => {
    expect(places.describe("models[0].price.input")).toBe('model "a", price.input (line 18)');
    expect(places.describe("models[1]")).toBe('model "b" (line 26)');
    expect(places.describe("server.host")).toBe("server.host (line 4)");
    expect(places.describe("SLUICE_PORT")).toBe("SLUICE_PORT");
    const nameless = placesIn("[[models]]\nid = 1\n[[models]]\nprovider = 'p'\n");
    expect(nameless.describe("models[0].id")).toBe("models[0].id (line 2)");
    expect(nameless.describe("models[1].id")).toBe("models[1].id (line 3)");
  });
});
