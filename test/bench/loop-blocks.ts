/**
 * How long each route holds the event loop with so many of everything: `bun test/bench/loop-blocks.ts [count] [folder] [parts of paths, separated by |]`, and
 * `CROWD_REQUESTS` requests. The folder is filled if it is empty, and kept. Prints the longest turn of the loop during each request, in milliseconds of CPU time.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";
import { Sluice } from "../support/sluice.ts";
import { type Crowd, fillCrowd } from "./fill-crowd.ts";

const count = Number(process.argv[2] ?? 100_000);
const folder = process.argv[3] ?? newFolder();
const part = process.argv[4] ?? "";
const requests = Number(process.env["CROWD_REQUESTS"] ?? count);
const models = Number(process.env["CROWD_MODELS"] ?? 100);
const token = "bench-admin-token";

type Known = Pick<Crowd, "sharedAccount"> & { readonly secret: string; readonly keyId: string };

async function provideCrowd(): Promise<Known> {
  const file = join(folder, "crowd.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  mkdirSync(folder, { recursive: true });
  const { busy, sharedAccount } = await fillCrowd(join(folder, "data"), count, requests);
  const known = { secret: busy.secret, keyId: busy.key.id, sharedAccount };
  writeFileSync(file, JSON.stringify(known));
  return known;
}

const storing = "[routes]\nstored_responses = true\nconversations = true";

function config(): string {
  const named = Array.from(
    { length: models },
    (_, index) => `[[models]]\nid = "model-${index}"\nprovider = "demo"\nfree = true`,
  );
  return [storing, "[providers.demo]", 'kind = "demo"', ...named].join("\n");
}

const known = await provideCrowd();
const watch = join(folder, "turns");
writeFileSync(watch, new Uint8Array(4096));
const longest = new Float64Array(Bun.mmap(watch).buffer);
await using sluice = await Sluice.start({
  config: config(),
  fill: async () => {},
  env: {
    SLUICE_ADMIN_TOKEN: token,
    SLUICE_DATA: join(folder, "data"),
    TURN_WATCH: watch,
    BUN_OPTIONS: `--preload=${new URL("turn-watch.ts", import.meta.url).pathname}`,
    BUN_JSC_useDFGJIT: "1",
  },
});

const year = new Date(Date.now() - 365 * 86_400_000).toISOString().slice(0, 10);
const month = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 7);
const { keyId, sharedAccount } = known;
const admin = (path: string, body?: object, method?: string) => ({
  path: `/admin/api/v1${path}`,
  body,
  method,
  secret: token,
});
const member = (path: string) => ({
  path: `/usage/api/v1${path}`,
  body: undefined,
  method: undefined,
  secret: known.secret,
});
const gateway = (path: string, body?: object) => ({ path, body, method: undefined, secret: known.secret });

const bill = [
  "date,model,requests",
  ...Array.from({ length: Math.min(count, 49_000) }, (_, index) => `2026-10-01,model ${index},1`),
];
const calls = [
  admin("/overview?range=1h"),
  admin("/overview?range=24h"),
  admin("/overview?range=7d"),
  admin("/overview?range=30d"),
  ...[
    "day",
    "key",
    "owner",
    "account",
    "model",
    "provider",
    "user",
    "user,session,day",
    "key,model,day",
    "tag:x",
  ].map((by) => admin(`/usage?by=${by}&since=${year}`)),
  admin(`/usage?by=user,session,day&since=${year}&key=${keyId}`),
  admin(`/usage?by=day&since=${year}&account=${sharedAccount}`),
  admin(`/usage?by=day&since=${year}&key=no+such+key`),
  admin("/keys?limit=200"),
  admin("/keys?limit=200&sort=label"),
  admin("/keys?limit=200&sort=expires&search=key"),
  admin("/keys?limit=200&search=nothing"),
  admin(`/keys/${keyId}`),
  admin("/keys/key%201"),
  admin("/keys/nothing"),
  admin("/keys", { mode: "credit", label: `new ${Date.now()}`, credit: 1 }),
  admin("/keys", { mode: "credit", account: sharedAccount }),
  admin(`/keys/${keyId}`, { label: "key 0" }, "PATCH"),
  admin(`/keys/${keyId}/topup`, { amount: 1 }),
  admin(`/keys/${keyId}/adjust`, { amount: -1, note: "test" }),
  admin(`/keys/${keyId}/disable`, {}),
  admin(`/keys/${keyId}/enable`, {}),
  admin("/accounts"),
  admin(`/accounts/${sharedAccount}`),
  admin("/accounts/account%205000"),
  admin("/accounts/nothing"),
  admin("/accounts", { mode: "credit", label: `new ${Date.now()}` }),
  admin(`/accounts/${sharedAccount}`, { label: `shared ${Date.now()}` }, "PATCH"),
  admin(`/accounts/${sharedAccount}`, { caps: [{ limit: 100, period: "day" }] }, "PATCH"),
  admin(`/accounts/${sharedAccount}`, { content: "none" }, "PATCH"),
  admin(`/accounts/${sharedAccount}`, { open: true }, "PATCH"),
  admin(`/accounts/${sharedAccount}`, { open: false }, "PATCH"),
  admin(`/accounts/${sharedAccount}/topup`, { amount: 1 }),
  admin(`/accounts/${sharedAccount}/adjust`, { amount: -1, note: "test" }),
  admin("/requests?limit=500"),
  admin("/requests?limit=500&search=nothing"),
  admin("/requests?limit=500&model=nobody"),
  admin("/requests?limit=500&user=user+5"),
  admin(`/requests?limit=500&key=${keyId}`),
  admin("/requests/req_nothing"),
  admin("/entries?limit=500"),
  admin(`/entries?limit=500&account=${sharedAccount}&kind=charge`),
  admin(`/entries?limit=500&key=${keyId}&kind=topup`),
  admin(`/statement?month=${month}`),
  admin(`/statement?month=${month}&account=${sharedAccount}`),
  admin("/models"),
  admin("/health"),
  admin("/alerts"),
  admin("/nodes"),
  admin("/storage"),
  admin("/routes"),
  admin("/audit?limit=500"),
  admin("/audit?limit=500&search=nothing"),
  admin("/config"),
  admin("/config/toml"),
  admin("/config/check"),
  admin("/config/reload", {}),
  admin("/admin-tokens"),
  admin("/openapi.json"),
  admin("/session"),
  admin("/reconcile", { provider: "demo", from: "2026-01-01", to: "2026-12-31", files: [bill.join("\n")] }),
  { path: "/metrics", body: undefined, method: undefined, secret: token },
  member("/keys"),
  member(`/keys/${keyId}`),
  member(`/usage?by=user,session,day&since=${year}&key=${keyId}`),
  member(`/requests?limit=500&key=${keyId}`),
  member(`/entries?limit=500&key=${keyId}`),
  member("/requests/req_nothing"),
  gateway("/v1/usage"),
  gateway("/v1/models"),
].filter(({ path }) => part.split("|").some((each) => path.includes(each)));

type Call = (typeof calls)[number];

async function settled(): Promise<number> {
  // Two turns after the response, so that its last turn is counted.
  await Bun.sleep(60);
  const blockedMs = longest[0] ?? 0;
  longest[0] = 0;
  return blockedMs;
}

await Bun.sleep(8_000);
console.log(`${"alone, since the start".padEnd(80)}${(await settled()).toFixed(1).padStart(8)}`);
await Bun.sleep(11_000);
console.log(`${"alone, for 11 s".padEnd(80)}${(await settled()).toFixed(1).padStart(8)}`);
for (const call of calls) await measure(call);
// One among as many others of the same key as there are rows.
if ("/v1/conversations /v1/responses".includes(part)) await measureConversation();
// The last: it is for good.
if (`/accounts/${sharedAccount}/close`.includes(part))
  await measure(admin(`/accounts/${sharedAccount}/close`, {}));

async function measureConversation(): Promise<void> {
  const items = Array.from({ length: 20 }, (_, index) => ({
    type: "message",
    role: "user",
    content: `text ${index}`,
  }));
  const { id } = await measure(gateway("/v1/conversations", { items }));
  const at = `/v1/conversations/${id}`;
  await measure(gateway(at));
  await measure(gateway(at, { metadata: { topic: "x" } }));
  await measure(gateway(`${at}/items?limit=100`));
  const added = await measure(gateway(`${at}/items`, { items }));
  await measure(gateway(`${at}/items/${added.data?.[0]?.id}`));
  await measure({ ...gateway(`${at}/items/${added.data?.[0]?.id}`), method: "DELETE" });
  const answer = await measure(gateway("/v1/responses", { model: "model-1", input: "x", conversation: id }));
  const stored = await measure(gateway("/v1/responses", { model: "model-1", input: "x" }));
  await measure(gateway(`/v1/responses/${stored.id}`));
  await measure(gateway(`/v1/responses/${answer.id}/input_items`));
  await measure(gateway("/v1/responses", { model: "model-1", input: "x", previous_response_id: stored.id }));
  await measure({ ...gateway(`/v1/responses/${stored.id}`), method: "DELETE" });
  await measure({ ...gateway(at), method: "DELETE" });
}

interface Created {
  readonly id?: string;
  readonly data?: readonly { readonly id?: string }[];
}

async function measure({ path, body, method, secret }: Call): Promise<Created> {
  await settled();
  const startedMs = performance.now();
  const response = await sluice.request(path, {
    headers: { authorization: `Bearer ${secret}` },
    body,
    ...(method === undefined ? {} : { method }),
  });
  const bytes = await response.bytes();
  const tookMs = performance.now() - startedMs;
  const name = `${method ?? (body === undefined ? "GET" : "POST")} ${path.replaceAll(keyId, "KEY").replaceAll(sharedAccount, "ACCOUNT")}`;
  console.log(
    `${name.slice(0, 79).padEnd(80)}${(await settled()).toFixed(1).padStart(8)}  ${response.status} ${tookMs.toFixed(0)} ms ${bytes.length} bytes`,
  );
  return isJson(response) ? JSON.parse(new TextDecoder().decode(bytes)) : {};
}

function isJson({ headers }: Response): boolean {
  return headers.get("content-type")?.includes("json") ?? false;
}
