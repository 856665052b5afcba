import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorKinds } from "../../src/base/errors.ts";
import { buildOpenApi } from "../../src/http/openapi/document.ts";
import { projectRoot } from "../architecture/imports.ts";

const read = (page: string) => readFileSync(join(projectRoot, "docs", page), "utf8");
const page = read("interface.md");
const described = JSON.parse(JSON.stringify(buildOpenApi())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> };
};

/** A section's own text, without those below it. */
function sectionOf(number: string): string {
  const heading = new RegExp(
    `^##+ ${number.replaceAll(".", "\\.")}\\.? .*\\n([\\s\\S]*?)(?=^##|$(?![\\s\\S]))`,
    "m",
  );
  return heading.exec(page)?.[1] ?? "";
}

test("every number that the conformance page cites is in the interface page", () => {
  const rows = [...read("../test/conformance/README.md").matchAll(/^\| ((?:\d[\d.]*)[^|]*) \|/gm)];
  const cited = rows
    .flatMap(([, cell = ""]) => cell.split(", "))
    .filter((number) => /^\d(?!\d\d)/.test(number));
  expect(cited.length).toBeGreaterThan(80);
  const missing = cited.filter((number) => {
    const [, section = "", item] =
      /^(\d(?:\.\d+)?)(?:\.(\d+)| rule (\d+))?/.exec(number)?.filter(Boolean) ?? [];
    const text = sectionOf(section);
    return text === "" || (item !== undefined && !new RegExp(`^${item}\\. `, "m").test(text));
  });
  expect(missing).toEqual([]);
});

test("the interface page has every route of the OpenAPI document, and no other", () => {
  const routes = Object.entries(described.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const told = [...sectionOf("4.1").matchAll(/^\| (GET|POST) \| `([^`]+)`/gm)];
  expect(told.map(([, method, path]) => `${method} ${path}`).toSorted()).toEqual(routes.toSorted());
});

test.each([
  ["2.1", "Model"],
  ["2.2", "ModelList"],
  ["2.3", "ChatMessage"],
  ["2.4", "ChatCompletionRequest"],
  ["2.5", "ChatCompletionResponse"],
  ["2.6", "ResponsesRequest"],
  ["2.7", "ResponsesResponse"],
  ["2.8", "InputMessage"],
  ["2.9", "MessageRequest"],
  ["2.10", "MessageResponse"],
  ["2.11", "TokenCountRequest"],
  ["2.11", "TokenCountResponse"],
  ["2.12", "UsageSummary"],
  ["2.12", "UsageKey"],
  ["2.12", "CreditUsage"],
  ["2.12", "TokenUsage"],
])("section %s of the interface page has every field of %s", (section, schema) => {
  const names = new Set(
    [...sectionOf(section).matchAll(/`([\w.]+)`/g)].flatMap(([, name = ""]) => name.split(".")),
  );
  const fields = Object.keys(described.components.schemas[schema]?.properties ?? {});
  expect(fields.length).toBeGreaterThan(0);
  expect(fields.filter((field) => !names.has(field))).toEqual([]);
});

test("the interface page has the type of every error", () => {
  const rows = [...sectionOf("7.1").matchAll(/^\| ([\d, ]+) \| (.+?) \|/gm)];
  const told = rows.flatMap(([, statuses = "", types = ""]) =>
    statuses.split(", ").map((status) => ({ status, types })),
  );
  for (const [code, { status, type }] of Object.entries(errorKinds)) {
    expect(told.find((row) => row.status === String(status))?.types, code).toContain(`\`${type}\``);
  }
});
