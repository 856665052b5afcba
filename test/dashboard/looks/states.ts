import type { Page } from "playwright-core";
import { longModel, longOwner, token } from "./world.ts";

export type World = "empty" | "crowded";
/** Who looks at the page. A member is signed in by the proxy's header. */
export type Viewer = "admin" | "member" | "nobody";

/** A page in a state, as it is looked at. */
export interface State {
  readonly name: string;
  readonly world: World;
  readonly viewer: Viewer;
  readonly path: string;
  /** What is pressed or typed before it is looked at. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Answers of the server that are replaced, by the end of their path, or of their query too. */
  readonly answers?: Readonly<Record<string, { readonly status: number; readonly body: unknown }>>;
  /** A picture of it is stored. */
  readonly hasPicture?: true;
}

export interface Ids {
  readonly key: string;
  /** One whose label, owner and model are as long as they can be. */
  readonly longKey: string;
  readonly account: string;
  readonly secret: string;
  readonly deviceCode: string;
}

const failure = (message: string) => ({
  status: 503,
  body: { error: { code: "store_unavailable", message } },
});
const rejected = failure("The database did not answer within 10 s. Try again, or choose a shorter range.");

const press = (name: string) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click();

async function openMenu(page: Page, item: string): Promise<void> {
  await page.locator("main summary").first().click();
  await page.getByRole("menuitem", { name: item, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
}

async function openRequest(page: Page): Promise<void> {
  await page.locator("tbody .lead a").first().click();
  await page.getByRole("heading", { name: "Ledger" }).waitFor();
}

const searchFor = (text: string) => async (page: Page) => {
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Search everything" }).fill(text);
  await page.locator(".found [role=option]").first().waitFor();
};

const emptyPages = [
  "",
  "keys",
  "accounts",
  "models",
  "reports",
  "requests",
  "playground",
  "tail",
  "alerts",
  "batches",
];
const fullPages = [
  "?range=7d",
  "keys",
  "accounts",
  "models",
  "reports?by=model&since=7d",
  "reports?by=tag:project&since=30d&step=week",
  "reports?by=owner,model&since=30d&measure=requests",
  "requests",
  "reconcile",
  "playground",
  "system",
  "alerts",
];
const withPicture = new Set([
  "",
  "keys",
  "?range=7d",
  "accounts",
  "models",
  "reports?by=model&since=7d",
  "requests",
  "playground",
  "batches",
]);

/** Which alerts are active depends on the machine, such as on its disk. */
const noAlerts = { "/alerts": { status: 200, body: { data: [] } } };

const alert = (kind: string, severity: string, subject: object, text: string, more: object = {}) => ({
  ...{ kind, severity, subject, text, level: null, since: "2026-11-18T09:12:00.000Z", details: {} },
  ...{ last_error: null, next: "sluice status", acknowledged: null, resolved_at: null, ...more },
});
const failing = alert(
  "provider_failing",
  "critical",
  { type: "provider", id: "anthropic", label: "anthropic" },
  "anthropic: calls keep failing (5 of the last 5, connection_closed).",
  { last_error: "Overloaded: the model is serving more requests than it can; try again in a moment." },
);
const capped = alert(
  "cap_threshold",
  "warning",
  { type: "cap", id: "cap_1", label: longOwner },
  `${longOwner} has used 83% of 5 credits per month.`,
);
const seen = alert(
  "price_outdated",
  "info",
  { type: "model", id: longModel, label: longModel },
  `The price of ${longModel} was last compared 91 days ago.`,
  { acknowledged: { by: longOwner, until: "2026-12-01T00:00:00.000Z" } },
);
const someAlerts = {
  "/alerts": { status: 200, body: { data: [failing, capped, seen] } },
  "/alerts?past=true": {
    status: 200,
    body: { data: [{ ...failing, resolved_at: "2026-11-18T10:40:00.000Z" }] },
  },
};

const batch = (id: string, state: string, status: string, more: object = {}) => ({
  ...{
    id,
    key: "slu_8fK2mQ0xYbTn",
    key_label: "nightly evaluation",
    endpoint: "/v1/chat/completions",
    status,
    state,
    reason: null,
  },
  ...{ total: 50_000, completed: 12_345, failed: 67, charged: 12.345678901, estimate: null, unit: "credits" },
  ...{ created_at: "2026-11-18T09:12:00.000Z", expires_at: "2026-11-19T09:12:00.000Z", ended_at: null },
  ...more,
});
const someBatches = {
  ...noAlerts,
  "/batches": {
    status: 200,
    body: {
      data: [
        batch("batch_2f8K1mQ0xYbTn3LwVz7Cde", "running", "in_progress"),
        batch("batch_3f8K1mQ0xYbTn3LwVz7Cde", "waiting", "in_progress", { reason: "account_cap" }),
        batch("msgbatch_4f8K1mQ0xYbTn3LwVz7Cde", "paused", "in_progress", { reason: "restored" }),
        batch("batch_5f8K1mQ0xYbTn3LwVz7Cde", "ended", "completed", {
          ...{ unit: "tokens", charged: 123_456_789, failed: 0, completed: 50_000 },
          ended_at: "2026-11-18T10:40:00.000Z",
        }),
      ],
      next_cursor: null,
    },
  },
};

const state = (world: World, viewer: Viewer, path: string, more: Partial<State> = {}): State => ({
  name: `${world}, ${path === "" ? "overview" : path}`,
  ...{ world, viewer, path, answers: noAlerts },
  ...(withPicture.has(path) && more.name === undefined ? { hasPicture: true } : {}),
  ...more,
});

/** Every page, and every state that looks different. */
export function statesOf({ key, longKey, account, secret, deviceCode }: Ids): readonly State[] {
  const admin = (path: string, more: Partial<State>) => state("crowded", "admin", path, more);
  const showKey = async (page: Page) => {
    await page.getByLabel("API key").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Use this key" }).waitFor();
  };
  return [
    ...emptyPages.map((path) => state("empty", "admin", path)),
    ...fullPages.map((path) => state("crowded", "admin", path)),
    admin(`keys/${key}`, { name: "key", hasPicture: true }),
    admin(`accounts/${account}`, { name: "account", hasPicture: true }),
    admin(`models/claude-opus-5`, { name: "model", hasPicture: true }),
    admin(`models/${longModel}`, { name: "model with a long name" }),
    admin(`keys/${longKey}`, { name: "key whose names are long" }),
    admin(`requests?model=${longModel}`, { name: "requests of a long name" }),
    admin(`requests?model=${longModel}`, { name: "request of a long name", prepare: openRequest }),
    admin(`reports?by=model&since=30d&only=${longModel}&as=${longModel}`, { name: "report on a long name" }),
    admin(`playground?key=${longKey}&model=${longModel}`, { name: "playground with long names" }),
    admin("keys", { name: "search for a long name", prepare: searchFor(longOwner) }),
    admin("requests?outcome=failed", { name: "request that failed", prepare: openRequest, hasPicture: true }),
    admin("alerts", { name: "alerts of each kind", answers: someAlerts, hasPicture: true }),
    admin("batches", { name: "batches in each state", answers: someBatches, hasPicture: true }),
    admin("", { name: "overview with alerts", answers: someAlerts }),
    admin("accounts?near=0.8", { name: "caps near their limit" }),
    admin("no-such-page", { name: "page that does not exist" }),
    admin("keys?search=nobody", { name: "keys, none found" }),
    admin("accounts?search=nobody", { name: "accounts, none found" }),
    admin("requests?search=nobody", { name: "requests, none found" }),
    admin("reports?since=2020-01&until=2020-02", { name: "report of nothing" }),
    admin("keys?search=nightly evaluation", { name: "key with a long name" }),
    admin("reports", {
      name: "report that fails",
      answers: { ...noAlerts, "/usage": rejected },
      hasPicture: true,
    }),
    admin("keys", { name: "keys that fail", answers: { ...noAlerts, "/keys": rejected }, hasPicture: true }),
    admin("models", { name: "models whose report fails", answers: { ...noAlerts, "/usage": rejected } }),
    admin(`keys/${key}`, { name: "key whose report fails", answers: { ...noAlerts, "/usage": rejected } }),
    admin("", {
      name: "overview that fails",
      answers: { ...noAlerts, "/overview": rejected },
      hasPicture: true,
    }),
    admin("keys", { name: "search", prepare: (page) => page.keyboard.press("/"), hasPicture: true }),
    admin("keys", { name: "new key", prepare: beginKey, hasPicture: true }),
    admin("accounts", {
      name: "account's form",
      prepare: (page) => openMenu(page, "Edit…"),
      hasPicture: true,
    }),
    admin(`keys/${key}`, { name: "disabling a key", prepare: (page) => openMenu(page, "Disable…") }),
    state("crowded", "nobody", "", { name: "sign-in", hasPicture: true }),
    state("crowded", "nobody", "", { name: "sign-in, wrong token", prepare: signInWrongly }),
    state("crowded", "nobody", "/usage", { name: "self-service, before a key", hasPicture: true }),
    state("crowded", "nobody", "/usage", {
      name: "self-service, a pasted key",
      prepare: showKey,
      hasPicture: true,
    }),
    state("crowded", "member", "/usage", { name: "self-service, no key yet", hasPicture: true }),
    state("crowded", "member", "/usage", { name: "self-service, new key", prepare: press("New key") }),
    state("crowded", "member", "/usage", { name: "self-service, search", prepare: searchFor("e") }),
    state("crowded", "nobody", "/usage/device", { name: "approval, not signed in" }),
    state("crowded", "member", "/usage/device", { name: "approval, a code", hasPicture: true }),
    state("crowded", "member", `/usage/device/${deviceCode}`, {
      name: "approval, a terminal",
      prepare: press("Continue"),
      hasPicture: true,
    }),
  ];
}

/** The form has the accounts once they have been read. */
async function beginKey(page: Page): Promise<void> {
  await press("New key")(page);
  await page.getByLabel("Account", { exact: true }).waitFor();
}

async function signInWrongly(page: Page): Promise<void> {
  await page.getByLabel("Admin token").fill(`not ${token}`);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
}
