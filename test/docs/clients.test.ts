import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorKinds } from "../../src/base/errors.ts";
import { clientSnippets } from "../../src/base/models/client-snippets.ts";
import { mapSwitches } from "../../src/base/requests/route-switches.ts";
import { buildOpenApi, buildOpenApiExtensions } from "../../src/http/openapi/document.ts";
import { projectRoot } from "../architecture/imports.ts";

const page = readFileSync(join(projectRoot, "docs", "clients.md"), "utf8");

/** Codes of providers that clients see on another status than 400. */
const ofProviders = [["tool_use_failed", 502]];

test("the page for clients has every error with its status, and none that should not be retried as one that may", () => {
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \| .* \| (.+) \|$/gm)];
  const told = rows.map(([, status, code]) => [code, Number(status)]);
  const known = Object.entries(errorKinds).map(([code, { status }]) => [code, status]);
  expect(told.toSorted()).toEqual([...known, ...ofProviders].toSorted());
  for (const [, , code, again] of rows) {
    if (errorKinds[code as keyof typeof errorKinds]?.shouldRetry === false) expect(again, code).toBe("no");
  }
});

test("the page for clients and the OpenAPI documents have the same headers of answers", () => {
  const [, section = ""] = /## Headers of an answer\n([\s\S]*?)\n## /.exec(page) ?? [];
  const names = [...section.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name),
  );
  const documents = [buildOpenApi(), buildOpenApiExtensions(mapSwitches(() => true))];
  const described = documents.flatMap((document) => {
    const { components } = JSON.parse(JSON.stringify(document)) as {
      components: { headers: Record<string, unknown> };
    };
    return Object.keys(components.headers).map((name) => name.toLowerCase());
  });
  // These are no news: one repeats another, the other is every client's.
  const unsaid = ["request-id", "cache-control"];
  const expected = new Set(described).difference(new Set(unsaid));
  expect(names.toSorted()).toEqual([...expected].toSorted());
});

test("the page for clients has the settings of every client, as the command line prints them", () => {
  const access = { address: "https://HOST", key: "slu_YOUR_KEY", model: "MODEL" };
  for (const { id, text } of clientSnippets) {
    expect(page, id).toContain(`(\`${id}\`)`);
    expect(page, id).toContain(`\`\`\`text\n${text(access)}\n\`\`\`\n`);
  }
});
