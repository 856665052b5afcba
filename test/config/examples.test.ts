import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/load.ts";

const folder = new URL("../../config", import.meta.url).pathname;
const files = readdirSync(folder).filter((file) => file.endsWith(".toml"));

/** An environment with every variable that a file refers to. */
function everyKeyOf(file: string): Record<string, string> {
  const names = readFileSync(join(folder, file), "utf8").matchAll(/"env:(\w+)"/g);
  return Object.fromEntries(Array.from(names, ([, name = ""]) => [name, `key-of-${name}`]));
}

/** Every model of an example, also of one that is commented out, with its price. */
function pricedModels(text: string): { id: string; price: Record<string, unknown> }[] {
  const uncommented = text.replace(/^[ \t]*(?:# ?)?/gm, "");
  return uncommented.split(/^\[\[models\]\]/m).flatMap((block) => {
    const model = block.split(/^\[/m)[0] ?? "";
    const id = /^id = "([^"]+)"/m.exec(model)?.[1];
    const price = /^price = (\{.*\})/m.exec(model)?.[1];
    if (id === undefined || price === undefined) return [];
    return [{ id, price: Object(Bun.TOML.parse(`price = ${price}`))["price"] }];
  });
}

/** Each rate by its own name: what one vendor does not bill, another's list of the same model may have. */
function ratesOf(price: object, path = ""): [string, unknown][] {
  return Object.entries(price).flatMap(([name, value]) =>
    typeof value === "object" ? ratesOf(value, `${path}${name}.`) : [[path + name, value]],
  );
}

test("no two examples price one model differently", () => {
  const root = join(folder, "..");
  const examples = [
    "README.md",
    "docs/prices.md",
    "config/deploy/compose.yaml",
    ...files.map((file) => `config/${file}`),
  ];
  const rates = new Map<string, { rate: string; example: string }>();
  const different: string[] = [];
  let models = 0;
  for (const example of examples) {
    for (const { id, price } of pricedModels(readFileSync(join(root, example), "utf8"))) {
      models += 1;
      for (const [name, value] of ratesOf(price)) {
        const rate = String(value);
        const first = rates.get(`${id} ${name}`) ?? { rate, example };
        rates.set(`${id} ${name}`, first);
        if (first.rate !== rate)
          different.push(`${id}: ${name} is ${first.rate} in ${first.example}, and ${rate} in ${example}`);
      }
    }
  }
  expect(different).toEqual([]);
  expect(models).toBeGreaterThan(files.length);
});

test.each(files)("config/%s is sound, and warns of nothing but secrets that are not here", (file) => {
  const { settings } = loadSettings({ file: join(folder, file), env: everyKeyOf(file) });
  expect(settings.models.length).toBeGreaterThan(0);
  expect(settings.warnings.filter((warning) => !warning.includes("/run/secrets/"))).toEqual([]);
});
