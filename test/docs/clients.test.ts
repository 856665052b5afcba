import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorKinds } from "../../src/base/errors.ts";
import { clientSnippets } from "../../src/base/models/client-snippets.ts";
import { mapSwitches } from "../../src/base/requests/route-switches.ts";
import { buildOpenApi, buildOpenApiExtensions } from "../../src/http/openapi/document.ts";
import { projectRoot } from "../architecture/imports.ts";

const read = (name: string) => readFileSync(join(projectRoot, "docs", name), "utf8");
const clients = read("clients.md");
const errors = read("errors.md");

/** Codes without a kind of their own: a provider's on another status than 400, and one of the WebSocket handshake. */
const otherCodes = [
  ["tool_use_failed", 502],
  ["origin_not_allowed", 403],
];

test("the page of errors has every error with its status, and none that should not be retried as one that may", () => {
  const rows = [...errors.matchAll(/^\| (\d{3}) \| `(\w+)` \| .* \| (.+) \|$/gm)];
  const told = rows.map(([, status, code]) => [code, Number(status)]);
  const known = Object.entries(errorKinds).map(([code, { status }]) => [code, status]);
  expect(told.toSorted()).toEqual([...known, ...otherCodes].toSorted());
  for (const [, , code, again] of rows) {
    if (errorKinds[code as keyof typeof errorKinds]?.shouldRetry === false) expect(again, code).toBe("no");
  }
});

test("the page of headers and the OpenAPI documents have the same headers of responses", () => {
  const [, section = ""] = /## Headers of a response\n([\s\S]*)/.exec(errors) ?? [];
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
  // The documents describe no header that only a response without a stored copy has.
  const expected = new Set([...described, "x-sluice-idempotency", "x-sluice-spendable"]).difference(
    new Set(unsaid),
  );
  expect(names.toSorted()).toEqual([...expected].toSorted());
});

test("the page for clients has the settings of every client, as the command line prints them", () => {
  const access = { address: "https://HOST", key: "slu_YOUR_KEY", model: "MODEL" };
  for (const { id, text } of clientSnippets) {
    expect(clients, id).toContain(`(\`${id}\`)`);
    expect(clients, id).toContain(`\`\`\`text\n${text(access)}\n\`\`\`\n`);
  }
});
