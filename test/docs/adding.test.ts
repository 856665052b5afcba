import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectRoot } from "../architecture/imports.ts";
import { newFolder } from "../support/new-folder.ts";

/**
 * Follows docs/adding-a-dialect.md, docs/adding-a-vendor.md and docs/adding-a-route.md word by word, in a copy of the source: every block that names
 * a file becomes that file, every block that names a line of a registry is put there. Then the gateway runs from the copy.
 */
const copy = newFolder();

interface Block {
  readonly place: string;
  readonly code: string;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(projectRoot, "docs", page), "utf8");
  return [...text.matchAll(/^```ts\n\/\/ (.+)\n([\s\S]*?)^```$/gm)].map(([, place = "", code = ""]) => ({
    place,
    code,
  }));
}

/** The import goes before the others, the entry behind the opening brace of the registry's one object. */
function addLine(file: string, what: string, line: string): void {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  const opening = /^const \w+ = \{\n/m;
  expect(text).toMatch(opening);
  const changed = what === "import" ? line + text : text.replace(opening, (found) => found + line);
  writeFileSync(path, changed);
}

function follow(page: string): string[] {
  const touched: string[] = [];
  for (const { place, code } of blocksOf(page)) {
    const [file = "", what] = place.split(": ");
    if (what === undefined) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      writeFileSync(join(copy, file), code);
    } else addLine(file, what, code);
    touched.push(place);
  }
  return touched;
}

/** No provider speaks it, so that nothing of it passes through. */
const clientsOnly = `import { openAiChat } from "../openai-chat/index.ts";

const { client } = openAiChat;

export const spoken = {
  client: { ...client, name: "spoken", route: { path: "/v1/spoken", keyHeader: null } },
};
`;

function addClientSide(): void {
  mkdirSync(join(copy, "src/dialects/spoken"));
  writeFileSync(join(copy, "src/dialects/spoken/index.ts"), clientsOnly);
  addLine("src/dialects/registry.ts", "import", 'import { spoken } from "./spoken/index.ts";\n');
  addLine("src/dialects/registry.ts", "entry", "  spoken,\n");
}

const acme = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/similarity") return Response.json({ score: 0.7, usage: { total_tokens: 9 } });
    const body = (await request.json()) as { turns: { by: string; text: string }[]; model: string };
    if (request.headers.get("x-acme-key") !== "acme-secret" || body.model !== "large-2") {
      return new Response("refused", { status: 401 });
    }
    const usage = { read: 30, written: 20 };
    const said = `${body.turns.at(-1)?.text} to you`;
    if (pathname === "/v3/models/large-2/whole") return Response.json({ lines: [said], usage, end: "done" });
    expect(pathname).toBe("/v3/models/large-2/stream");
    const events = [{ line: said.slice(0, 3) }, { line: said.slice(3) }, { end: "done", usage }];
    const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
  },
});

const config = `
[providers.acme]
kind = "acme"
api_key = "env:ACME_API_KEY"
base_url = "http://127.0.0.1:${acme.port}"

[[models]]
id = "acme-large"
provider = "acme"
upstream_model = "large-2"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }

[providers.comparing]
kind = "openai-compatible"
base_url = "http://127.0.0.1:${acme.port}/v1"

[[models]]
id = "compare"
provider = "comparing"
upstream_model = "compare-1"
serves = ["rerank"]
price = { input = 0.1 }
`;

const env = { PATH: process.env["PATH"] ?? "", HOME: copy, ACME_API_KEY: "acme-secret" };

function sluice(...args: string[]) {
  return Bun.spawn([process.execPath, "src/main.ts", ...args], {
    cwd: copy,
    env,
    stdout: "pipe",
    stderr: "inherit",
  });
}

let server: ReturnType<typeof sluice> | undefined;
let url = "";
let key = "";

