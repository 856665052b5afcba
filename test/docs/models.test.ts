import { expect, test } from "bun:test";
import { catalogNames, shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { codeBlocks } from "./shell-lines.ts";

/** Names for what the reader has, or what a page explains: nothing is served by them. */
const placeholders: Readonly<Record<string, string>> = {
  MODEL: "the reader's choice",
  "openai/MODEL": "the reader's choice, by a client that names the dialect first",
  "house-model": "the example of a model with two deployments",
  "my-deployment": "a deployment in the reader's Azure account",
  llama4: "a model of the reader's own server",
  "large-2": "a model of the vendor that the page adds",
  m: "code of a test, on a page for contributors",
};

/** A string that an example gives as a model: an option, a field of JSON, a setting, or an argument in code. */
const givenModel =
  /(?:--model[ =]|\bmodel["']?\s*[:=]\s*["']|\bupstream_model\s*=\s*["'])(?<name>[A-Za-z0-9][\w.:@/-]*)/g;

const used = codeBlocks().flatMap(({ page, text }) =>
  [...text.matchAll(givenModel)].map(({ groups }) => ({ page, name: groups?.["name"] ?? "" })),
);

test("every model in an example of the documentation is in the catalog, or stands for the reader's own", () => {
  const served = catalogNames().flatMap((name) => (shippedCatalog(name) ?? []).map(({ id }) => id));
  const known = new Set([...served, ...Object.keys(placeholders)]);
  const unknown = used.filter(({ name }) => !known.has(name) && !name.startsWith("demo-"));
  expect(unknown).toEqual([]);
  expect(used.map(({ name }) => name)).toEqual(expect.arrayContaining(["claude-sonnet-5", "gpt-5.6"]));
});

test("no placeholder is left that no example uses", () => {
  const names = new Set(used.map(({ name }) => name));
  expect(Object.keys(placeholders).filter((name) => !names.has(name))).toEqual([]);
});
