import { expect, test } from "bun:test";
import { ReconcileThread } from "../../../src/admin/reconcile/reconcile-thread.ts";
import { commonNames } from "../../../src/admin/reconcile/same-model.ts";
import { startThread, threadSource } from "../../../src/base/threads/start-thread.ts";
import type { AttemptSums } from "../../../src/store/store.ts";
import { attempt } from "../../store/attempts.ts";

const october = { from: "2026-10-01", to: "2026-10-31" };

const running = new AbortController().signal;

function billOf(
  bill: object,
  attempts: () => AsyncIterable<readonly AttemptSums[]> = () => pagesOf(),
  signal: AbortSignal = running,
) {
  const body = new TextEncoder().encode(JSON.stringify({ provider: "openai", ...october, ...bill }));
  return { body, signal, attempts, microUsdPerCredit: 1_000_000, providers: ["openai"] };
}

/** Resolves when the thread that it starts has ended. */
function observed(onStart = () => {}) {
  const ended = Promise.withResolvers<unknown>();
  let started = 0;
  const thread = new ReconcileThread(() => {
    started += 1;
    queueMicrotask(onStart);
    const worker = startThread(threadSource("admin/reconcile/thread.ts"));
    worker.addEventListener("close", ended.resolve);
    return worker;
  });
  return { thread, ended: ended.promise, started: () => started };
}

async function* pagesOf(...pages: AttemptSums[][]) {
  for (const page of pages) yield page;
}

const figures = [{ date: "2026-10-01", model: "gpt-5.6", requests: 3 }];

test("the ledger's pages are added up on the thread, for one bill after the other", async () => {
  const { thread, started } = observed();
  const day = Date.UTC(2026, 9, 1) / 86_400_000;
  const sums = { ...attempt({ provider: "openai", upstreamModel: "gpt-5.6" }), day, attempts: 2 };
  const bill = billOf({ figures }, () => pagesOf([sums], [{ ...sums, attempts: 1 }]));
  for (const reconciled of await Promise.all([thread.reconcile(bill), thread.reconcile(bill)])) {
    expect(reconciled).toMatchObject({ rows: 1, differing: 0, request: { provider: "openai", ...october } });
    const view = JSON.parse(new TextDecoder().decode(reconciled.json));
    expect(view.data[0].requests).toEqual({ billed: 3, ledger: 3, difference: 0 });
  }
  expect(started()).toBe(1);
});

test("a client that disconnects while its bill is read ends the thread, and the next bill is compared", async () => {
  const client = new AbortController();
  const { thread, ended, started } = observed(() => client.abort());
  let wasAsked = false;
  const attempts = () => {
    wasAsked = true;
    return pagesOf();
  };
  const left = thread.reconcile(billOf({ figures }, attempts, client.signal));
  const next = thread.reconcile(billOf({ figures }));
  await expect(left).rejects.toThrow("disconnected");
  await ended;
  expect(wasAsked).toBe(false);
  expect(await next).toMatchObject({ rows: 1 });
  expect(started()).toBe(2);
});

test("a client that disconnects while its bill waits does not disturb the one before", async () => {
  const { thread, started } = observed();
  const client = new AbortController();
  const first = thread.reconcile(billOf({ figures }));
  const left = thread.reconcile(billOf({ figures }, () => pagesOf(), client.signal));
  client.abort();
  await expect(left).rejects.toThrow("disconnected");
  expect(await first).toMatchObject({ rows: 1 });
  expect(started()).toBe(1);
});

test("no further page is read once the client has disconnected", async () => {
  const { thread, ended } = observed();
  const client = new AbortController();
  let pages = 0;
  async function* endless() {
    for (;;) {
      pages += 1;
      if (pages === 3) client.abort();
      yield [];
    }
  }
  await expect(thread.reconcile(billOf({ figures }, endless, client.signal))).rejects.toThrow("disconnected");
  expect(pages).toBe(3);
  await ended;
});

test("a tenth bill at once is refused", async () => {
  const { thread } = observed();
  const client = new AbortController();
  const waiting = Array.from({ length: 9 }, () =>
    thread.reconcile(billOf({ figures }, undefined, client.signal)),
  );
  await expect(thread.reconcile(billOf({ figures }))).rejects.toThrow("retry in a minute");
  client.abort();
  const endings = await Promise.allSettled(waiting);
  expect(endings.map(({ status }) => status)).toEqual(Array(9).fill("rejected"));
});

test("a bill of more rows than are compared at once is refused", async () => {
  const { thread } = observed();
  const many = Array.from({ length: 50_001 }, (_, index) => `2026-10-01,m${index},1`);
  const files = [["date,model,requests", ...many].join("\n")];
  const refused = thread.reconcile(billOf({ files }));
  await expect(refused).rejects.toThrow(/have 50,001 lines by day and model, more than the limit of 50,000/);
}, 30_000);

test("a ledger of more sums than are compared at once is refused", async () => {
  async function* endless() {
    const page = Array<AttemptSums>(100_000);
    for (;;) yield page;
  }
  const refused = observed().thread.reconcile(billOf({ figures }, endless));
  await expect(refused).rejects.toThrow(/more than 500000 totals/);
});

test("what fails on the thread is an error, and the next bill is compared", async () => {
  const { thread } = observed();
  const broken = () => pagesOf([null as unknown as AttemptSums]);
  await expect(thread.reconcile(billOf({ figures }, broken))).rejects.toThrow(/null/);
  expect(await thread.reconcile(billOf({ figures }))).toMatchObject({ rows: 1 });
});

/** With a look at all other names for each name, this would take minutes. */
test("the names of a hundred thousand models are each looked at once", () => {
  let looked = 0;
  function* names(from: number) {
    for (let index = from; index < from + 50_000; index += 1) {
      looked += 1;
      yield `model-${index}-2026-01-01`;
    }
  }
  const nameOf = commonNames(names(0), names(25_000));
  expect(looked).toBe(100_000);
  expect(nameOf("model-30000-2026-01-01")).toBe("model-30000-2026-01-01");
});

/** With a look at each column for each line, this would take minutes. */
test("a table with as many columns as lines is read in time", async () => {
  const header = `date,model,requests${",x".repeat(50_000)}`;
  const files = [[header, ...Array(50_000).fill("2026-10-01,gpt-5.6,3")].join("\n")];
  const { rows } = await observed().thread.reconcile(billOf({ files }));
  expect(rows).toBe(1);
}, 30_000);
