import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import type { Sluice } from "../../support/sluice.ts";
import { type Browsing, browse, follow } from "../browser.ts";
import type { State, Viewer, World } from "./states.ts";
import { nowMs, token } from "./world.ts";

const fonts = { Inter: "inter", "JetBrains Mono": "jetbrains-mono" };

/** Which fonts a machine has must make no difference. A page cannot load them by its policy, so they are put into it. */
export async function fontScript(): Promise<string> {
  const root = join(import.meta.dir, "../../../node_modules/@fontsource-variable");
  const loaded = Object.entries(fonts).map(async ([family, name]) => {
    const bytes = await Bun.file(join(root, name, "files", `${name}-latin-wght-normal.woff2`)).bytes();
    return `new FontFace("${family}", Uint8Array.fromBase64("${bytes.toBase64()}").buffer, { weight: "100 900" })`;
  });
  return `for (const font of [${(await Promise.all(loaded)).join()}]) { document.fonts.add(font); font.load(); }`;
}

/** A browser for each kind of viewer of each gateway, at a moment that is always the same. */
export class Viewers implements AsyncDisposable {
  readonly #browserPath: string;
  readonly #gateways: Readonly<Record<World, Sluice>>;
  readonly #fonts = fontScript();
  readonly #open = new Map<string, Promise<Page>>();
  readonly #browsings: Browsing[] = [];

  constructor(browserPath: string, gateways: Readonly<Record<World, Sluice>>) {
    this.#browserPath = browserPath;
    this.#gateways = gateways;
  }

  /** Shows the state, and waits until it is still. */
  async show({ world, viewer, path, prepare, answers = {} }: State): Promise<Page> {
    const page = await this.#pageOf(world, viewer);
    await page.unrouteAll();
    for (const [end, { status, body }] of Object.entries(answers)) {
      await page.route(
        ({ pathname, search }) => `${pathname}${end.includes("?") ? search : ""}`.endsWith(`/api/v1${end}`),
        (route) => route.fulfill({ status, json: body }),
      );
    }
    const { url } = this.#gateways[world];
    const address = path.startsWith("/") ? url + path : `${url}/admin/${path}`.replace("/?", "?");
    // A link within the dashboard need not load its program again.
    if (viewer === "admin" && pathOf(address) !== pathOf(page.url())) await follow(page, address);
    else await page.goto(address);
    await still(page);
    await prepare?.(page);
    await still(page);
    return page;
  }

  #pageOf(world: World, viewer: Viewer): Promise<Page> {
    const name = `${world} ${viewer}`;
    const open = this.#open.get(name) ?? this.#signIn(world, viewer);
    this.#open.set(name, open);
    return open;
  }

  async #signIn(world: World, viewer: Viewer): Promise<Page> {
    const browsing = await browse(this.#browserPath, { scheme: "light", width: 1440, height: 900 });
    this.#browsings.push(browsing);
    const page = await prepared(browsing.context, await this.#fonts);
    if (viewer === "member") await page.setExtraHTTPHeaders({ "x-forwarded-email": "dora@example.com" });
    if (viewer === "admin") {
      await page.goto(`${this.#gateways[world].url}/admin`);
      await page.getByLabel("Admin token").fill(token);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    }
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const browsing of this.#browsings) await browsing[Symbol.asyncDispose]();
  }
}

async function prepared(context: BrowserContext, fontsInPage: string): Promise<Page> {
  await context.addInitScript(fontsInPage);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.clock.setFixedTime(nowMs);
  return page;
}

const pathOf = (address: string) => new URL(address).pathname;

async function still(page: Page): Promise<void> {
  await page.locator("#app main").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  await page.locator("main:not(.settling)").first().waitFor();
  await page.evaluate("document.fonts.ready");
}
