import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Alert } from "../../src/alerts/alert.ts";
import { alertBody } from "../../src/alerts/alert-changes.ts";
import { csvLine } from "../../src/base/text/csv.ts";
import { sluice as runHere } from "../cli/fixtures.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const hostile = "\u001b[31mred\u001b]0;title\u0007\u009b2J\u202egnp.exe\u2028=1";
/** All but line breaks, with which the gateway's own output is laid out. */
const obeyed = /[^\P{Cc}\n]|\p{Cf}|[\u2028\u2029]/u;

const esc = "\u001b";
const ownColours = new RegExp(`${esc}\\[(?:1|2|22|31|32|33|36|39)m`, "g");

let sluice: Sluice;
let key: TestKey;
let id: string;

beforeAll(async () => {
  sluice = await startSluice();
  key = await sluice.createKey();
  const message = { role: "user", content: "Hello" };
  const body = { model: "demo-small", user: hostile, messages: [message] };
  const response = await sluice.request("/v1/chat/completions", { key, body });
  await response.text();
  id = response.headers.get("x-request-id") ?? "";
  const unknown = { ...body, model: hostile };
  await (await sluice.request("/v1/chat/completions", { key, body: unknown })).text();
  const shown = async () => (await sluice.cli("usage", "--by", "user", "--json")).stdout.includes("red");
  await waitFor(shown, "the user to be in the report");
});
afterAll(() => sluice.dispose());

describe("what a client wrote reaches no terminal as a command", () => {
  const commands = () => [
    ["usage", "--by", "user"],
    ["usage", "--by", "user", "--csv"],
    ["usage", "--by", "user", "--json"],
    ["usage", "--by", "user,session,model", "--csv"],
    ["requests", "list"],
    ["requests", "list", "--csv"],
    ["requests", "list", "--json"],
    ["requests", "show", id],
    ["requests", "show", id, "--json"],
    ["requests", "show", hostile],
    ["usage", "--key", hostile],
    ["keys", "show", hostile, "--json"],
    ["ledger", "export"],
  ];

  test("neither on a pipe, of the program itself", async () => {
    for (const command of commands()) {
      const { stdout, stderr } = await sluice.run(...command);
      expect([command, obeyed.exec(stdout + stderr)]).toEqual([command, null]);
    }
    expect((await sluice.run("usage", "--by", "user")).stdout).toContain("red");
  });

  test("nor on a terminal, where only the gateway's own colours are written", async () => {
    const place = { folder: sluice.folder, env: { SLUICE_DATA: `${sluice.folder}/data` }, columns: 200 };
    for (const command of commands()) {
      const { stdout, stderr } = await runHere(place, ...command);
      const said = stdout + stderr;
      // Red is for what failed, and not for what a client calls itself.
      expect([command, said.includes(`${esc}[31mred`)]).toEqual([command, false]);
      expect([command, obeyed.exec(said.replaceAll(ownColours, ""))]).toEqual([command, null]);
    }
  });
});

test("a cell of CSV is no formula, also behind blanks or a semicolon", () => {
  const formulas = ["=1", "+1", "-1", "@a", "\t=1", " =1", "\u00a0=1", "a;=1", "a; +1", "＝1", "\r=1", ";@a"];
  for (const formula of formulas) {
    const cell = csvLine([formula]).replace(/^"|"$/g, "");
    expect([formula, /(?:^|;)\s*[=+\-@＝＋－＠]/.test(cell)]).toEqual([formula, false]);
    expect(cell).toContain("'");
  }
  expect(csvLine(["a=b", "1-2", "mail@example.com", -5, "a;b"])).toBe("a=b,1-2,mail@example.com,-5,a;b");
});

test("an alert's text has no markup of a chat program", () => {
  const finding: Alert = {
    kind: "cap_threshold",
    subject: { type: "key", id: "key_1", label: "<!channel> & co" },
    level: 100,
    sinceMs: null,
    text: "Key <!channel> & co has used up its cap.",
    details: {},
    lastError: null,
  };
  for (const state of ["firing", "resolved"] as const) {
    const { text, subject } = JSON.parse(alertBody(finding, state, 0)) as Alert;
    expect(text).toContain("&lt;!channel&gt; &amp; co");
    expect(subject.label).toBe("<!channel> & co");
  }
});

test("labels and owners have no control characters, and none that turn the direction of text", async () => {
  for (const character of ["\u202e", "\u2066", "\u200f", "\u061c", "\u009b", "\u2028", "\n"]) {
    const named = await sluice.cli("keys", "create", "--mode", "credit", "--label", `a${character}b`);
    expect([character, named.code]).toEqual([character, 1]);
    // An owner is cleaned like the labels of clients, so that one person is one value.
    const owned = await sluice.cli(
      "keys",
      "create",
      "--mode",
      "credit",
      "--owner",
      `a${character}b`,
      "--json",
    );
    if (character === "\u2028") expect([character, owned.code]).toEqual([character, 1]);
    else expect([character, JSON.parse(owned.stdout).owner]).toEqual([character, "ab"]);
    const account = await sluice.cli("accounts", "create", "--mode", "credit", "--label", `a${character}b`);
    expect([character, account.code]).toEqual([character, 1]);
    const token = await sluice.cli("admin-tokens", "create", "--label", `a${character}b`);
    expect([character, token.code]).toEqual([character, 1]);
  }
  expect((await sluice.cli("keys", "create", "--mode", "credit", "--label", "Ünïcode 👩‍💻 שלום")).code).toBe(
    0,
  );
});

test("what is read with a key is in no shared cache", async () => {
  for (const path of ["/v1/models", "/v1/models/demo-small", "/v1/usage", "/v1/models?client_version=1"]) {
    const { headers, status } = await sluice.request(path, { key });
    expect([path, status, headers.get("cache-control")]).toEqual([path, 200, "no-store"]);
    expect(headers.get("vary")?.toLowerCase()).toContain("authorization, x-api-key");
  }
});
