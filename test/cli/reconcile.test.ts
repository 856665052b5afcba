import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReconciliationView } from "../../src/admin/reconcile/schema.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { attempt } from "../store/attempts.ts";
import { outcomeRecordOf, settleItem } from "../store/fixtures.ts";
import { type KeyJson, newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

const secret = "sk-admin-canary-of-the-organisation";
const october = ["--from", "2026-10-01", "--to", "2026-10-02"];

/** Stands for both vendors: two pages of each report, and what it was asked for. */
const asked: { path: string; key: string | null }[] = [];
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
let place: Place;

beforeAll(async () => {
  place = newPlace({ env: { KEY: "sk-x", ADMIN: secret } });
  const provider = (name: string, kind: string, path: string) =>
    `[providers.${name}]\nkind = "${kind}"\napi_key = "env:KEY"\nbase_url = "http://127.0.0.1:${server.port}${path}"\n`;
  writeFileSync(
    join(place.folder, "sluice.toml"),
    `${provider("openai", "openai", "/v1")}${provider("claude", "anthropic", "")}${provider("local", "openai-compatible", "/v1")}[[models]]\nid = "m"\nprovider = "openai"\ncontext_window = 1000\nmax_output_tokens = 100\nprice = { input = 1, output = 1 }\n`,
  );
  const { id } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  const atMs = Date.UTC(2026, 9, 1, 23);
  for (const provider of ["openai", "claude"]) {
    const one = attempt({ provider, upstreamModel: "m-1" });
    await store.commit([{ ...settleItem(id, 100, { atMs }), attempts: [one] }]);
    await store.recordOutcomes(
      [outcomeRecordOf(id)],
      [{ ...one, outcome: "uncharged", owedNanoUsd: 0, day: Math.floor(atMs / 86_400_000) }],
    );
  }
  await store.close();
});
afterAll(() => server.stop(true));

const seconds = (day: number) => Date.UTC(2026, 9, day) / 1000;

function answer(request: Request): Response {
  const { pathname, searchParams } = new URL(request.url);
  asked.push({
    path: `${pathname} ${searchParams.get("page")}`,
    key: request.headers.get("authorization") ?? request.headers.get("x-api-key"),
  });
  const day = searchParams.get("page") === null ? 1 : 2;
  const more = day === 1 ? { has_more: true, next_page: "p2" } : { has_more: false, next_page: null };
  const results = day === 2 ? [] : [resultOf(pathname)];
  const iso = (of: number) => `2026-10-0${of}T00:00:00Z`;
  const bucket = pathname.includes("/organizations/")
    ? { starting_at: iso(day), ending_at: iso(day + 1), results }
    : { object: "bucket", start_time: seconds(day), end_time: seconds(day + 1), results };
  if (searchParams.get("start_time") === String(seconds(20))) {
    return Response.json({ error: { message: `Invalid key ${secret}` } }, { status: 401 });
  }
  return Response.json({ object: "page", data: [bucket], ...more });
}

function resultOf(path: string): object {
  const model = "m-1-20260401";
  switch (path) {
    case "/v1/organization/usage/completions":
      return {
        object: "organization.usage.completions.result",
        model,
        input_tokens: 17,
        input_cached_tokens: 4,
        input_cache_write_tokens: 3,
        output_tokens: 5,
        num_model_requests: 1,
      };
    case "/v1/organization/costs":
      return {
        object: "organization.costs.result",
        amount: { value: 1e-7, currency: "usd" },
        line_item: `${model}, input`,
      };
    case "/v1/organizations/usage_report/messages":
      return {
        uncached_input_tokens: 10,
        cache_creation: { ephemeral_1h_input_tokens: 1, ephemeral_5m_input_tokens: 2 },
        cache_read_input_tokens: 4,
        output_tokens: 5,
        model,
      };
    default:
      return { currency: "USD", amount: "0.00001", model, description: "x" };
  }
}

const csv = (text: string) => {
  writeFileSync(join(place.folder, "bill.csv"), `date,model,requests,input,cached,output,cost\n${text}`);
  return "bill.csv";
};

describe("sluice reconcile", () => {
  test("exits 0 if a bill agrees with the ledger, and shows the total", async () => {
    const file = csv("2026-10-01,m-1,1,17,4,5,0.0000001\n2026-11-01,m-1,9,9,9,9,9\n");
    const said = await sluice(place, "reconcile", "--provider", "openai", ...october, file);
    expect(said).toMatchObject({ code: 0, stderr: "" });
    expect(said.stdout).toMatch(/total +1 +17 +4 +5 +0.0000\n/);
    expect(said.stdout).toContain("matches the ledger within 1%");
  });

  test("exits 1 beyond the tolerance, with the difference and the likely reason", async () => {
    const file = csv("2026-10-01,m-1,4,34,8,5,0.0000001\n");
    const argv = ["reconcile", "--provider", "openai", ...october, file];
    const { code, stdout } = await sluice(place, ...argv, "--json");
    expect(code).toBe(1);
    const { data, differing, total } = JSON.parse(stdout) as ReconciliationView;
    expect(differing).toBe(1);
    expect(total.input).toEqual({ billed: 34, ledger: 17, difference: 17 });
    expect(data).toMatchObject([
      {
        date: "2026-10-01",
        model: "m-1",
        requests: { billed: 4, ledger: 1, difference: 3 },
        cache_writes: { billed: null, ledger: 3, difference: null },
        cost: { billed: 1e-7, ledger: 1e-7, difference: 0 },
        differing: ["requests", "input", "cached"],
        reasons: [
          { reason: "uncharged", calls: 1 },
          { reason: "outside_gateway", calls: 2 },
        ],
      },
    ]);
    const text = await sluice(place, ...argv);
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/2026-10-01 +m-1 +4 \(\+3\) +34 \(\+17\) +8 \(\+4\) +5 +0.0000\n/);
    expect(text.stdout).toContain("2026-10-01 m-1: 2 calls outside the gateway");
    const lines = (await sluice(place, ...argv, "--csv")).stdout.split("\n");
    expect(lines[0]).toStartWith(
      "date,model,requests_billed,requests_ledger,requests_difference,input_billed,",
    );
    expect(lines[1]).toStartWith(
      "2026-10-01,m-1,4,1,3,34,17,17,8,4,4,,3,,5,5,0,0.0000001,0.0000001,0,requests input cached,",
    );
    expect((await sluice(place, ...argv, "--tolerance", "80%")).code).toBe(0);
  });

  for (const provider of ["openai", "claude"]) {
    test(`asks ${provider} itself, page by page, and tells nobody the key`, async () => {
      asked.length = 0;
      const argv = ["--provider", provider, ...october, "--fetch", "--admin-key", "env:ADMIN"];
      const said = await sluice(place, "reconcile", ...argv, "--tolerance", "0", "--json");
      expect(said.code).toBe(0);
      const { data } = JSON.parse(said.stdout) as ReconciliationView;
      const same = (value: number) => ({ billed: value, ledger: value, difference: 0 });
      const figures = {
        input: same(17),
        cached: same(4),
        cache_writes: same(3),
        output: same(5),
        cost: same(1e-7),
      };
      expect(data).toMatchObject([{ date: "2026-10-01", model: "m-1", ...figures, differing: [] }]);
      expect(data[0]?.requests.billed).toBe(provider === "openai" ? 1 : null);
      expect(asked.map(({ path }) => path.split(" ")[1])).toEqual(["null", "p2", "null", "p2"]);
      expect(asked.every(({ key }) => key?.endsWith(secret))).toBe(true);
      expect(said.stderr.split("\n").filter((line) => /page [12]$/.test(line)).length).toBe(4);
      expect(said.stdout + said.stderr).not.toContain(secret);
    });
  }

  test("passes on why a provider refuses, without the key", async () => {
    const days = ["--from", "2026-10-20", "--to", "2026-10-20"];
    const argv = ["--provider", "openai", ...days, "--fetch", "--admin-key", "env:ADMIN"];
    const said = await sluice(place, "reconcile", ...argv);
    expect(said.code).toBe(1);
    expect(said.stderr).toContain("The provider rejected the request for OpenAI's usage with status 401");
    expect(said.stderr).not.toContain(secret);
  });

  const misused: Readonly<Record<string, readonly [argv: string[], code: number, message: RegExp]>> = {
    "no file and no --fetch": [["--provider", "openai"], 2, /pass the files/],
    "a key on the command line": [
      ["--provider", "openai", "--fetch", "--admin-key", secret],
      2,
      /not the key itself/,
    ],
    "no admin key": [["--provider", "openai", "--fetch"], 2, /needs --admin-key/],
    "an admin key that is not set": [
      ["--provider", "openai", "--fetch", "--admin-key", "env:NONE"],
      1,
      /NONE is not set/,
    ],
    "a provider that tells no bill": [
      ["--provider", "local", "--fetch", "--admin-key", "env:ADMIN"],
      1,
      /"openai-compatible" providers/,
    ],
    "an unknown provider": [
      ["--provider", "nobody", "bill.csv"],
      1,
      /unknown provider "nobody". Configured: openai/i,
    ],
    "days that are none": [
      ["--provider", "openai", "--from", "October", "bill.csv"],
      1,
      /"October" is not a day/,
    ],
    "an end before the beginning": [
      ["--provider", "openai", "--from", "2026-10-02", "--to", "2026-10-01", "bill.csv"],
      1,
      /is before/,
    ],
    "a tolerance that is none": [["--provider", "openai", "--tolerance", "some", "bill.csv"], 2, /percent/],
    "a file that is not there": [["--provider", "openai", "none.json"], 1, /none.json/],
  };
  for (const [name, [argv, code, message]] of Object.entries(misused)) {
    test(`refuses ${name}`, async () => {
      const said = await sluice(place, "reconcile", ...argv);
      expect(said.stderr).toMatch(message);
      expect(said.stderr).not.toContain(secret);
      expect(said).toMatchObject({ code, stdout: "" });
    });
  }
});
