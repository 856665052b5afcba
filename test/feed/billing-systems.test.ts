import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AccountView } from "../../src/admin/accounts/schema.ts";
import type { IssuedKeyView } from "../../src/admin/key-terms/schema.ts";
import { type AdminServer, startAdmin, token } from "../admin/routes/fixtures.ts";
import { settleItem } from "../store/fixtures.ts";
import { newFolder } from "../support/new-folder.ts";

/** Each is a program of the documentation, run against a receiver that rejects what the real one would reject. */

interface Billed {
  readonly id: string;
  readonly customer: string;
  readonly credits: string;
  readonly atSeconds: number;
}

interface Received {
  readonly path: string;
  readonly type: string;
  readonly authorization: string;
  readonly body: string;
}

let admin: AdminServer;
let folder: string;
let receiver: Bun.Server<undefined>;
let answer: (received: Received) => Response;
/** What the billing system has, by the id that it knows it by. */
let billed: Map<string, Billed>;
let expected: readonly Billed[];

const numberOfCharges = 130;
const customer = "cus_NciAYcXfLnqBoz";

beforeAll(async () => {
  admin = await startAdmin();
  const { id: accountId } = await admin.post<AccountView>("/accounts", {
    mode: "credit",
    label: customer,
    credit: 10,
  });
  const key = await admin.post<IssuedKeyView>("/keys", { account: customer, label: "chat" });
  await admin.post("/keys", { mode: "token_budget", budget_tokens: 500 });
  const atMs = admin.clock.wallMs();
  await admin.store.commit(
    Array.from({ length: numberOfCharges }, (_, index) =>
      settleItem(key.id, 1_800_000 + index, { atMs: atMs + index, accountId }),
    ),
  );
  // Costs nothing, and what was not charged: neither is billed.
  await admin.store.commit([
    settleItem(key.id, 0, { accountId }),
    settleItem(key.id, 5, { accountId, overrun: 7 }),
  ]);
  const { data } = await admin.json<{ data: FeedEntry[] }>("/ledger/feed?limit=1000");
  expected = data
    .filter(({ kind, amount }) => kind === "charge" && amount !== "0")
    .map(({ cursor, at, amount }) => ({
      id: cursor,
      customer,
      credits: amount.replace("-", ""),
      atSeconds: Date.parse(at) / 1000,
    }));
  expect(expected).toHaveLength(numberOfCharges + 1);
  receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) =>
      answer({
        path: new URL(request.url).pathname,
        type: request.headers.get("content-type") ?? "",
        authorization: request.headers.get("authorization") ?? "",
        body: await request.text(),
      }),
  });
});

interface FeedEntry {
  readonly kind: string;
  readonly cursor: string;
  readonly at: string;
  readonly amount: string;
}

afterAll(async () => {
  await receiver.stop(true);
  await admin[Symbol.asyncDispose]();
});

beforeEach(async () => {
  folder = newFolder();
  billed = new Map();
  const page = await Bun.file(join(import.meta.dir, "../../docs/billing.md")).text();
  for (const [, text = "", name = ""] of page.matchAll(/^```js\n(\/\/ (\w+\.mjs)[\s\S]*?)^```/gm))
    writeFileSync(join(folder, name), text);
});

