import { afterAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commandSocket, helloPath } from "../../src/base/system/command-socket.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { newPlace, sluice } from "./fixtures.ts";

/** What the gateway elsewhere answers to every operation. */
let answer = "";
let path = "";
const gateway = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { origin, pathname } = new URL(request.url);
    path = pathname;
    if (pathname.endsWith("/oauth/device_authorization")) {
      const uri = `${origin}/usage/device`;
      return Response.json({ device_code: "d", user_code: "BCDF-GHJK", verification_uri: uri, interval: 1 });
    }
    if (pathname.endsWith("/oauth/token")) return Response.json({ access_token: "slua_x", role: "admin" });
    const headers = { "content-type": "application/json", "x-request-id": "req_1" };
    return new Response(answer, { headers });
  },
});
const { origin, host } = gateway.url;
afterAll(() => gateway.stop(true));
beforeEach(() => {
  path = "";
});

const commands = [
  "keys list",
  "keys show slu_x",
  "keys create --mode credit",
  "accounts list",
  "accounts show a",
  "caps list",
  "caps list --near 80%",
  "caps show cap_x",
  "caps remove cap_x --yes",
  "usage",
  "usage --by key --csv",
  "requests list",
  "requests show req_x",
  "ledger audit",
  "ledger anchor",
  "ledger feed list",
  "ledger feed status",
  "ledger export",
  "audit-log",
  "admin-tokens list",
  "admin-tokens create --label x",
  "sign-ins list",
  "sessions list",
  "status",
  "nodes",
  "models list",
  "config show",
  "config reload",
];

const shapes = {
  "cut off": '{"data":[{"id":"key_1","lab',
  "not JSON": "<html>hello</html>",
  nothing: "",
  null: "null",
  "a text": '"slua"',
  "a list": "[]",
  "an empty object": "{}",
  "a page of no rows": '{"data":5}',
  "a page that leads to itself": '{"data":[],"next_cursor":"x"}',
  "a page of null": '{"data":[null]}',
  "a page of numbers": '{"data":[{"id":1,"label":2,"prefix":3,"at":4,"limit":"x","used":{},"key":[]}]}',
  "terminal control":
    '{"data":[{"id":"\\u001b]0;x\\u0007\\u001b[2J\\u009b2J\\u202e","label":"\\u001b[2J"}],"error":"\\u001b[2J"}',
};

test.each(Object.entries(shapes))(
  "no command ends with a stack trace, or controls the terminal, on %s",
  async (_, text) => {
    answer = text;
    for (const command of commands) {
      const env = { HOME: "/nonexistent", SLUICE_TOKEN: "slua_x" };
      const place = { ...newPlace(), env };
      const { code, stdout, stderr } = await sluice(place, "--gateway", origin, ...command.split(" "));
      expect({ command, path: path !== "" }).toEqual({ command, path: true });
      expect({ command, stderr }).not.toMatchObject({ stderr: expect.stringMatching(/\n\s+at |TypeError/) });
      expect({ command, code }).not.toMatchObject({ code: 2 });
      const shown = stdout + stderr;
      expect({ command, shown: /[^\P{Cc}\n\t]|\p{Cf}/u.test(shown) }).toEqual({
        command,
        shown: false,
      });
    }
  },
  60_000,
);

test("an operator's sign-in never takes the name of another gateway", async () => {
  const place = newPlace();
  const at = { ...place, env: { HOME: place.folder } };
  const login = async (url: string) => {
    const { code, stdout } = await sluice(at, "login", url, "--operator", "--no-browser", "--json");
    expect(code).toBe(0);
    return JSON.parse(stdout) as { name: string; url: string };
  };
  expect(await login(`${origin}/one`)).toMatchObject({ name: host, url: `${origin}/one` });
  expect(await login(`${origin}/two`)).toMatchObject({ name: `${host}-2`, url: `${origin}/two` });
  expect(await login(`${origin}/one`)).toMatchObject({ name: host, url: `${origin}/one` });
  const file = join(place.folder, ".config", "sluice", "gateways.json");
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).gateways)).toEqual([host, `${host}-2`]);
}, 30_000);

test.each(["constructor", "__proto__"])("no gateway is called %s until it is added", async (name) => {
  const { code, stderr } = await sluice(
    newPlace({ env: { SLUICE_TOKEN: "slua_x" } }),
    "--gateway",
    name,
    "status",
  );
  expect([code, stderr]).toEqual([1, expect.stringContaining(`no gateway is called "${name}"`)]);
});

test("a running gateway of another release, whose response a command cannot show, is named", async () => {
  const place = newPlace();
  const data = join(place.folder, "data");
  putEmptyLedger(data);
  const older = Bun.serve({
    unix: commandSocket(data),
    fetch(request) {
      const hello = { version: "0.0.1", pid: 4711, address: "http://127.0.0.1:1", store: null };
      return Response.json(new URL(request.url).pathname === helloPath ? hello : { data: [{ id: "key_1" }] });
    },
  });
  try {
    for (const command of ["keys list", "keys show key_1", "accounts show a"]) {
      const { code, stderr } = await sluice(place, ...command.split(" "), "--data", data);
      expect([command, code, stderr]).toEqual([
        command,
        1,
        expect.stringMatching(
          /^error: the running gateway \(process 4711, release 0\.0\.1\) responded with .*restart it/,
        ),
      ]);
    }
  } finally {
    await older.stop(true);
  }
});

test("a top-up without a response says how to see whether it happened, and how to repeat it", async () => {
  answer = "{";
  const place = { ...newPlace(), env: { SLUICE_TOKEN: "slua_x" } };
  const topUp = (...more: string[]) =>
    sluice(place, "--gateway", origin, "keys", "topup", "slu_12345678", "5", ...more);
  expect((await topUp()).stderr).toContain(
    "`sluice audit-log` shows whether it was entered; pass --reference",
  );
  expect((await topUp("--reference", "invoice-7")).stderr).toContain("repeat it with the same --reference");
});