beforeAll(async () => {
  for (const entry of ["src", "config", "package.json", "tsconfig.json"]) {
    cpSync(join(projectRoot, entry), join(copy, entry), { recursive: true });
  }
  symlinkSync(join(projectRoot, "node_modules"), join(copy, "node_modules"));
  expect(follow("adding-a-dialect.md")).toHaveLength(6);
  expect(follow("adding-a-vendor.md")).toHaveLength(3);
  expect(follow("adding-a-route.md")).toHaveLength(3);
  addClientSide();
  writeFileSync(join(copy, "sluice.toml"), config);
  const made = sluice("keys", "create", "--mode", "credit", "--credit", "1", "--json");
  key = JSON.parse(await new Response(made.stdout).text()).key;
  server = sluice("serve", "--port", "0");
  for await (const chunk of server.stdout) {
    url = /listening on (http:\/\/[\w.:]+)/.exec(new TextDecoder().decode(chunk))?.[1] ?? url;
    if (url !== "") break;
  }
}, 120_000);

afterAll(async () => {
  server?.kill("SIGKILL");
  await server?.exited;
  await acme.stop(true);
  rmSync(copy, { recursive: true, force: true });
});

const messages = [{ role: "user", content: "Good morning" }];

const clients = [
  { name: "chat", path: "/v1/chat/completions", body: { messages } },
  { name: "responses", path: "/v1/responses", body: { input: "Good morning" } },
  { name: "messages", path: "/v1/messages", body: { messages, max_tokens: 50 } },
  { name: "a dialect that only clients speak", path: "/v1/spoken", body: { messages } },
];

describe("a dialect and a vendor, added as the pages say", () => {
  test("pass the type check", async () => {
    const command = ["x", "tsc", "--noEmit", "--checkers", "1", "--project", "tsconfig.json"];
    const check = Bun.spawn([process.execPath, ...command], {
      cwd: copy,
      env: { ...env, GOGC: "off" },
      stdout: "pipe",
    });
    expect(await new Response(check.stdout).text()).toBe("");
    expect(await check.exited).toBe(0);
  }, 120_000);

  for (const { name, path, body } of clients) {
    for (const stream of [false, true]) {
      test(`serve ${stream ? "streams" : "whole answers"} to clients of ${name}, charged by the vendor's usage`, async () => {
        const response = await fetch(url + path, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "acme-large", ...body, stream }),
        });
        const text = await response.text();
        expect(response.status, text).toBe(200);
        const whole = stream ? texts(text) : text;
        expect(whole).toContain("Good morning to you");
      });
    }
  }

  test("charge what the vendor reported", async () => {
    const answer = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    const usage = (await answer.json()) as { tokens: object; credits: { used: number } };
    const calls = clients.length * 2;
    expect(usage.tokens).toMatchObject({ input: 30 * calls, output: 20 * calls });
    expect(usage.credits.used).toBeCloseTo((calls * (30 * 1 + 20 * 2)) / 1e6, 9);
  });
});

test("a metered route, added as the page says, is charged, described and refused like all others", async () => {
  const compare = (body: object) =>
    fetch(`${url}/v1/similarity`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const response = await compare({ model: "compare", texts: ["one", "another"] });
  expect(await response.json()).toEqual({ score: 0.7, usage: { total_tokens: 9 } });
  expect(response.headers.get("x-sluice-cost")).toBe("0.0000009");
  expect((await compare({ model: "compare", texts: ["one"] })).status).toBe(400);
  expect((await compare({ model: "acme-large", texts: ["one", "another"] })).status).toBe(400);
  expect(await (await fetch(`${url}/openapi-extensions.json`)).text()).toContain('"/v1/similarity"');
});

/** All deltas of a stream put together, whichever dialect they are in. */
function texts(stream: string): string {
  const deltas = [...stream.matchAll(/"(?:content|delta|text)":"((?:[^"\\]|\\.)*)"/g)];
  return deltas.map(([, text]) => text).join("");
}