async function bill(system: string, env: Record<string, string>): Promise<string> {
  const child = Bun.spawn([process.execPath, "bill.mjs"], {
    cwd: folder,
    env: { SLUICE_URL: admin.url, SLUICE_ADMIN_TOKEN: token, BILL_WITH: system, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const complained = await new Response(child.stderr).text();
  const code = await child.exited;
  expect([code, complained], complained).toEqual([code === 0 ? 0 : 1, complained]);
  return code === 0 ? "" : complained;
}

/** All charges once: after a run, after a run that knows nothing of it, and after one that was rejected half-way. */
async function provesExactlyOnce(
  system: string,
  env: Record<string, string>,
  charges = expected,
): Promise<void> {
  const wellAnswer = answer;
  let posts = 0;
  // The second post is stored, and its response is lost.
  answer = (received) => {
    const response = wellAnswer(received);
    posts += 1;
    return posts === 2 ? new Response("Bad Gateway", { status: 502 }) : response;
  };
  expect(await bill(system, env)).toContain("502 Bad Gateway");
  answer = wellAnswer;
  expect(await bill(system, env)).toBe("");
  expect([...billed.values()]).toEqual([...charges]);
  expect(await bill(system, env)).toBe("");
  rmSync(join(folder, "cursor"));
  expect(await bill(system, env)).toBe("");
  expect([...billed.values()]).toEqual([...charges]);
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

test("OpenMeter gets every charge once, as CloudEvents", async () => {
  answer = ({ path, type, authorization, body }) => {
    expect([path, type, authorization]).toEqual([
      "/api/v1/events",
      "application/cloudevents-batch+json",
      "Bearer om-canary",
    ]);
    const events = JSON.parse(body) as CloudEvent[];
    expect(events.length).toBeLessThanOrEqual(100);
    for (const { specversion, type, id, source, subject, time, data, ...unknown } of events) {
      expect([specversion, type, source, Object.keys(unknown)]).toEqual([
        "1.0",
        "sluice.charge",
        "sluice",
        [],
      ]);
      expect([isText(id), isText(subject), new Date(time).toISOString()]).toEqual([true, true, time]);
      // It recognizes an event by its id and its source.
      billed.set(id, { id, customer: subject, credits: data.credits, atSeconds: Date.parse(time) / 1000 });
    }
    return new Response(null, { status: 204 });
  };
  await provesExactlyOnce("openmeter", {
    OPENMETER_URL: `http://127.0.0.1:${receiver.port}`,
    OPENMETER_TOKEN: "om-canary",
  });
});

interface CloudEvent {
  readonly specversion: string;
  readonly type: string;
  readonly id: string;
  readonly source: string;
  readonly subject: string;
  readonly time: string;
  readonly data: { readonly credits: string };
}

test("Lago gets every charge once, although it rejects a batch with an event that it has", async () => {
  answer = ({ path, type, authorization, body }) => {
    expect([path, type, authorization]).toEqual([
      "/api/v1/events/batch",
      "application/json",
      "Bearer lago-canary",
    ]);
    const { events } = JSON.parse(body) as { events: LagoEvent[] };
    expect(events.length).toBeLessThanOrEqual(100);
    const known = events.flatMap((event, index) => (billed.has(event.transaction_id) ? [index] : []));
    if (known.length > 0) {
      const details = known.map((index) => [index, { transaction_id: ["value_already_exist"] }]);
      const error = { status: 422, error: "Unprocessable Entity", code: "validation_errors" };
      return Response.json({ ...error, error_details: Object.fromEntries(details) }, { status: 422 });
    }
    for (const {
      transaction_id: id,
      external_subscription_id: customer,
      code,
      timestamp,
      properties,
    } of events) {
      expect([code, isText(id), isText(customer)]).toEqual(["sluice_credits", true, true]);
      // Seconds since 1970, as text if they have a fraction.
      expect(timestamp).toMatch(/^\d{10}(\.\d{1,3})?$/);
      billed.set(id, { id, customer, credits: properties.credits, atSeconds: Number(timestamp) });
    }
    return Response.json({ events: [] });
  };
  await provesExactlyOnce("lago", {
    LAGO_URL: `http://127.0.0.1:${receiver.port}`,
    LAGO_API_KEY: "lago-canary",
  });
});

interface LagoEvent {
  readonly transaction_id: string;
  readonly external_subscription_id: string;
  readonly code: string;
  readonly timestamp: string;
  readonly properties: { readonly credits: string };
}

test("Stripe gets every charge once, although it rejects an event that it has", async () => {
  answer = ({ path, type, authorization, body }) => {
    expect([path, type.split(";")[0], authorization]).toEqual([
      "/v1/billing/meter_events",
      "application/x-www-form-urlencoded",
      "Bearer sk-canary",
    ]);
    const fields = Object.fromEntries(new URLSearchParams(body));
    const { event_name, identifier: id = "", timestamp, ...payload } = fields;
    expect([event_name, Object.keys(payload).toSorted()]).toEqual([
      "sluice_credits",
      ["payload[stripe_customer_id]", "payload[value]"],
    ]);
    expect(id.length).toBeLessThanOrEqual(100);
    expect(timestamp).toMatch(/^\d{10}$/);
    const credits = payload["payload[value]"] ?? "";
    expect(credits.replace(".", "").length).toBeLessThanOrEqual(15);
    if (billed.has(id)) {
      const message = `An event already exists with identifier ${id}.`;
      return Response.json({ error: { type: "invalid_request_error", message } }, { status: 400 });
    }
    billed.set(id, {
      id,
      customer: payload["payload[stripe_customer_id]"] ?? "",
      credits,
      atSeconds: Number(timestamp),
    });
    return Response.json({ object: "billing.meter_event", identifier: id });
  };
  const inWholeSeconds = expected.map((each) => ({ ...each, atSeconds: Math.floor(each.atSeconds) }));
  const env = { STRIPE_URL: `http://127.0.0.1:${receiver.port}`, STRIPE_KEY: "sk-canary" };
  await provesExactlyOnce("stripe", env, inWholeSeconds);
});
