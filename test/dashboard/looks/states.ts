import type { Page } from "playwright-core";
import { longModel, token } from "./world.ts";

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
  /** Answers of the server that are replaced, by the end of their path. */
  readonly answers?: Readonly<Record<string, { readonly status: number; readonly body: unknown }>>;
  /** A picture of it is stored. */
  readonly hasPicture?: true;
}

export interface Ids {
  readonly key: string;
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

async function openFailure(page: Page): Promise<void> {
  await page.locator("tbody .lead a").first().click();
  await page.getByRole("heading", { name: "Ledger" }).waitFor();
}

const emptyPages = ["", "keys", "accounts", "models", "reports", "requests", "playground", "tail", "alerts"];
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
]);

/** Which alerts are active depends on the machine, such as on its disk. */
const noAlerts = { "/alerts": { status: 200, body: { data: [] } } };

const state = (world: World, viewer: Viewer, path: string, more: Partial<State> = {}): State => ({
  name: `${world}, ${path === "" ? "overview" : path}`,
  ...{ world, viewer, path, answers: noAlerts },
  ...(withPicture.has(path) && viewer === "admin" ? { hasPicture: true } : {}),
  ...more,
});

/** Every page, and every state that looks different. */
export function statesOf({ key, account, secret, deviceCode }: Ids): readonly State[] {
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
    admin("requests?outcome=failed", { name: "request that failed", prepare: openFailure, hasPicture: true }),
    admin("no-such-page", { name: "page that does not exist" }),
    admin("keys?search=nobody", { name: "keys, none found" }),
    admin("keys?search=nightly evaluation", { name: "key with a long name" }),
    admin("reports", {
      name: "report that fails",
      answers: { ...noAlerts, "/usage": rejected },
      hasPicture: true,
    }),
    admin("keys", { name: "keys that fail", answers: { ...noAlerts, "/keys": rejected } }),
    admin("", { name: "overview that fails", answers: { ...noAlerts, "/overview": rejected } }),
    admin("keys", { name: "search", prepare: (page) => page.keyboard.press("/") }),
    admin("keys", { name: "new key", prepare: press("New key"), hasPicture: true }),
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
    state("crowded", "nobody", "/usage/device", { name: "approval, not signed in" }),
    state("crowded", "member", "/usage/device", { name: "approval, a code", hasPicture: true }),
    state("crowded", "member", `/usage/device/${deviceCode}`, {
      name: "approval, a terminal",
      prepare: press("Continue"),
      hasPicture: true,
    }),
  ];
}

async function signInWrongly(page: Page): Promise<void> {
  await page.getByLabel("Admin token").fill(`not ${token}`);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
}
